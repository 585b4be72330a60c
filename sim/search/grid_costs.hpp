#pragma once

#include <cstdint>
#include <stop_token>
#include <vector>

#include "sim/cost/cost_model.hpp"
#include "sim/cost/network_model.hpp"
#include "sim/cost/pass_time.hpp"
#include "sim/search/space.hpp"
#include "sim/search/space_costs.hpp"
#include "sim/units.hpp"

/// What a grid of the space fixes whatever the micro-batch: where groups lie, data-parallel communication, optimizer,
/// and model states.
namespace foreshard {

/// Of ranks that hold the same stages.
struct RankSync {
    Picoseconds reduce = 0;        ///< behind the last pass: one reduction of all gradients
    Picoseconds finish = 0;        ///< optimizer, gathers that are not hidden, the step's overhead
    Picoseconds update = 0;        ///< of these, what a rank does by itself
    Picoseconds busy = 0;          ///< of that, what the GPU does: an optimizer on the host leaves it idle
    Picoseconds lane_each = 0;     ///< sharded parameters: gathers and reductions of every micro-batch
    Picoseconds lane_once = 0;     ///< and those of a step
    ByteCount held = 0;            ///< states and workspaces
    ByteCount optimizer_step = 0;  ///< more in the optimizer
    ByteCount gathered = 0;        ///< sharded parameters that are sure to be there in any forward of the lowest stage
};

struct FormSync {
    bool ties_embedding = false;  ///< across ranks
    Picoseconds embedding = 0;    ///< its reduction
    ByteCount runtime = 0;        ///< outside the allocator
    std::vector<RankSync> ranks;  ///< [sharding * classes + class]
    /// [sharding]: a reduction of all gradients precedes the exchange of the embedding.
    std::vector<std::uint8_t> reduces_first;
};

struct GridCosts {
    PassGroups groups;                ///< of collectives inside passes
    std::vector<std::uint8_t> local;  ///< [r]: ranks r and r + 1 (the last: and 0) share a domain
    std::vector<FormSync> forms;      ///< like Grid::forms

    GridCosts(const Space& space, int cell, int grid, const CostModel& cost, const NetworkModel& network);
};

/// Space::cells, [cell][grid].
using AllGridCosts = std::vector<std::vector<GridCosts>>;

/// @throws Stopped
AllGridCosts all_grid_costs(const Space& space, const SpaceCosts& costs, int threads, const std::stop_token& stop = {});

}  // namespace foreshard
