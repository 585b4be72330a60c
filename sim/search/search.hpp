#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "sim/result/report.hpp"
#include "sim/search/search_request.hpp"

/// The best plans for a model on a cluster. Bounds order the plans, the engine decides.
namespace foreshard {

struct FoundPlan {
    JobRequest plan;  ///< what has to be said beyond the search's base
    Summary summary;  ///< simulated
};

/// How to get a plan that fits where there is none.
struct Relaxation {
    std::string change;  ///< in words
    FoundPlan plan;      ///< the best one that there is then
};

struct SearchOutcome {
    JobRequest base;    ///< as asked for
    JobRequest loaded;  ///< the same with the specs themselves in place of names
    std::string space;
    std::int64_t evaluated = 0;  ///< plans whose bounds were computed
    std::int64_t pruned = 0;     ///< plans that were cut off with their branch
    std::int64_t refined = 0;    ///< plans whose bounds were computed again, from their lists of actions
    std::int64_t simulated = 0;
    int threads = 0;
    double estimate_elapsed_s = 0.0;
    double elapsed_s = 0.0;
    /// Simulated plans that fit, the fastest first: as many as were wanted, and all others of the front.
    std::vector<FoundPlan> plans;
    std::vector<std::size_t> front;                  ///< of `plans`: none is faster with as little memory
    std::map<std::string, std::int64_t> infeasible;  ///< how many plans by reason: fields of the rule, or "memory"
    std::optional<FoundPlan> closest;                ///< where none fits: the one that needs least memory, simulated
    std::optional<double> closest_need_gib;          ///< allocated and outside the allocator
    double memory_limit_gib = 0.0;
    std::vector<Relaxation> relaxations;  ///< where none fits
    bool stopped = false;                 ///< the search was ended early: the plans are the best so far
};

struct SearchProgress {
    const char* phase = "";  ///< "bounds", "simulation"
    double done_ratio = 0.0;
    std::int64_t evaluated = 0;
    std::int64_t simulated = 0;
    std::optional<double> best_ms;
};
using OnProgress = std::function<void(const SearchProgress&)>;

/// The result does not depend on the number of threads, but for times. Exact in its space: the best plans and the front
/// are those of simulating every plan.
/// @param on_progress called from one thread at a time @param stop ends the search early, with what is known
/// @throws InputError
SearchOutcome search(const SearchRequest& request, const OnProgress& on_progress = {},
                     const std::stop_token& stop = {});

/// The same without simulating: only what is counted and how long it took.
SearchOutcome bound_plans(const SearchRequest& request);

}  // namespace foreshard
