#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "sim/cost/link_loads.hpp"
#include "sim/plan/rank_grid.hpp"

/// Internal to flow maps: links that the exposed collectives inside passes load.
namespace foreshard {

/// One flow for each (simulated rank, work) whose exposed tensor, context or expert parallel collectives load links.
/// All collectives of a pass move at one average rate: their bytes over their exposed time.
class PassFlows {
public:
    PassFlows(const Job& job, const TaskGraph& graph, const Durations& durations, const RankGrid& grid,
              const Links& links);

    /// Distinct loads, by replica, for merging with those of other flows. They become flows of no demand.
    const std::vector<std::vector<std::vector<LinkUse>>>& shapes() const { return shapes_; }

    /// Appends the flows and fills flow_of_task. Precondition: the last flows of the map are the shapes, with their
    /// uses merged.
    void add_to(FlowMap& map) const;

private:
    using Ratios = std::array<double, 3>;  ///< of tp, cp and ep bytes to their largest

    struct PassFlow {
        std::int32_t rank = 0;
        std::int32_t work = 0;
        std::size_t shape = 0;
        double demand = 0.0;
    };

    void add(std::int32_t rank, std::int32_t work);
    std::size_t shape_of(std::int32_t rank, const Ratios& ratios);
    std::vector<LinkUse> replica_loads(RankPosition at, const Ratios& ratios);
    void note_share(const LinkUse& use);
    std::vector<LinkUse> member_loads(int member, const Ratios& ratios) const;
    void add_ring(int member, const std::vector<int>& group, double load, Loads& loads) const;
    void add_all_to_all(int member, const std::vector<int>& group, double load, Loads& loads) const;
    std::vector<double> most_demanded(const FlowMap& map) const;

    const Job& job_;
    const TaskGraph& graph_;
    const Durations& durations_;
    const RankGrid& grid_;
    const Links& links_;
    std::vector<std::vector<std::vector<LinkUse>>> shapes_;
    std::vector<double> largest_share_;  ///< per shape: of a port's or NIC's capacity that one member takes at 1 byte/s
    std::map<std::pair<std::int32_t, Ratios>, std::size_t> known_shapes_;
    std::map<std::pair<std::int32_t, std::int32_t>, std::size_t> known_flows_;  ///< (rank, work)
    std::vector<PassFlow> flows_;
};

}  // namespace foreshard
