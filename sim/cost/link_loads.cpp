#include "sim/cost/link_loads.hpp"

#include "sim/cost/link_network.hpp"
#include "sim/plan/rank_grid.hpp"

namespace foreshard {

void Links::set_capacities(const Job& job) {
    const Variability& v = job.plan.variability;
    double port_rate = cluster_.intra_node.bandwidth.value * ring_share_of_link;
    for (const CollectiveFit& fit : cluster_.fits) port_rate = std::max(port_rate, fit.bandwidth.value);
    for (int rank = 0; rank < gpus_; ++rank) {
        capacity.insert(capacity.end(), 2, port_rate * link_speed_of(v, LinkKind::nvlink, rank));
    }
    const ProfileNumbers& numbers = job.software.numbers;
    const double ratio = std::max(numbers.network_bandwidth_ratio,
                                  std::min(numbers.network_bandwidth_ratio * numbers.p2p_bandwidth_ratio, 1.0));
    const double node_rate =
        cluster_.inter_node ? cluster_.inter_node->bandwidth.value * ratio * cluster_.gpus_per_node : port_rate;
    capacity.resize(capacity.size() + static_cast<std::size_t>(2 * nodes_ * nics_per_node_),
                    node_rate / nics_per_node_);
    for (int rank = 0; rank < gpus_; ++rank) {
        const double speed = link_speed_of(v, LinkKind::nic, rank);
        for (const bool send : {true, false}) {
            double& nic_rate = capacity[static_cast<std::size_t>(nic(rank, send))];
            nic_rate = std::min(nic_rate, node_rate / nics_per_node_ * speed);
        }
    }
    if (!cluster_.leaf) return;
    const double uplinks = node_rate * cluster_.leaf->nodes_per_leaf / rails_;
    capacity.resize(capacity.size() + static_cast<std::size_t>(2 * leaves_),
                    uplinks / cluster_.leaf->oversubscription_ratio);
}

}  // namespace foreshard
