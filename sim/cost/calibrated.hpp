#pragma once

#include "sim/cost/rate_grid.hpp"
#include "sim/cost/roofline.hpp"

namespace foreshard {

/// Times from the device's measured kernel table where it has one, from RooflineCost otherwise.
/// GEMM: FLOPs / measured rate of the shape x the profile's factor; weight gradients, whose m and n are both weight
/// sizes, look up the smaller one as m. Flash attention: FLOPs / measured causal forward rate. A measured time contains
/// the kernel's launch. Below 16 bits GEMMs run max(1, phi ((mnk)^(1/3) / 8192)^0.3) times faster than in bf16, but the
/// head and attention stay in bf16.
class CalibratedCost final : public CostModel {
public:
    CalibratedCost(const DeviceSpec& device, const SoftwareProfile& software, Precision precision);

    OpTime time(const Op& op) const override;
    OpTime stream(Bytes bytes) const override { return roofline_.stream(bytes); }

private:
    OpTime gemm(const Op& op) const;
    OpTime flash_attention(const Op& op) const;
    OpTime measured(Seconds kernel, Seconds floor) const;
    double speedup(const Op& op) const;

    RooflineCost roofline_;
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
