#include "runtime/microbench/bench_tensor.hpp"

#include <algorithm>
#include <random>
#include <vector>

namespace foreshard::runtime {

namespace {

/// Random numbers are drawn once; large tensors repeat them.
const std::vector<double>& numbers() {
    static const std::vector<double> drawn = [] {
        std::mt19937_64 engine(1);
        std::uniform_real_distribution<double> between(-1.0, 1.0);
        std::vector<double> values(1 << 16);
        for (double& value : values) value = between(engine);
        return values;
    }();
    return drawn;
}

}  // namespace

BenchTensor::BenchTensor(Device& device, std::int64_t rows, std::int64_t columns, ElementType type) : device_(device) {
    tensor_ = {nullptr, rows, columns, type};
    tensor_.data = device.allocate(static_cast<std::size_t>(tensor_.bytes()));
    const auto drawn = static_cast<std::int64_t>(numbers().size());
    const std::int64_t first = std::min(tensor_.size(), drawn);
    device.store(tensor_.stretch(0, first), std::span(numbers()).first(static_cast<std::size_t>(first)));
    for (std::int64_t done = first; done < tensor_.size(); done += std::min(done, tensor_.size() - done)) {
        const std::int64_t more = std::min(done, tensor_.size() - done);
        device.copy(tensor_.stretch(0, more), tensor_.stretch(done, more));
    }
}

}  // namespace foreshard::runtime
