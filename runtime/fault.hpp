#pragma once

#include <vector>

#include "runtime/ranks.hpp"

/// Which communications of a step have a part in its gradients: spoiling any of them must be found by a comparison.
namespace foreshard::runtime {

/// A rank, and the communication task to which it gives something.
struct Giver {
    int rank = 0;
    std::int32_t task = 0;
};

/// One per comm of the graph's first step that feeds a gradient, in the global order of messages, which a dry run with
/// unit times fixes; then the collectives outside passes, in the order of the graph. The giver is the lowest rank that
/// sends, or takes part.
std::vector<Giver> gradient_feeders(const Schedule& schedule, const TaskGraph& graph, const Ranks& ranks);

}  // namespace foreshard::runtime
