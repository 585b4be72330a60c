#pragma once

#include <cstdint>
#include <vector>

#include "sim/cost/durations.hpp"

/// Which links every communication of a task graph loads, from the order of ranks.
namespace foreshard {

/// `load` bytes pass the link for every byte of the flow's reference connection.
struct LinkUse {
    std::int32_t link = 0;
    double load = 0.0;
    bool operator==(const LinkUse&) const = default;
};

/// What one comm does to links and devices while it is in flight. A simulated comm stands for all real ones that move
/// with it (other tensor and context parallel positions, and all replicas where they are not expanded): their loads add
/// up, and they have one rate.
struct Flow {
    double demand = 0.0;  ///< bytes/s of the reference connection when alone; 0: loads nothing
    std::uint32_t first_use = 0;
    std::uint32_t uses = 0;
    int blocks = 0;       ///< SMs taken on every member's device
    double memory = 0.0;  ///< share of a member's memory bandwidth taken when alone
    /// Kernels beside it take at least so many times as long: what the software profile's published runs show, where
    /// SMs and memory explain less.
    double least_slowdown = 1.0;
};

struct FlowMap {
    std::vector<double> capacity;            ///< of links, bytes/s
    std::vector<Flow> flows;                 ///< one per (comm class, rank of the first member), or (work, rank)
    std::vector<LinkUse> uses;               ///< those of a flow side by side
    std::vector<std::int32_t> flow_of_comm;  ///< like TaskGraph::comms
    /// Like TaskGraph::tasks: flow of the collectives inside a pass while they are exposed; -1 where the pass has none,
    /// or where no link that they load could ever be full. Empty: none at all.
    std::vector<std::int32_t> flow_of_task;
    /// True when every flow loads links alike in each replica, so that one replica may stand for all. Links are grouped
    /// by the loads of all flows on them; replicas are alike when for every flow each of them loads as many links of
    /// every group by as much (an equitable partition). Always true for an expanded graph.
    bool replicas_alike = true;
};

/// Links are: per GPU a send and a receive port of NVLink (or PCIe), per NIC a send and a receive port, per leaf (or
/// rail) an uplink and a downlink. Rings pass each member's ports once in each direction; between nodes every member
/// carries its share of the ring through its own NIC. Links with the same loads are one link.
FlowMap map_flows(const Job& job, const TaskGraph& graph, const Durations& durations);

}  // namespace foreshard
