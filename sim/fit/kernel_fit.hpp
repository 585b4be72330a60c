#pragma once

#include <optional>
#include <string>

#include "sim/spec/cluster_spec.hpp"
#include "sim/spec/kernel_table.hpp"

/// `foreshard fit --kernels`: measured kernel times to a foreshard.kernels table.
namespace foreshard {

struct KernelFitRequest {
    std::string id;
    std::string gemm_file;
    std::optional<std::string> attention_file;
    double attention_scale = 1.0;  ///< multiplies attention rates that were measured on another device
    int max_points = 1000;         ///< nodes of all tables together
};

/// @throws UnreadableFile, InputError
KernelTable fit_kernels(const KernelFitRequest& request, const DeviceSpec& device);

}  // namespace foreshard
