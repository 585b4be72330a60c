#include "sim/cost/calibrated.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "sim/prefixes.hpp"

namespace foreshard {

namespace {

/// Speed-up over bf16 of a product of side 8192 where the device names none: fits on published H100 runs in FP8 (1.65
/// +- 0.06) and GB200 runs in NVFP4 (2.25). Smaller products gain less: casts and scales grow with the area.
constexpr double default_fp8_speedup = 1.65;
constexpr double default_fp4_speedup = 2.25;
constexpr double speedup_side = 8192.0;
constexpr double speedup_exponent = 0.3;

double low_precision_speedup(const DeviceSpec& device, Precision precision) {
    switch (precision) {
        case Precision::fp8:
        case Precision::mxfp8:
            return device.fp8_gemm_speedup.value_or(default_fp8_speedup);
        case Precision::nvfp4:
            return device.fp4_gemm_speedup.value_or(default_fp4_speedup);
        case Precision::fp32:
        case Precision::tf32:
        case Precision::fp16:
        case Precision::bf16:
            return 0.0;
    }
    return 0.0;
}

/// What everything but low-precision GEMMs runs in.
Precision base_precision(Precision precision) {
    const bool low = precision == Precision::fp8 || precision == Precision::mxfp8 || precision == Precision::nvfp4;
    return low ? Precision::bf16 : precision;
}

FlopsPerSecond peak_of(const DeviceSpec& device, Precision precision) {
    return device.peak[static_cast<std::size_t>(precision)].value_or(FlopsPerSecond(0.0));
}

bool is_weight_gradient(const Op& op) {
    return op.name.ends_with("_wgrad");
}

const std::optional<KernelTable>& kernels_of(const Job& job) {
    const Calibration* calibration = job.calibration.get();
    return calibration != nullptr && calibration->kernels ? calibration->kernels : job.cluster.device.kernels;
}

/// The device with the kernel table that the job's calibration brings.
DeviceSpec device_of(const Job& job) {
    DeviceSpec device = job.cluster.device;
    device.kernels = kernels_of(job);
    return device;
}

bool is_head(const Op& op) {
    return op.name.starts_with("logits");
}

}  // namespace

std::string_view op_class(const Op& op) {
    switch (op.kind) {
        case OpKind::gemm:
            if (is_weight_gradient(op)) return "gemm.weight_grad";
            return op.name.ends_with("_dgrad") ? "gemm.input_grad" : "gemm.forward";
        case OpKind::attention_matmul:
            return "attention.matmul";
        case OpKind::flash_attention:
            return op.backward ? "attention.flash_backward" : "attention.flash_forward";
        case OpKind::memory:
            return "memory.any";
        case OpKind::collective:
            break;
    }
    return "";
}

CalibratedCost::CalibratedCost(const DeviceSpec& device, const SoftwareProfile& software, Precision precision)
    : roofline_(device, software, base_precision(precision)),
      peak_(peak_of(device, base_precision(precision))),
      gemm_peak_(peak_of(device, precision)),
      bandwidth_(device.memory_bandwidth * device.memory_ratio),
      gemm_factor_(software.numbers.gemm_time_factor),
      flash_factor_(software.numbers.flash_time_factor),
      flash_backward_ratio_(software.numbers.flash_backward_ratio),
      low_precision_speedup_(low_precision_speedup(device, precision)),
      kernel_launch_(device.kernel_launch),
      launch_blocking_(software.numbers.launch_blocking) {
    const bool measured_in = base_precision(precision) == Precision::bf16 || precision == Precision::fp16;
    if (!device.kernels || !measured_in) return;
    gemm_rates_ = RateGrid(device.kernels->gemm);
    attention_rates_ = RateGrid(device.kernels->attention);
}

CalibratedCost::CalibratedCost(const Job& job) : CalibratedCost(device_of(job), job.software, job.plan.precision) {
    laws_ = laws_of(job);
}

CalibratedCost::Laws CalibratedCost::laws_of(const Job& job) {
    Laws laws;
    if (!laws_apply(job)) return laws;
    laws.calibration = job.calibration.get();
    const double all = std::min(job.gpus, job.cluster.gpus_per_node);
    laws.host = shared_host(*job.calibration, job.computing_ranks > 0.0 ? job.computing_ranks : all);
    laws.transport = job.calibration->transport_ratio.value_or(1.0);
    if (job.calibration->machine.software == job.software.id) return laws;
    laws.gemm_factor = job.software.numbers.gemm_time_factor;
    laws.flash_factor = job.software.numbers.flash_time_factor;
    laws.memory_factor = job.software.numbers.memory_time_factor;
    return laws;
}

double CalibratedCost::Laws::factor(const Op& op) const {
    if (op.kind == OpKind::memory) return transport * host.memory_ratio * (op.measured_traffic ? 1.0 : memory_factor);
    return transport * host.compute_ratio * (op.kind == OpKind::gemm ? gemm_factor : flash_factor);
}

OpTime CalibratedCost::by_law(const Op& op, const OpLaw& law) const {
    const Seconds whole = law_time(law, op.flops, op.read + op.written) * laws_.factor(op);
    const Seconds start(std::min(law.base.value, whole.value));
    OpTime answer;
    answer.seconds = whole + launch_blocking_;
    answer.bound = op.kind == OpKind::memory ? Bound::memory : Bound::compute;
    if (whole - start < start) answer.bound = Bound::launch;
    answer.terms = {{{"measured", whole - start}, {"launch", start + launch_blocking_}, {}}};
    answer.term_count = 2;
    return answer;
}

OpTime CalibratedCost::optimizer(double parameters, Bytes moved) const {
    if (laws_.calibration == nullptr || !laws_.calibration->optimizer) return stream(moved);
    const OptimizerLaw& law = *laws_.calibration->optimizer;
    const Seconds updating = Seconds(parameters / law.parameters_per_second) * laws_.host.memory_ratio;
    OpTime answer;
    answer.seconds = law.base + updating;
    answer.bound = updating < law.base ? Bound::launch : Bound::memory;
    answer.terms = {{{"measured", updating}, {"launch", law.base}, {}}};
    answer.term_count = 2;
    return answer;
}

double CalibratedCost::speedup(const Op& op) const {
    if (low_precision_speedup_ == 0.0 || is_head(op)) return 1.0;
    const double side = std::cbrt(static_cast<double>(op.m) * static_cast<double>(op.n) * static_cast<double>(op.k));
    return std::max(1.0, low_precision_speedup_ * std::pow(side / speedup_side, speedup_exponent));
}

OpTime CalibratedCost::measured(Seconds kernel, Seconds floor) const {
    OpTime answer;
    const Seconds charged(std::max(kernel.value, floor.value));
    answer.bound = charged > kernel ? Bound::memory : Bound::compute;
    answer.seconds = charged + launch_blocking_;
    answer.terms = {{{"measured kernel", charged}, {"launch", launch_blocking_}, {}}};
    answer.term_count = 2;
    return answer;
}

OpTime CalibratedCost::gemm(const Op& op) const {
    const double faster = speedup(op);
    if (gemm_rates_.empty()) {
        Op same_time_in_bf16 = op;
        same_time_in_bf16.flops = op.flops / faster;
        return roofline_.time(same_time_in_bf16);
    }
    const bool swap = is_weight_gradient(op) && op.n < op.m;
    const auto m = static_cast<double>(swap ? op.n : op.m);
    const auto n = static_cast<double>(swap ? op.m : op.n);
    const auto k = static_cast<double>(op.k);
    const double rate = std::min(gemm_rates_.tflops(m, n, k) * tera * faster / gemm_factor_, gemm_peak_.value);
    // Inside the table memory traffic is part of the measurement (and caches may hide it); outside it is a bound.
    const bool inside = gemm_rates_.contains(m, n, k);
    const Seconds moved = (op.read + op.written) / bandwidth_;
    return measured(op.flops / FlopsPerSecond(rate),
                    inside ? Seconds(0.0) : Seconds(std::max(moved.value, kernel_launch_.value)));
}

OpTime CalibratedCost::flash_attention(const Op& op) const {
    if (attention_rates_.empty()) return roofline_.time(op);
    const double table_rate =
        attention_rates_.tflops(static_cast<double>(op.n), static_cast<double>(op.batch), static_cast<double>(op.k));
    const double scale = op.backward ? flash_backward_ratio_ / flash_backward_flops : 1.0;
    const double rate = std::min(table_rate * tera / (flash_factor_ * scale), peak_.value);
    return measured(op.flops / FlopsPerSecond(rate), (op.read + op.written) / bandwidth_);
}

TimeSource CalibratedCost::source(const Op& op) const {
    if (laws_.calibration == nullptr) return TimeSource::model;
    if (find_law(*laws_.calibration, op.name) != nullptr) return TimeSource::law;
    const bool in_table = (op.kind == OpKind::gemm && !gemm_rates_.empty()) ||
                          (op.kind == OpKind::flash_attention && !attention_rates_.empty());
    if (in_table && laws_.calibration->kernels) return TimeSource::kernel_table;
    return find_law(*laws_.calibration, op_class(op)) != nullptr ? TimeSource::class_law : TimeSource::model;
}

OpTime CalibratedCost::time(const Op& op) const {
    switch (source(op)) {
        case TimeSource::law:
            return by_law(op, *find_law(*laws_.calibration, op.name));
        case TimeSource::class_law:
            return by_law(op, *find_law(*laws_.calibration, op_class(op)));
        case TimeSource::kernel_table:
        case TimeSource::model:
            break;
    }
    return modelled(op);
}

OpTime CalibratedCost::modelled(const Op& op) const {
    switch (op.kind) {
        case OpKind::gemm:
            return gemm(op);
        case OpKind::flash_attention:
            return flash_attention(op);
        case OpKind::attention_matmul:
        case OpKind::memory:
            return roofline_.time(op);
        case OpKind::collective:
            break;
    }
    assert(false && "collectives belong to the network model");
    return {};
}

}  // namespace foreshard
