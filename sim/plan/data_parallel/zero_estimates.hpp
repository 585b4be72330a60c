#pragma once

#include <cstdint>

#include "sim/units.hpp"

/// What calculators of ZeRO memory print for model states, convention by convention, so that their figures can be
/// compared with ours (deepspeedai/DeepSpeed issues 965, 1536, 5099, 5102). Adam, 16-bit training.
namespace foreshard {

enum class ZeroConvention {
    deepspeed,          ///< estimate_zero2_model_states_mem_needs of 2021: stage 2 is 4 P + 16 P / N
    sharded_gradients,  ///< gradients sharded: 2 P + 14 P / N (this program, where gradients stay in 16 bits)
    fp32_gradients,     ///< and kept in fp32 too: 2 P + 18 P / N (this program with gradient_partition_bytes 4)
};

enum class ZeroOffload { none, optimizer, optimizer_and_parameters };

struct ZeroShape {
    std::int64_t parameters = 0;
    std::int64_t largest_layer = 0;  ///< stage 3 holds it whole
    int gpus = 1;
};

/// Device bytes a GPU for model states only. Stage 3 is 18 P / N + 4 largest layers in every convention.
ByteCount zero_estimate(const ZeroShape& shape, int stage, ZeroOffload offload, ZeroConvention convention);

}  // namespace foreshard
