#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "sim/result/report.hpp"
#include "sim/search/cell_tally.hpp"
#include "sim/search/neighbours.hpp"
#include "sim/search/search_request.hpp"
#include "sim/search/sensitivity.hpp"

/// The best plans for a model on a cluster. Bounds order the plans, the engine decides.
namespace foreshard {

struct FoundPlan {
    JobRequest plan;  ///< what has to be said beyond the search's base
    Summary summary;  ///< simulated
    PlanFigures figures;
    double objective_value = 0.0;  ///< less is better; can be compared between sizes, for one batch
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
    Objective objective = Objective::step_time;
    OperatingFigures operation;          ///< of the cluster and as asked for
    std::optional<double> train_tokens;  ///< as asked for
    std::int64_t evaluated = 0;          ///< plans whose bounds were computed
    std::int64_t pruned = 0;             ///< plans that were cut off with their branch
    std::int64_t refined = 0;            ///< plans whose bounds were computed again, from their lists of actions
    std::int64_t simulated = 0;
    int threads = 0;
    double estimate_elapsed_s = 0.0;
    double elapsed_s = 0.0;
    /// Simulated plans that fit, the best by the objective first: as many as were wanted, and all others of the front.
    std::vector<FoundPlan> plans;
    /// Of `plans`, the fastest first: none is faster with as little memory.
    std::vector<std::size_t> front;
    std::map<std::string, std::int64_t> infeasible;  ///< how many plans by reason: fields of the rule, or "memory"
    std::optional<FoundPlan> closest;                ///< where none fits: the one that needs least memory, simulated
    std::optional<double> closest_need_gib;          ///< allocated and outside the allocator
    double memory_limit_gib = 0.0;
    std::vector<Relaxation> relaxations;  ///< where none fits
    bool sought_relaxations = false;      ///< they were looked for
    bool stopped = false;                 ///< the search was ended early: the plans are the best so far
    bool complete = false;                ///< all plans were simulated that could be among the best or on the front
    /// No plan of the space is better than the best one by a larger share of its objective. Absent without plans, and
    /// where the search was stopped before all bounds were known.
    std::optional<double> gap_ratio;
    /// TP x PP of which no plan can run; empty where the search was stopped before all bounds were known.
    std::vector<InfeasibleCell> infeasible_cells;
    std::vector<Neighbour> neighbours;     ///< of the best plan; empty unless asked for (see neighbours_of_best)
    std::vector<Sensitivity> sensitivity;  ///< empty unless asked for (see sensitivity_of)
};

struct SearchProgress {
    const char* phase = "";  ///< "bounds", "simulation"
    double done_ratio = 0.0;
    std::int64_t evaluated = 0;
    std::int64_t simulated = 0;
    std::optional<double> best_ms;
    std::optional<double> gap_ratio = std::nullopt;  ///< as of SearchOutcome
};
using OnProgress = std::function<void(const SearchProgress&)>;

/// A plan that was simulated, fits, and is among the best or on the front of all simulated so far.
struct Improvement {
    FoundPlan found;
    bool best = false;           ///< by the objective, of all so far
    bool on_front = false;       ///< none so far is as fast with as little memory
    std::int64_t evaluated = 0;  ///< plans so far
    std::int64_t simulated = 0;  ///< with this one
};
using OnImprovement = std::function<void(const Improvement&)>;

/// The result does not depend on the number of threads, but for times. Exact in its space: the best plans and the front
/// are those of simulating every plan.
/// @param on_progress called from one thread at a time @param stop ends the search early, with what is known
/// @param on_improvement called on the caller's thread, in an order that does not depend on the number of threads
/// @throws InputError
SearchOutcome search(const SearchRequest& request, const OnProgress& on_progress = {}, const std::stop_token& stop = {},
                     const OnImprovement& on_improvement = {});

/// The same without simulating: only what is counted and how long it took. @param stop as of search()
SearchOutcome bound_plans(const SearchRequest& request, const std::stop_token& stop = {});

}  // namespace foreshard
