#pragma once

#include "sim/plan/buffer_plan.hpp"

/// Buffers of passes counted tensor by tensor, op by op: what the project's own runtime allocates and frees
/// (runtime/*_kernels.cpp; a test holds the two equal). For profiles with counts_buffers.
namespace foreshard {

/// Tensors of a pass, or of a part of one. What it receives is taken over at its start, and what it sends is handed
/// over at its end: both are holdings before and after.
PassBuffers counted_pass(const Job& job, const TaskGraph& graph, const Work& work);

}  // namespace foreshard
