#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/cost/flow_map.hpp"

/// Shares links among the flows in flight by max-min fairness.
namespace foreshard {

/// Rates are max-min fair: no link carries more than its capacity, no flow exceeds its demand, and each flow has its
/// demand or crosses a full link on which no flow is faster (Bertsekas and Gallager, Data Networks, section 6.5.2).
/// Found by progressive filling; a change is followed only through links that demands could fill.
class FlowNetwork {
public:
    explicit FlowNetwork(std::span<const double> capacity);

    /// Adds a flow and returns its number; numbers of removed flows are used again. `uses` must outlive the flow.
    std::int32_t add(double demand, std::span<const LinkUse> uses);
    void remove(std::int32_t flow);
    void set_demand(std::int32_t flow, double demand);

    double rate(std::int32_t flow) const { return flows_[static_cast<std::size_t>(flow)].rate; }
    double demand(std::int32_t flow) const { return flows_[static_cast<std::size_t>(flow)].demand; }

    /// Flows whose rates the last add, remove or set_demand may have changed, an added one among them.
    const std::vector<std::int32_t>& affected() const { return affected_; }

private:
    struct ActiveFlow {
        double demand = 0.0;
        double rate = 0.0;
        std::span<const LinkUse> uses;
        bool visited = false;
        bool frozen = false;
    };
    struct Link {
        double capacity = 0.0;
        double demanded = 0.0;            ///< sum of demand x load
        std::vector<std::int32_t> flows;  ///< that cross it now
        double left = 0.0;                ///< while filling
        double filling = 0.0;             ///< sum of loads of flows that still grow
        bool visited = false;
    };

    bool may_fill(const Link& link) const;
    void change_demand(const ActiveFlow& flow, double by);
    void visit_links(const ActiveFlow& flow);
    void update(std::int32_t changed);
    void fill();
    void freeze(std::int32_t flow, double rate);

    std::vector<ActiveFlow> flows_;
    std::vector<std::int32_t> unused_;
    std::vector<Link> links_;
    std::vector<std::int32_t> affected_;  ///< flows of the component under change
    std::vector<std::int32_t> affected_links_;
};

}  // namespace foreshard
