#pragma once

#include "sim/plan/buffer_plan.hpp"
#include "sim/result/timeline.hpp"

namespace foreshard {

/// How near, over the pass: what predictions of passes are off by (docs/accuracy.md, runs on two cores).
inline constexpr double near_message_ratio = 0.05;

/// Equal stages end together, and which of the two is first is more than a prediction can tell. A message that comes
/// behind the end of the receiver's pass by less than a share of it counts from the start of that pass on; one that is
/// sent off before the next pass begins, by less than a share of the pass before, counts beside the next one, where
/// nothing else comes in it. A run holds the message beside the pass in some step. For predicted times; where a message
/// is held when times were measured is known.
void count_near_messages(const TaskGraph& graph, const Timeline& timeline, double ratio, BufferPlan& buffers);

}  // namespace foreshard
