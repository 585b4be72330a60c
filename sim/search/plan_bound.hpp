#pragma once

#include <cstdint>
#include <vector>

#include "sim/search/cost_table.hpp"
#include "sim/search/grid_costs.hpp"
#include "sim/search/space.hpp"

/// Step time and memory of a plan from a handful of numbers: no op lists, no schedule, nothing allocated.
namespace foreshard {

/// Of one plan; neither is above what the engine finds.
struct PlanBound {
    Picoseconds step_time = 0;
    ByteCount memory = 0;  ///< allocated by the rank with the most
};

/// How a schedule runs, as far as bounds ask.
struct RunTraits {
    bool split = false;      ///< every backward is I and W
    bool may_split = false;  ///< some are
    bool blocking = false;   ///< a sender's compute waits for its message
};
RunTraits run_traits(const Job& job, const PipelineForm& form);

/// How steps follow each other.
enum class StepOrder : std::uint8_t {
    apart,    ///< a step ends with its last rank
    by_rank,  ///< each rank goes on behind its own end: parameters are gathered under the next forwards
    flowing,  ///< no rank waits for the pipeline to drain
};

/// Where the work of a plan lies: all that both bounds read.
struct PlanParts {
    const PipelineForm* form = nullptr;
    CostTable::View* table = nullptr;
    const GridCosts* grid = nullptr;
    std::int64_t microbatches = 1;
    Picoseconds hop_inside = 0;  ///< of a message within a domain, and between two
    Picoseconds hop_across = 0;
    RunTraits run;
    Picoseconds slack = 0;  ///< per layer: what rounding of parts may take off a pass that is cut
};

/// Bounds of the pipeline phase; one object per thread, used again and again.
class PipelineBounds {
public:
    /// Ends of every rank's last pass that no order of actions undercuts: those of earliest_ends(), in O(stages).
    void compute(const PlanParts& parts);

    /// The whole step, for a sharding.
    Picoseconds step(const PlanParts& parts, const FormSync& sync, int sharding, StepOrder order) const;

    /// Time in which a GPU runs passes (with their own collectives), optimizer and host, mean over the ranks, of a step
    /// that nothing crosses.
    Picoseconds busy_time(const PlanParts& parts, const FormSync& sync, int sharding) const;

private:
    void add_stages(const PlanParts& parts);
    void add_two_directions(const PlanParts& parts);
    void follow_gradients(const PlanParts& parts);
    void wait_for_copies(const PlanParts& parts);
    Picoseconds exchange_end(const PlanParts& parts, const FormSync& sync, int sharding, const RankSync& at_first,
                             const RankSync& at_last) const;
    Picoseconds hop(const PlanParts& parts, std::size_t stage) const;

    std::vector<Picoseconds> head_;
    std::vector<Picoseconds> work_;
    std::vector<Picoseconds> until_gradient_;
    std::vector<Picoseconds> slowest_send_;
    std::vector<Picoseconds> gradient_;  ///< of the first p stages
    std::vector<Picoseconds> ends_;
    std::vector<Picoseconds> copies_;  ///< to the host
    Picoseconds passes_ = 0;           ///< of all ranks
};

/// Most that a rank is sure to hold at a time: exact for 1F1B, GPipe and one rank where no pass is cut, and for
/// interleaved 1F1B of equal chunks.
/// @param cut passes may be cut into parts @param cut_forward forwards too
ByteCount memory_bound(const PlanParts& parts, const FormSync& sync, int sharding, bool cut, bool cut_forward,
                       int group);

}  // namespace foreshard
