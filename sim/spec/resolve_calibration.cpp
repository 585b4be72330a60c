#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/prefixes.hpp"
#include "sim/spec/calibration.hpp"
#include "sim/spec/resolve_options.hpp"

namespace foreshard {

namespace {

/// Measured collectives take the place of all fits of their kind.
void take_collectives(const Calibration& calibration, Job& job) {
    if (calibration.collectives.empty()) return;
    std::vector<CollectiveFit>& fits = job.cluster.fits;
    const auto measured = [&](const CollectiveFit& fit) {
        return std::any_of(calibration.collectives.begin(), calibration.collectives.end(),
                           [&](const CollectiveFit& other) { return other.kind == fit.kind; });
    };
    fits.erase(std::remove_if(fits.begin(), fits.end(), measured), fits.end());
    fits.insert(fits.end(), calibration.collectives.begin(), calibration.collectives.end());
    job.cluster.fabric_id = calibration.id;
    job.assumptions.push_back(
        fmt::format("calibration {}: times of {} collectives", calibration.id, calibration.collectives.size()));
}

/// A nominal peak below what was measured gives way: a processor's is a guess.
void take_gemm_rate(FlopsPerSecond rate, Job& job) {
    auto& peak = job.cluster.device.peak[static_cast<std::size_t>(job.plan.precision)];
    if (!peak || *peak < rate) {
        peak = rate;
        job.assumptions.push_back(
            fmt::format("peak of {}: {:.3g} TFLOP/s, as measured", to_string(job.plan.precision), rate.value / tera));
    }
    job.cluster.device.gemm_ratio = rate / *peak;
}

void take_device(const Calibration& calibration, Job& job) {
    const MeasuredDevice& measured = calibration.device;
    DeviceSpec& device = job.cluster.device;
    if (measured.launch) device.kernel_launch = *measured.launch;
    if (measured.memory_bandwidth) {
        device.memory_bandwidth = *measured.memory_bandwidth;
        device.memory_ratio = 1.0;
    }
    if (measured.gemm_rate && laws_apply(job)) take_gemm_rate(*measured.gemm_rate, job);
}

void take_overheads(const Calibration& calibration, Job& job) {
    ProfileNumbers& numbers = job.software.numbers;
    if (calibration.pass_overhead) numbers.pass_overhead = *calibration.pass_overhead;
    if (calibration.step_overhead) numbers.step_overhead = *calibration.step_overhead;
    if (calibration.overlap_contention_ratio) numbers.dp_contention_ratio = *calibration.overlap_contention_ratio;
}

/// What else is taken, with its figure.
std::vector<std::string> taken_figures(const Calibration& calibration) {
    std::vector<std::string> taken;
    const auto us = [&](const char* what, const std::optional<Seconds>& time) {
        if (time) taken.push_back(fmt::format("{} {:.3g} us", what, time->value / micro));
    };
    us("launch", calibration.device.launch);
    if (const auto& rate = calibration.device.memory_bandwidth) {
        taken.push_back(fmt::format("memory {:.3g} GB/s", rate->value / giga));
    }
    if (const auto& rate = calibration.device.gemm_rate) {
        taken.push_back(fmt::format("GEMMs {:.3g} TFLOP/s", rate->value / tera));
    }
    if (const auto& law = calibration.messages) {
        taken.push_back(
            fmt::format("messages {:.3g} us + {:.3g} GB/s", law->base.value / micro, law->bandwidth.value / giga));
    }
    if (const auto& law = calibration.optimizer) {
        taken.push_back(fmt::format("optimizer {:.3g} parameters/s", law->parameters_per_second));
    }
    us("pass overhead", calibration.pass_overhead);
    us("step overhead", calibration.step_overhead);
    us("wake-up", calibration.wakeup);
    if (!calibration.comm_tables.empty()) {
        taken.push_back(fmt::format("measured curves of {} kinds of communication", calibration.comm_tables.size()));
    }
    if (const auto& lead = calibration.rank_lead) {
        taken.push_back(fmt::format("ranks that meet behind {:.3g} ms wait {:.2g} % of them", lead->after.value / milli,
                                    100.0 * lead->ratio));
    }
    if (const auto& ratio = calibration.transport_ratio) {
        taken.push_back(fmt::format("ops x {:.3f} with {}", *ratio, calibration.machine.comm));
    }
    if (const auto& ratio = calibration.overlap_contention_ratio) {
        taken.push_back(fmt::format("contention of compute and communication {:.2f}", *ratio));
    }
    return taken;
}

}  // namespace

void apply_calibration(Job& job) {
    if (!job.calibration) return;
    const Calibration& calibration = *job.calibration;
    if (calibration.cluster && calibration.cluster->device.id != job.cluster.device.id) {
        job.warnings.push_back(fmt::format("calibration {} was measured on {}, but the cluster {} has {}",
                                           calibration.id, calibration.cluster->device.id, job.cluster.id,
                                           job.cluster.device.id));
    }
    take_collectives(calibration, job);
    take_device(calibration, job);
    take_overheads(calibration, job);
    const std::vector<std::string> taken = taken_figures(calibration);
    if (taken.empty()) return;
    job.assumptions.push_back(fmt::format("calibration {}: {}", calibration.id, fmt::join(taken, ", ")));
}

}  // namespace foreshard
