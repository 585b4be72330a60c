#include "sim/cost/roofline.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>

namespace foreshard {

namespace {

/// Head dimensions that are no multiple of 8 keep batched products off the tensor cores (BLOOM topology runs).
constexpr std::int64_t tensor_core_alignment = 8;

/// How a GEMM library may cut a product: square tiles, and the sum over k in parts that run side by side.
/// Rates of tiles and of split sums relative to a 128 x 128 tile are fixed by hand so that, with this rule, the
/// roofline of A100, H100, L40S and B200 comes closest to their measured tables (ai-dynamo/aiconfigurator@095f58a5): at
/// m, n and k from 512 the P90 error falls from 21-39 % without it to 18-25 %. Tiles and waves: NeuSight (arXiv
/// 2407.13853).
struct Tile {
    double side;
    double rate;
};
constexpr std::array<Tile, 2> tiles = {{{128.0, 1.0}, {64.0, 0.65}}};
constexpr std::array<double, 5> k_parts = {1.0, 2.0, 4.0, 8.0, 16.0};
constexpr double split_rate = 0.85;
constexpr double least_k_part = 256.0;

/// Rate over that of the same product without partly filled tiles and waves, for the best cut.
double wave_share(const Op& op, int sm_count) {
    const auto m = static_cast<double>(op.m);
    const auto n = static_cast<double>(op.n);
    double best = 0.0;
    for (const Tile& tile : tiles) {
        const double count = std::ceil(m / tile.side) * std::ceil(n / tile.side) * static_cast<double>(op.batch);
        const double filled = m * n * static_cast<double>(op.batch) / (count * tile.side * tile.side);
        for (const double parts : k_parts) {
            if (parts > 1.0 && static_cast<double>(op.k) < parts * least_k_part) break;
            const double waves = std::ceil(count * parts / sm_count);
            const double share = count * parts / (waves * sm_count);
            best = std::max(best, share * filled * tile.rate * (parts > 1.0 ? split_rate : 1.0));
        }
    }
    return best;
}

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
      launch_(device.kernel_launch + software.numbers.launch_blocking),
      quantised_sms_(device.kernels ? 0 : device.sm_count) {
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
    const double waves = quantised_sms_ > 0 ? wave_share(op, quantised_sms_) : 1.0;
    return larger(op.flops / (peak_ * gemm_ratio_ * waves), (op.read + op.written) / bandwidth_);
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
