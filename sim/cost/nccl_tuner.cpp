#include "sim/cost/nccl_tuner.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "sim/cost/link_network.hpp"
#include "sim/cost/nccl_tables.hpp"
#include "sim/prefixes.hpp"

namespace foreshard {

namespace {

constexpr double smallest_corrected = 64.0;  // bytes

const nccl::Caps& caps_of(int capability) {
    if (capability >= 100) return nccl::blackwell_caps;
    if (capability >= 90) return nccl::hopper_caps;
    return capability >= 80 ? nccl::ampere_caps : nccl::volta_caps;
}

double at(const nccl::PerNodes& values, int nodes) {
    return values[static_cast<std::size_t>(std::min(nodes, 3) - 1)];
}

double at(const nccl::PerAlgorithm& table, NcclAlgorithm algorithm, NcclProtocol protocol) {
    return table[static_cast<std::size_t>(algorithm)][static_cast<std::size_t>(protocol)];
}

/// LL stores through the CPU's memory path across nodes, so NCCL looks at the CPU there.
double ll_cap(const NcclTopology& topology) {
    if (topology.nodes == 1) return at(caps_of(topology.compute_capability).ll, 1);
    return at((topology.cpu == NcclCpu::amd ? nccl::ampere_caps : nccl::volta_caps).ll, topology.nodes);
}

double nvls_efficiency(int capability) {
    if (capability >= 100) return nccl::nvls_efficiency_blackwell;
    return capability >= 90 ? nccl::nvls_efficiency_hopper : 0.0;
}

/// Steps of a ring, each moving 1/ranks of the message; NCCL counts a broadcast, a chain of slices, as `ranks`.
int ring_steps(CollectiveKind kind, int ranks) {
    if (kind == CollectiveKind::broadcast) return ranks;
    return (kind == CollectiveKind::all_reduce ? 2 : 1) * (ranks - 1);
}

}  // namespace

std::string_view to_string(NcclAlgorithm algorithm) {
    switch (algorithm) {
        case NcclAlgorithm::ring:
            return "Ring";
        case NcclAlgorithm::tree:
            return "Tree";
        case NcclAlgorithm::nvls:
            return "NVLS";
        case NcclAlgorithm::nvls_tree:
            return "NVLSTree";
        case NcclAlgorithm::pat:
            return "PAT";
    }
    return "";
}

std::string_view to_string(NcclProtocol protocol) {
    switch (protocol) {
        case NcclProtocol::ll:
            return "LL";
        case NcclProtocol::ll128:
            return "LL128";
        case NcclProtocol::simple:
            return "Simple";
    }
    return "";
}

double nccl_tree_correction(NcclProtocol protocol, Bytes message) {
    const nccl::TreeCorrection& table = nccl::tree_correction[static_cast<std::size_t>(protocol)];
    const double position = std::floor(std::log2(message.value / smallest_corrected));
    if (!(position >= 0.0) || position >= static_cast<double>(table.size())) return 1.0;
    return table[static_cast<std::size_t>(position)];
}

double smooth_tree_correction(NcclProtocol protocol, Bytes message) {
    const nccl::TreeCorrection& table = nccl::tree_correction[static_cast<std::size_t>(protocol)];
    const double last = static_cast<double>(table.size()) - 1.0;
    const double middle = std::log2(std::max(message.value, smallest_corrected) / smallest_corrected) - 0.5;
    const double position = std::clamp(middle, 0.0, last);
    const auto below = static_cast<std::size_t>(position);
    const std::size_t above = std::min(below + 1, table.size() - 1);
    const double part = position - std::floor(position);
    return table[below] * std::pow(table[above] / table[below], part);
}

bool NcclTuner::available(CollectiveKind kind, NcclAlgorithm algorithm, NcclProtocol protocol) const {
    // NCCL broadcasts by ring only (src/graph/tuning.cc).
    if (kind == CollectiveKind::broadcast && algorithm != NcclAlgorithm::ring) return false;
    const bool all_reduce = kind == CollectiveKind::all_reduce;
    const bool simple = protocol == NcclProtocol::simple;
    const bool nvls = topology_.nvls.channels >= 2 && simple;
    constexpr int most_ranks_nvls_gather = 8;
    // LL128 relies on 128-byte stores arriving whole: NVLink only.
    const bool ordered_stores = topology_.intra == NcclLink::nvlink || topology_.ranks_per_node() == 1;
    if (protocol == NcclProtocol::ll128 && !ordered_stores) return false;
    switch (algorithm) {
        case NcclAlgorithm::ring:
            return true;
        case NcclAlgorithm::tree:
            return all_reduce;
        case NcclAlgorithm::nvls:
            return nvls && topology_.nodes == 1 && (all_reduce || topology_.ranks <= most_ranks_nvls_gather);
        case NcclAlgorithm::nvls_tree:
            return nvls && topology_.nodes > 1 && all_reduce;
        case NcclAlgorithm::pat:
            return !all_reduce && simple && topology_.nodes == topology_.ranks;
    }
    return false;
}

double NcclTuner::ring_bandwidth(NcclProtocol protocol) const {
    const double bus = topology_.ring.total(topology_.nodes).value / giga;
    if (protocol == NcclProtocol::ll) return std::min(ll_cap(topology_), bus / 2.0);
    if (protocol == NcclProtocol::simple) return bus;
    const double cap = at(caps_of(topology_.compute_capability).ring_ll128, topology_.nodes);
    return std::min(0.92 * bus, topology_.ring.channels * cap);
}

double NcclTuner::tree_bandwidth(NcclProtocol protocol) const {
    const NcclGraph& graph = topology_.tree;
    const nccl::Caps& caps = caps_of(topology_.compute_capability);
    const double raw = graph.total(topology_.nodes).value / giga;
    double bus = std::min(0.92 * raw, graph.channels * at(caps.tree, topology_.nodes));
    if (protocol == NcclProtocol::ll) {
        bus = std::min(bus / 3.8, ll_cap(topology_));
    } else if (protocol == NcclProtocol::ll128) {
        const double share = topology_.nodes == 1 ? 7.0 / 9.0 : 120.0 / 128.0;
        bus = std::min(bus * share, graph.channels * at(caps.tree_ll128, topology_.nodes));
    }
    return graph.plain_tree ? bus * 0.85 : bus;
}

/// Every GPU reduces or broadcasts for all others in the switch; one channel's worth is spent on its own part.
double NcclTuner::nvls_bandwidth(CollectiveKind kind, NcclAlgorithm algorithm) const {
    const NcclGraph& graph = topology_.nvls;
    const bool tree = algorithm == NcclAlgorithm::nvls_tree;
    const double per_node = topology_.ranks_per_node();
    const double both_ways = kind == CollectiveKind::all_reduce ? 2.0 : (per_node - 1.0) / per_node;
    const double own_part = static_cast<double>(graph.channels - 1) / graph.channels;
    const double intra =
        graph.intra.value / giga * nvls_efficiency(topology_.compute_capability) * own_part * both_ways;
    const double inter = graph.inter.value / giga * (tree && topology_.nodes <= 2 ? 2.0 : 1.0);
    double speed = std::min(intra, inter);
    if (tree) speed = std::min(speed, at(caps_of(topology_.compute_capability).nvls_tree, topology_.nodes));
    return speed * graph.channels;
}

double NcclTuner::bus_bandwidth(CollectiveKind kind, NcclAlgorithm algorithm, NcclProtocol protocol) const {
    switch (algorithm) {
        case NcclAlgorithm::ring:
            return ring_bandwidth(protocol);
        case NcclAlgorithm::tree:
            return tree_bandwidth(protocol);
        case NcclAlgorithm::nvls:
        case NcclAlgorithm::nvls_tree:
            return nvls_bandwidth(kind, algorithm);
        case NcclAlgorithm::pat:
            return topology_.tree.total(topology_.nodes).value / giga * 0.75;
    }
    return 0.0;
}

double NcclTuner::ring_latency(CollectiveKind kind, NcclProtocol protocol) const {
    const NcclAlgorithm ring = NcclAlgorithm::ring;
    const bool nvlink = topology_.intra == NcclLink::nvlink;
    double intra = at(nvlink ? nccl::nvlink_latency : nccl::pci_latency, ring, protocol);
    int crossings = 0;
    if (topology_.nodes > 1) {
        double overhead = topology_.cpu == NcclCpu::amd ? nccl::net_overhead_amd : nccl::net_overhead_intel;
        if (protocol == NcclProtocol::simple) overhead *= nccl::net_overhead_simple;
        intra = std::max(intra, overhead);
        crossings = ring_steps(kind, topology_.nodes);
    }
    // With one rank a node nothing is left to pipeline inside it: NCCL then counts hops as a tree's.
    const NcclAlgorithm hop = topology_.ranks_per_node() == 1 ? NcclAlgorithm::tree : ring;
    const double inter = at(nccl::net_latency, hop, protocol);
    return (ring_steps(kind, topology_.ranks) - crossings) * intra + crossings * inter;
}

double NcclTuner::fixed_latency(CollectiveKind kind, NcclAlgorithm algorithm, NcclProtocol protocol) const {
    const bool nvlink = topology_.intra == NcclLink::nvlink;
    const double base = at(nccl::base_latency, algorithm, protocol);
    const double intra = at(nvlink ? nccl::nvlink_latency : nccl::pci_latency, algorithm, protocol);
    const NcclAlgorithm hop = topology_.ranks_per_node() == 1 ? NcclAlgorithm::tree : algorithm;
    const double inter = at(nccl::net_latency, hop, protocol);
    const double levels = std::log2(static_cast<double>(topology_.nodes));
    switch (algorithm) {
        case NcclAlgorithm::ring:
            return base + ring_latency(kind, protocol);
        case NcclAlgorithm::tree:
            return base + 2.0 * ((topology_.ranks_per_node() - 1) * intra + levels * inter);
        case NcclAlgorithm::nvls:
            return intra + (topology_.nodes > 1 ? inter : 0.0);
        case NcclAlgorithm::nvls_tree:
            return intra + 2.0 * levels * inter;
        case NcclAlgorithm::pat:
            return base + levels * inter / 3.5 + 2.8 * topology_.ranks;
    }
    return 0.0;
}

std::optional<NcclCost> NcclTuner::cost(CollectiveKind kind, NcclAlgorithm algorithm, NcclProtocol protocol) const {
    assert(kind != CollectiveKind::all_to_all && kind != CollectiveKind::send_recv);
    if (!available(kind, algorithm, protocol)) return std::nullopt;
    const double bus = bus_bandwidth(kind, algorithm, protocol);
    if (!(bus > 0.0)) return std::nullopt;
    double message_per_bus = 1.0;  // NCCL leaves all-gather and reduce-scatter unconverted unless by ring
    if (algorithm == NcclAlgorithm::tree) {
        message_per_bus = 0.5;
    } else if (algorithm == NcclAlgorithm::ring || kind == CollectiveKind::all_reduce) {
        message_per_bus = 1.0 / ring_factor(kind, topology_.ranks);
    }
    return NcclCost{Seconds(fixed_latency(kind, algorithm, protocol) * micro),
                    BytesPerSecond(bus * message_per_bus * giga)};
}

Seconds NcclTuner::latency(CollectiveKind kind, NcclAlgorithm algorithm, NcclProtocol protocol, Bytes message) const {
    const Seconds fixed(fixed_latency(kind, algorithm, protocol) * micro);
    const bool can_stall = algorithm == NcclAlgorithm::ring && protocol == NcclProtocol::simple &&
                           topology_.nodes > 1 && kind == CollectiveKind::all_reduce;
    constexpr double least_slice = 64.0;
    const double slice = std::floor(message.value / (topology_.channels * topology_.ranks));
    if (!can_stall || slice < least_slice) return fixed;
    return fixed * (topology_.compute_capability < 80 ? 1.9 : 1.4);
}

std::optional<Seconds> NcclTuner::time(CollectiveKind kind, NcclAlgorithm algorithm, NcclProtocol protocol,
                                       Bytes message) const {
    const std::optional<NcclCost> terms = cost(kind, algorithm, protocol);
    if (!terms) return std::nullopt;
    BytesPerSecond bandwidth = terms->bandwidth;
    if (algorithm == NcclAlgorithm::tree) bandwidth = bandwidth * nccl_tree_correction(protocol, message);
    return latency(kind, algorithm, protocol, message) + message / bandwidth;
}

NcclChoice NcclTuner::choose(CollectiveKind kind, Bytes message) const {
    assert(topology_.ranks > 1);
    std::optional<NcclChoice> best;
    for (const NcclAlgorithm algorithm : nccl_algorithms) {
        for (const NcclProtocol protocol : nccl_protocols) {
            const std::optional<Seconds> estimate = time(kind, algorithm, protocol, message);
            if (!estimate || (best && !(*estimate < best->time))) continue;
            best = NcclChoice{algorithm, protocol, *estimate, {}, {}};
        }
    }
    best->algbw = message / best->time;
    best->busbw = best->algbw * ring_factor(kind, topology_.ranks);
    return *best;
}

}  // namespace foreshard
