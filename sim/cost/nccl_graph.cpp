#include "sim/cost/nccl_graph.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <string_view>

#include "sim/cost/nccl_tables.hpp"
#include "sim/prefixes.hpp"

namespace foreshard {

namespace {

constexpr double speed_rounding = 1e-6;
constexpr int unlimited = 1 << 20;
constexpr int max_channels = 64;
constexpr int max_search_channels = 32;

/// Hopper and Blackwell boxes of eight and more have NVSwitches; boards of four are wired GPU to GPU.
constexpr int least_gpus_with_switch = 8;
constexpr int max_nvls_heads = 8;

/// All-reduce over eight MI300X reaches 313 of 448 GB/s (stas00/ml-engineering), over a pair 48 of 64 GB/s.
constexpr double xgmi_share = 0.7;

int compute_capability(const DeviceSpec& device) {
    if (device.architecture == "volta") return 70;
    if (device.architecture == "ada") return 89;
    if (device.architecture == "hopper") return 90;
    if (device.architecture == "blackwell") return 100;
    return 80;
}

bool is_xgmi(const ClusterSpec& cluster) {
    return cluster.device.architecture.starts_with("cdna");
}

std::span<const double> intra_speeds(int capability) {
    if (capability >= 100) return nccl::speeds_intra_blackwell;
    if (capability >= 90) return nccl::speeds_intra_hopper;
    return nccl::speeds_intra_ampere;
}

std::span<const double> inter_speeds(int capability) {
    if (capability >= 100) return nccl::speeds_inter_blackwell;
    if (capability >= 90) return nccl::speeds_inter_hopper;
    return nccl::speeds_inter_ampere;
}

double largest_fitting(std::span<const double> speeds, double limit) {
    const auto* const fitting = std::ranges::find_if(speeds.data(), speeds.data() + speeds.size(), [&](double speed) {
        return speed <= limit * (1.0 + speed_rounding);
    });
    return fitting == speeds.data() + speeds.size() ? speeds.back() : *fitting;
}

int fitting_count(double capacity, double speed) {
    return static_cast<int>(std::min(capacity / speed + speed_rounding, static_cast<double>(unlimited)));
}

/// Everything is in GB/s here, as in NCCL.
struct Box {
    int capability = 80;
    int per_node = 1;
    int nodes = 1;
    double nvlink = 0.0;  ///< one GPU, all its links to the group
    double nic = 0.0;     ///< one GPU

