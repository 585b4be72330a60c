#pragma once

#include <vector>

#include "runtime/carrier.hpp"
#include "runtime/cuda/queue.hpp"

namespace foreshard::runtime::cuda {

/// Adds up (or takes the maximum of) what the members bring, in the order of ranks, and gives every member the whole
/// or, of a reduce-scatter, its part. Precondition: calls that fit together, at most most_members of them.
void group_reduce(Queue queue, const std::vector<MemberCall>& calls);

}  // namespace foreshard::runtime::cuda
