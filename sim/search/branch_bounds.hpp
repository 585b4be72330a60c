#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "sim/search/incumbents.hpp"
#include "sim/search/known_collectives.hpp"
#include "sim/search/plan_bound.hpp"
#include "sim/search/space_costs.hpp"

/// Bounds of all plans of a branch of the space.
namespace foreshard {

/// A plan that may fit, by its bounds.
struct Candidate {
    Picoseconds step_time = 0;
    ByteCount memory = 0;  ///< allocated
    PlanKey key;
    Picoseconds busy_time = 0;  ///< mean over GPUs
};

/// A plan that does not fit, and what it needs at least.
struct ClosestMiss {
    ByteCount need = 0;
    PlanKey key;
};

/// Of the plans of one grid of a branch.
struct GridYield {
    int grid = 0;
    std::int64_t open = 0;                ///< may run, as far as bounds tell
    std::int64_t too_large = 0;           ///< do not fit into memory
    std::vector<std::int64_t> forbidden;  ///< by rule, as Space::rules
};

struct BranchYield {
    int branch = -1;
    std::vector<GridYield> grids;
    std::vector<Candidate> candidates;
    std::int64_t evaluated = 0;
    std::int64_t pruned = 0;
    std::int64_t too_large = 0;               ///< of those evaluated: do not fit into memory
    std::vector<std::int64_t> forbidden;      ///< by rule, as Space::rules
    std::optional<ClosestMiss> closest_miss;  ///< the one that needs least
};

/// Everything that bounds read, and that threads share.
struct BoundInputs {
    const Space& space;
    const AllGridCosts& grids;
    const SpaceCosts& costs;
    ByteCount memory_limit = 0;
    bool busy_times = false;  ///< are wanted; else they are 0
};

/// One per thread.
class BranchBounds {
public:
    explicit BranchBounds(const BoundInputs& inputs) : in_(inputs), network_(inputs.costs.passes()) {}

    /// No plan of the branch takes less; the greatest value where the branch has no plans.
    Picoseconds floor(int branch);

    /// Bounds of its plans; what does not fit or what `known` rules out is left out, whole grids without a look at
    /// their plans. @param known nullptr: nothing is ruled out
    BranchYield expand(int branch, const Incumbents* known);

private:
    /// For grids whose groups lie alike.
    struct Tables {
        bool pipeline = false;
        PassGroups groups;
        std::unique_ptr<CostTable> costs;
        Picoseconds hop_inside = 0;
        Picoseconds hop_across = 0;
    };

    void begin(int branch);
    Tables& tables_of(int grid);
    Picoseconds grid_floor(int grid, std::int64_t microbatches);
    /// What every plan of a grid holds at least, and with what is outside the allocator.
    struct MemoryFloor {
        ByteCount allocated = 0;
        ByteCount need = 0;
    };
    MemoryFloor grid_memory_floor(int grid) const;
    bool cut(int grid, std::int64_t microbatches);
    void note_grid(int grid, const GridYield& before);
    GridYield counted() const;
    std::int64_t count_plans(int grid, std::int64_t microbatches) const;
    void expand_grid(int grid, std::int64_t microbatches);
    void expand_form(int grid, int place, std::int64_t microbatches);
    /// The sum of passes at hand, for all shardings that it holds for.
    struct Computed {
        const CostTable::View* table = nullptr;
        Picoseconds slack = 0;
    };
    void judge(PlanParts& parts, const FormSync& sync, PlanKey key, Computed& computed);

    /// Whether the passes of a step all lie in its window, so that their sum is the busy time.
    bool keeps_to_step(const Job& job) const {
        return in_.busy_times && job.plan.skew_steps <= 1 && !job.plan.overlap_param_gather;
    }

    const BoundInputs& in_;
    KnownCollectives network_;
    int branch_ = -1;
    const Incumbents* known_ = nullptr;
    std::vector<std::unique_ptr<Tables>> tables_;
    PipelineBounds pipeline_;
    BranchYield yield_;
};

}  // namespace foreshard
