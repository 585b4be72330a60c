#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "sim/units.hpp"

/// Horovod's tensor fusion as a pure function of when gradients get ready (horovod/common/operations.cc, controller.cc,
/// FuseResponses).
namespace foreshard {

struct ReadyTensor {
    Seconds ready;  ///< from the start of backward; on the slowest rank
    std::int64_t bytes = 0;
};

struct HorovodOptions {
    Seconds cycle{1e-3};
    std::int64_t fusion_bytes = 128LL << 20;
    Seconds negotiation;  ///< of one coordination round
    Seconds phase;        ///< of the first cycle after the start of backward
};

/// One fused all-reduce.
struct HorovodRound {
    Seconds announced;  ///< end of the coordination round that released it
    Seconds start;      ///< the stream is free
    Seconds end;
    std::int64_t bytes = 0;
    std::int32_t first_tensor = 0;
    std::int32_t tensors = 0;
};

/// Cycles start at the phase and every cycle time after it. A cycle takes every tensor that was ready at its start, in
/// order, and fuses neighbours up to the buffer's size (a tensor above it goes alone). Reductions run one after
/// another.
/// @param tensors in ready order
/// @param reduce time of an all-reduce of so many bytes, copies in and out of the buffer included
std::vector<HorovodRound> horovod_rounds(const std::vector<ReadyTensor>& tensors, const HorovodOptions& options,
                                         const std::function<Seconds(std::int64_t)>& reduce);

}  // namespace foreshard
