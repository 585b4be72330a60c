#pragma once

#include <optional>
#include <vector>

#include "runtime/job_run.hpp"

/// How far ranks that compute equally much come apart, and which steps nothing disturbs.
namespace foreshard::runtime {

/// Of every run: recorded, not a warm-up, and what all ranks computed in it lies in the middle half of such runs (a
/// quarter of them, rounded down, is left out at each end). All false where ops were not timed.
std::vector<bool> middle_runs(const Outcome& outcome);

/// Half the mean absolute difference of what two ranks computed in the same time of the plan, over that time: what a
/// rank waits on the average where it meets another one. Both are counted over their own means, so that stages of
/// different length compare.
struct RankLead {
    double after_ms = 0.0;  ///< of computing, mean
    double ratio = 0.0;
};

struct RankLeads {
    std::optional<RankLead> pass;  ///< after one pass
    std::optional<RankLead> step;  ///< after all passes of a run
};

/// Over the middle runs, all pairs of ranks; the k-th pass of a kind of one rank beside the k-th of the other. None
/// where there is one rank, or fewer than two such runs. Communication inside passes is left out.
RankLeads rank_leads(const Plan& plan, const Outcome& outcome);

}  // namespace foreshard::runtime
