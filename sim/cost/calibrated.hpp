#pragma once

#include "sim/cost/rate_grid.hpp"
#include "sim/cost/roofline.hpp"
#include "sim/spec/calibration.hpp"

namespace foreshard {

/// Name of the laws for ops that have none of their own: "gemm.forward", "gemm.input_grad", "gemm.weight_grad",
/// "attention.matmul", "attention.flash_forward", "attention.flash_backward", "memory.any". Empty for collectives.
std::string_view op_class(const Op& op);

/// What a time comes from.
enum class TimeSource : std::uint8_t {
    law,           ///< the calibration's, of the op's name
    kernel_table,  ///< the calibration's
    class_law,     ///< the calibration's, of the op's class
    model,         ///< the device's own kernel table and figures
};

/// Times from the device's measured kernel table where it has one, from RooflineCost otherwise.
/// GEMM: FLOPs / measured rate of the shape x the profile's factor; weight gradients, whose m and n are both weight
/// sizes, look up the smaller one as m. Flash attention: FLOPs / measured causal forward rate. A measured time contains
/// the kernel's launch. Below 16 bits GEMMs run max(1, phi ((mnk)^(1/3) / 8192)^0.3) times faster than in bf16, but the
/// head and attention stay in bf16.
///
/// A job's calibration comes first: the law of the op's name, then its kernel table, then the law of the op's class.
/// The profile's factors multiply laws that were measured with another profile, or with none; ranks that share a host
/// slow each other down as was measured, and so does the way of communication.
class CalibratedCost final : public CostModel {
public:
    CalibratedCost(const DeviceSpec& device, const SoftwareProfile& software, Precision precision);
    /// With the job's calibration. Keeps a reference to it.
    explicit CalibratedCost(const Job& job);

    OpTime time(const Op& op) const override;
    TimeSource source(const Op& op) const;
    OpTime stream(Bytes bytes) const override { return roofline_.stream(bytes); }
    OpTime optimizer(double parameters, Bytes moved) const override;

private:
    /// Measured laws that hold for a job's ops; none without a calibration of the plan's number format.
    struct Laws {
        const Calibration* calibration = nullptr;
        SharedHost host;
        double transport = 1.0;
        double gemm_factor = 1.0;
        double flash_factor = 1.0;
        double memory_factor = 1.0;

        double factor(const Op& op) const;
    };
    static Laws laws_of(const Job& job);
    OpTime by_law(const Op& op, const OpLaw& law) const;
    OpTime modelled(const Op& op) const;
    OpTime gemm(const Op& op) const;
    OpTime flash_attention(const Op& op) const;
    OpTime measured(Seconds kernel, Seconds floor) const;
    double speedup(const Op& op) const;

    RooflineCost roofline_;
    Laws laws_;
    RateGrid gemm_rates_;
    RateGrid attention_rates_;
    FlopsPerSecond peak_;
    FlopsPerSecond gemm_peak_;
    BytesPerSecond bandwidth_;
    double gemm_factor_ = 1.0;
    double flash_factor_ = 1.0;
    double flash_backward_ratio_ = 2.5;
    double low_precision_speedup_ = 0.0;  ///< phi; 0: 16 bits or more
    Seconds kernel_launch_;
    Seconds launch_blocking_;
};

}  // namespace foreshard
