#include "sim/cost/roofline.hpp"

#include <algorithm>
#include <cassert>

namespace foreshard {

namespace {

/// FLOPs that Op counts for flash attention's backward, relative to its forward (two products and the recomputation).
constexpr double flash_backward_flops = 2.5;

/// Head dimensions that are no multiple of 8 keep batched products off the tensor cores (BLOOM topology runs).
constexpr std::int64_t tensor_core_alignment = 8;

}  // namespace

std::string_view to_string(Bound bound) {
    switch (bound) {
        case Bound::compute:
            return "compute";
        case Bound::memory:
            return "memory";
        case Bound::launch:
            return "launch";
        case Bound::host:
            return "host";
        case Bound::network:
            return "network";
    }
    return "";
}

RooflineCost::RooflineCost(const DeviceSpec& device, const SoftwareProfile& software, Precision precision)
    : peak_(device.peak[static_cast<std::size_t>(precision)].value_or(FlopsPerSecond(0.0))),
      bandwidth_(device.memory_bandwidth * device.memory_ratio),
      gemm_ratio_(device.gemm_ratio / software.numbers.gemm_time_factor),
      attention_matmul_ratio_(software.numbers.attention_matmul_ratio > 0.0 ? software.numbers.attention_matmul_ratio
                                                                            : device.attention_matmul_ratio),
      misaligned_ratio_(software.numbers.misaligned_attention_ratio),
      flash_ratio_(device.flash_forward_ratio / software.numbers.flash_time_factor),
      flash_backward_ratio_(software.numbers.flash_backward_ratio),
      memory_factor_(software.numbers.memory_time_factor),
      launch_(device.kernel_launch + software.numbers.launch_blocking) {
    assert(peak_.value > 0.0 && bandwidth_.value > 0.0);
}

OpTime RooflineCost::larger(Seconds compute, Seconds memory) const {
    OpTime answer;
    answer.bound = compute < memory ? Bound::memory : Bound::compute;
    if (std::max(compute.value, memory.value) < launch_.value) answer.bound = Bound::launch;
    answer.seconds = Seconds(std::max(compute.value, memory.value)) + launch_;
    answer.terms = {{{"compute", compute}, {"memory", memory}, {"launch", launch_}}};
    answer.term_count = 3;
    return answer;
}

OpTime RooflineCost::gemm(const Op& op) const {
    return larger(op.flops / (peak_ * gemm_ratio_), (op.read + op.written) / bandwidth_);
}

OpTime RooflineCost::attention_matmul(const Op& op) const {
    const bool aligned = op.k % tensor_core_alignment == 0;
    const Seconds compute = op.flops / (peak_ * (aligned ? attention_matmul_ratio_ : misaligned_ratio_));
    const Seconds memory = (op.read + op.written) / bandwidth_;
    OpTime answer = larger(compute, memory);
    answer.seconds = compute + memory + launch_;
    return answer;
}

OpTime RooflineCost::flash_attention(const Op& op) const {
    const double scale = op.backward ? flash_backward_ratio_ / flash_backward_flops : 1.0;
    return larger(op.flops / (peak_ * flash_ratio_) * scale, (op.read + op.written) / bandwidth_);
}

OpTime RooflineCost::memory(const Op& op) const {
    OpTime answer = stream(op.read + op.written);
    if (!op.measured_traffic) answer.terms[0].seconds = answer.terms[0].seconds * memory_factor_;
    answer.seconds = answer.terms[0].seconds + launch_;
    return answer;
}

OpTime RooflineCost::stream(Bytes bytes) const {
    const Seconds moved = bytes / bandwidth_;
    OpTime answer;
    answer.seconds = moved + launch_;
    answer.bound = moved < launch_ ? Bound::launch : Bound::memory;
    answer.terms = {{{"memory", moved}, {"launch", launch_}, {}}};
    answer.term_count = 2;
    return answer;
}

OpTime RooflineCost::time(const Op& op) const {
    switch (op.kind) {
        case OpKind::gemm:
            return gemm(op);
        case OpKind::attention_matmul:
            return attention_matmul(op);
        case OpKind::flash_attention:
            return flash_attention(op);
        case OpKind::memory:
            return memory(op);
        case OpKind::collective:
            break;
    }
    assert(false && "collectives belong to the network model");
    return {};
}

}  // namespace foreshard
