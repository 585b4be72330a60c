#include "runtime/cuda/check.hpp"

#include <fmt/format.h>

namespace foreshard::runtime::cuda {

void fail(std::string_view call, std::string_view error, const char* file, int line) {
    throw DeviceError(fmt::format("{}:{}: {} failed: {}", file, line, call, error));
}

}  // namespace foreshard::runtime::cuda