    /// Share of the channels that leave a GPU over NVLink: where a ring leaves the node it takes the NIC.
    double nvlink_share() const { return nodes == 1 ? 1.0 : static_cast<double>(per_node - 1) / per_node; }
    int fitting_channels(double speed) const {
        const double share = nvlink_share() * speed;
        const int by_links = share > 0.0 ? fitting_count(nvlink, share) : unlimited;
        const int by_nics = nodes == 1 ? unlimited : per_node * fitting_count(nic, speed);
        return std::min({by_links, by_nics, max_search_channels});
    }
};

struct Channels {
    int count = 0;
    double speed = 0.0;
    double total() const { return count * speed; }
};

/// Fast channels first; slower ones only if together they carry more, and not below half the speed found.
Channels search_ring(const Box& box) {
    const std::span<const double> speeds = box.nodes == 1 ? intra_speeds(box.capability) : inter_speeds(box.capability);
    constexpr double least_step = 0.49;
    Channels best;
    for (const double speed : speeds) {
        if (best.count > 0 && speed / best.speed <= least_step) break;
        const Channels found{box.fitting_channels(speed), speed};
        if (found.total() > best.total() * (1.0 + speed_rounding)) best = found;
    }
    if (best.count == 0) best = {1, largest_fitting(speeds, box.nodes == 1 ? box.nvlink : box.nic)};
    constexpr double least_speed_to_split = 25.0;
    constexpr double fast_enough = 50.0;
    const bool keep = box.capability > 80 && best.speed < fast_enough && best.count > 4;
    if (best.speed < least_speed_to_split || keep) return best;
    return {best.count * 2, best.speed / 2.0};
}

NcclGraph make_graph(int channels, double intra, double inter) {
    return {channels, BytesPerSecond(intra * giga), BytesPerSecond(inter * giga), false};
}

/// As many channels as the ring has, each as fast as then fits. In a pair every channel loads one direction only.
NcclGraph search_tree(const Box& box, const Channels& ring) {
    if (box.nodes == 1) {
        const double links = box.nvlink * (box.per_node == 2 ? 2.0 : 1.0);
        const double speed = largest_fitting(intra_speeds(box.capability), links / ring.count);
        return make_graph(ring.count, speed, speed);
    }
    const double share = box.nvlink_share() * ring.count;
    const double limit = share > 0.0 ? box.nvlink / share : static_cast<double>(unlimited);
    const double intra = std::max(ring.speed, largest_fitting(inter_speeds(box.capability), limit));
    NcclGraph graph = make_graph(ring.count, intra, ring.speed);
    graph.plain_tree = box.capability >= 90 || box.per_node == 1;
    return graph;
}

/// One channel per GPU, which sends its part to the switch and gets every other part from it.
NcclGraph search_nvls(const Box& box) {
    const int heads = std::min(box.per_node, max_nvls_heads);
    if (heads < 2) return {};
    const double limit = box.nvlink / (heads + 1);
    const std::span<const double> speeds = box.nodes == 1 ? intra_speeds(box.capability) : inter_speeds(box.capability);
    const double inter = box.nodes == 1 ? speeds.front() : largest_fitting(speeds, box.nic);
    return make_graph(heads, largest_fitting(speeds, limit), inter);
}

/// Links of one GPU to the rest of its group. In DGX-1's cube mesh a pair has one or two links, a half of the box four
/// a GPU; the slowest pair sets the pace.
double nvlink_capacity(const ClusterSpec& cluster, int capability, int per_node) {
    constexpr double link_rate = 25.0;
    constexpr double link_rate_blackwell = 50.0;
    const double rate = cluster.intra_node.bandwidth.value / giga;
    if (capability >= 100) return std::round(rate / link_rate_blackwell) * nccl::link_blackwell;
    double links = std::round(rate / link_rate);
    if (capability >= 90) return links * nccl::link_hopper;
    if (capability >= 80) return links * nccl::link_ampere;
    const bool cube_mesh = cluster.gpus_per_nvlink_domain <= 8;
    if (cube_mesh && per_node <= 4) links = per_node == 2 ? 1.0 : 4.0;
    return links * nccl::link_volta;
}

double pcie_capacity(const ClusterSpec& cluster, NcclCpu cpu) {
    const double rate = cluster.intra_node.bandwidth.value / giga;
    double slot = nccl::pcie_gen3;  // 16, 32 or 64 GB/s on paper
    if (rate > 20.0) slot = nccl::pcie_gen4;
    if (rate > 40.0) slot = nccl::pcie_gen5;
    return std::min(slot, cpu == NcclCpu::amd ? nccl::cpu_amd : nccl::cpu_intel);
}

/// One channel through the CPU, slower still where the node's NICs are.
void search_pcie(const Box& box, double capacity, NcclTopology& topology) {
    const double nics = box.nic * box.per_node;
    double limit = capacity;
    if (box.nodes > 1) limit = box.per_node == 1 ? nics : std::min(capacity, nics);
    const std::span<const double> speeds = box.nodes == 1 ? intra_speeds(box.capability) : inter_speeds(box.capability);
    const double speed = largest_fitting(speeds, limit);
    topology.ring = make_graph(1, speed, speed);
    topology.tree = topology.ring;
    topology.tree.plain_tree = box.nodes > 1 && (box.capability >= 90 || box.per_node == 1);
}

/// A full mesh: a ring over each link of a GPU to the others.
void search_mesh(const ClusterSpec& cluster, const Box& box, NcclTopology& topology) {
    const double links = std::max(cluster.gpus_per_nvlink_domain - 1, 1);
    const double speed = cluster.intra_node.bandwidth.value / giga / links * xgmi_share;
    const int count = std::max(box.per_node - 1, 1);
    const double through_nics = box.nodes == 1 ? speed : std::min(speed, box.nic * box.per_node / count);
    topology.ring = make_graph(count, through_nics, through_nics);
    topology.tree = topology.ring;
    topology.tree.plain_tree = box.nodes > 1;
}

void search_nvlink(const ClusterSpec& cluster, const Box& box, NcclTopology& topology) {
    const Channels ring = search_ring(box);
    topology.ring = make_graph(ring.count, ring.speed, ring.speed);
    topology.tree = search_tree(box, ring);
    if (box.capability >= 90 && cluster.gpus_per_nvlink_domain >= least_gpus_with_switch) {
        topology.nvls = search_nvls(box);
    }
}

/// Rings run twice side by side; Hopper gets more thread blocks when few fast channels leave a node.
int communicator_channels(const NcclTopology& topology) {
    constexpr double fast = 45e9;
    const int channels = std::min(topology.ring.channels * 2, max_channels);
    const bool again =
        topology.compute_capability >= 90 && topology.nodes > 1 && channels < 16 && topology.ring.intra.value > fast;
    return again ? channels * 2 : channels;
}

int nvls_channels(const NcclTopology& topology) {
    if (topology.nvls.channels == 0) return 0;
    if (topology.compute_capability < 100) return 16;
    return topology.nodes > 1 ? 32 : 24;
}

}  // namespace

NcclTopology nccl_topology(const ClusterSpec& cluster, const GroupPlacement& group) {
    NcclTopology topology;
    topology.compute_capability = compute_capability(cluster.device);
    topology.nodes = group.domains;
    topology.ranks = group.size;
    topology.intra = cluster.gpus_per_nvlink_domain > 1 ? NcclLink::nvlink : NcclLink::pci;
    // DGX A100 has AMD CPUs, DGX-1, DGX H100 and B200 Intel ones; PCIe boxes of Ampere and Ada mostly AMD.
    const bool amd = topology.compute_capability >= 80 && topology.compute_capability < 90;
    topology.cpu = amd ? NcclCpu::amd : NcclCpu::intel;

    Box box{.capability = topology.compute_capability, .per_node = group.per_domain, .nodes = group.domains};
    if (cluster.inter_node) box.nic = cluster.inter_node->bandwidth.value / giga;
    if (is_xgmi(cluster)) {
        search_mesh(cluster, box, topology);
    } else if (topology.intra == NcclLink::pci) {
        search_pcie(box, pcie_capacity(cluster, topology.cpu), topology);
    } else {
        box.nvlink = nvlink_capacity(cluster, topology.compute_capability, group.per_domain);
        search_nvlink(cluster, box, topology);
    }
    topology.channels = communicator_channels(topology);
    topology.nvls_channels = nvls_channels(topology);
    return topology;
}

}  // namespace foreshard
