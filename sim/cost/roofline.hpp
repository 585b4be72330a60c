#pragma once

#include "sim/cost/cost_model.hpp"
#include "sim/spec/job.hpp"

namespace foreshard {

/// FLOPs that Op counts for flash attention's backward, relative to its forward (two products and the recomputation).
inline constexpr double flash_backward_flops = 2.5;

/// First-form cost: peak rates times constant achieved shares of the device, scaled by the software profile's factors.
/// GEMM and flash attention: max(FLOPs / rate, bytes / bandwidth) + launch. Unfused attention products: sum of both, as
/// fitted for Megatron-LM 2020-22. Everything else: bytes / bandwidth + launch.
/// Devices without a measured kernel table also pay for partly filled tiles and waves of GEMMs.
class RooflineCost final : public CostModel {
public:
    RooflineCost(const DeviceSpec& device, const SoftwareProfile& software, Precision precision);

    OpTime time(const Op& op) const override;
    OpTime stream(Bytes bytes) const override;

private:
    OpTime gemm(const Op& op) const;
    OpTime attention_matmul(const Op& op) const;
    OpTime flash_attention(const Op& op) const;
    OpTime memory(const Op& op) const;
    OpTime larger(Seconds compute, Seconds memory) const;

    FlopsPerSecond peak_;
    BytesPerSecond bandwidth_;
    double gemm_ratio_ = 1.0;
    double attention_matmul_ratio_ = 1.0;
    double misaligned_ratio_ = 1.0;
    double flash_ratio_ = 1.0;
    double flash_backward_ratio_ = 2.5;
    double memory_factor_ = 1.0;
    Seconds launch_;
    int quantised_sms_ = 0;  ///< 0: no tiles and waves
};

}  // namespace foreshard
