#pragma once

#include <algorithm>
#include <vector>

#include "sim/cost/flow_map.hpp"

/// Internal to flow maps: links of a cluster by number, and what loads them.
namespace foreshard {

/// Numbers of links: ports of GPUs, then of NICs, then of leaves, sending before receiving.
class Links {
public:
    explicit Links(const Job& job) : cluster_(job.cluster), gpus_(std::max(job.gpus, 1)) {
        nics_per_node_ = cluster_.nics_per_node > 0 ? cluster_.nics_per_node : std::max(cluster_.gpus_per_node, 1);
        nodes_ = (gpus_ + cluster_.gpus_per_node - 1) / std::max(cluster_.gpus_per_node, 1);
        if (cluster_.leaf) {
            rails_ = cluster_.leaf->rail_optimized ? nics_per_node_ : 1;
            leaves_ = (nodes_ + cluster_.leaf->nodes_per_leaf - 1) / cluster_.leaf->nodes_per_leaf * rails_;
        }
        set_capacities(job);
    }

    std::vector<double> capacity;

    int port(int rank, bool send) const { return 2 * rank + (send ? 0 : 1); }
    int nic(int rank, bool send) const {
        const int node = rank / cluster_.gpus_per_node;
        return 2 * gpus_ + 2 * (node * nics_per_node_ + nic_of(rank)) + (send ? 0 : 1);
    }
    /// Block of nodes that share leaf switches; without a leaf tier all are in one.
    int block(int rank) const {
        return cluster_.leaf ? rank / cluster_.gpus_per_node / cluster_.leaf->nodes_per_leaf : 0;
    }
    int leaf(int rank, bool send) const {
        const int rail = rails_ > 1 ? nic_of(rank) : 0;
        return 2 * gpus_ + 2 * nodes_ * nics_per_node_ + 2 * (block(rank) * rails_ + rail) + (send ? 0 : 1);
    }

    bool is_leaf(int link) const { return link >= 2 * gpus_ + 2 * nodes_ * nics_per_node_; }

private:
    int nic_of(int rank) const {
        return rank % cluster_.gpus_per_node * nics_per_node_ / std::max(cluster_.gpus_per_node, 1);
    }

    void set_capacities(const Job& job);

    const ClusterSpec& cluster_;
    int gpus_;
    int nics_per_node_ = 1;
    int nodes_ = 1;
    int rails_ = 1;
    int leaves_ = 0;
};

/// Loads of one real communication, or the sum over several; kept sorted by link.
class Loads {
public:
    void add(int link, double load) { uses_.push_back({link, load}); }
    void add(const std::vector<LinkUse>& others) { uses_.insert(uses_.end(), others.begin(), others.end()); }

    std::vector<LinkUse> summed() const {
        std::vector<LinkUse> sorted = uses_;
        std::stable_sort(sorted.begin(), sorted.end(),
                         [](const LinkUse& a, const LinkUse& b) { return a.link < b.link; });
        std::vector<LinkUse> sums;
        for (const LinkUse& use : sorted) {
            if (sums.empty() || sums.back().link != use.link) {
                sums.push_back(use);
            } else {
                sums.back().load += use.load;
            }
        }
        return sums;
    }

private:
    std::vector<LinkUse> uses_;
};

/// Everything that one flow does: the loads of each replica (or of all together), and the bytes that one real
/// communication moves through its busiest port.
struct FlowLoads {
    std::vector<std::vector<LinkUse>> replicas;
    double bytes = 0.0;
    double largest_share = 0.0;  ///< of a port's or NIC's capacity that one real communication takes at 1 byte/s
};

}  // namespace foreshard
