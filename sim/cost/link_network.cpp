#include "sim/cost/link_network.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace foreshard {

namespace {

/// A message inside a node pays less set-up than one through a NIC.
constexpr double local_p2p_latency_share = 0.7;

/// Latency of a collective over d domains, 40 us + 20 us log2 d: 60 us measured for TP 16 over two nodes, and the
/// 30 us + 20 us log2 D of data parallel groups with one member a node.
constexpr double across_base_s = 40e-6;
constexpr double across_per_doubling_s = 20e-6;

/// Steps of a ring, each paying the link's latency once; for boxes without measured fits. Small-message times of
/// measured boxes (15-22 us over 8 ranks) correspond to about 1 us a step.
constexpr double ring_step_s = 1.2e-6;
constexpr double launch_s = 8e-6;

}  // namespace

double ring_factor(CollectiveKind kind, int ranks) {
    if (kind == CollectiveKind::send_recv) return 1.0;
    // A pipelined chain: every member passes the whole message on once.
    if (kind == CollectiveKind::broadcast || kind == CollectiveKind::reduce) return 1.0;
    const double share = static_cast<double>(ranks - 1) / ranks;
    return kind == CollectiveKind::all_reduce ? 2.0 * share : share;
}

const CollectiveFit* nearest_fit(const ClusterSpec& cluster, CollectiveKind kind, int ranks) {
    const CollectiveFit* best = nullptr;
    double best_distance = 0.0;
    for (const CollectiveFit& fit : cluster.fits) {
        if (fit.kind != kind) continue;
        const double distance = std::abs(std::log2(static_cast<double>(fit.ranks) / ranks));
        if (best != nullptr && distance >= best_distance) continue;
        best = &fit;
        best_distance = distance;
    }
    return best;
}

LinkNetwork::LinkNetwork(const ClusterSpec& cluster, const SoftwareProfile& software)
    : cluster_(cluster), p2p_latency_(software.numbers.p2p_latency) {
    if (!cluster.inter_node) return;
    network_ = cluster.inter_node->bandwidth * software.numbers.network_bandwidth_ratio;
    // A single stream does not fill the link better than the link's own speed, whatever the profile's ratios.
    const double ratio = software.numbers.network_bandwidth_ratio * software.numbers.p2p_bandwidth_ratio;
    p2p_network_ = cluster.inter_node->bandwidth * std::min(ratio, 1.0);
}

BytesPerSecond LinkNetwork::ring_bandwidth(CollectiveKind kind, int ranks) const {
    const CollectiveFit* fit = nearest_fit(cluster_, kind, ranks);
    return fit != nullptr ? fit->bandwidth : cluster_.intra_node.bandwidth * ring_share_of_link;
}

CommTime LinkNetwork::inside(CollectiveKind kind, Bytes message, int ranks) const {
    const double factor = ring_factor(kind, ranks);
    CommTime time;
    if (const CollectiveFit* fit = nearest_fit(cluster_, kind, ranks)) {
        time.wire = message * factor / fit->bandwidth;
        time.busy = fit->base + Seconds(fit->sqrt_term * std::sqrt(message.value)) + time.wire;
        time.limit =
            fmt::format("{} fit of {} ranks, {:.0f} GB/s", cluster_.fabric_id, fit->ranks, fit->bandwidth.value / 1e9);
        return time;
    }
    const double steps = factor * ranks;
    time.wire = message * factor / ring_bandwidth(kind, ranks);
    time.busy = Seconds(launch_s + ring_step_s * steps) + time.wire;
    time.limit =
        fmt::format("ring over {}, {:.0f} GB/s", cluster_.intra_node.kind, ring_bandwidth(kind, ranks).value / 1e9);
    return time;
}

/// A ring through all members leaves each domain through the NICs of its members; every step moves at the slower of
/// the two rates. An all-to-all sends the share for other domains through one NIC.
CommTime LinkNetwork::across(CollectiveKind kind, Bytes message, const GroupPlacement& group) const {
    const Seconds latency(across_base_s + across_per_doubling_s * std::log2(static_cast<double>(group.domains)));
    CommTime time;
    if (kind == CollectiveKind::all_to_all) {
        const double outside = static_cast<double>(group.size - group.per_domain) / group.size;
        time.wire = message * outside / network_;
        time.busy = latency + time.wire;
        time.limit = fmt::format("NIC, {:.1f} GB/s", network_.value / 1e9);
        return time;
    }
    const BytesPerSecond nics = network_ * group.per_domain;
    const BytesPerSecond ring = ring_bandwidth(kind, group.per_domain);
    const bool by_nic = group.per_domain == 1 || nics < ring;
    const BytesPerSecond rate = by_nic ? nics : ring;
    time.wire = message * ring_factor(kind, group.size) / rate;
    time.busy = latency + time.wire;
    time.limit =
        fmt::format("ring over {} domains, {} {:.1f} GB/s", group.domains, by_nic ? "NICs" : "links", rate.value / 1e9);
    return time;
}

CommTime LinkNetwork::collective(CollectiveKind kind, Bytes message, const GroupPlacement& group) const {
    if (group.size <= 1) return {};
    return group.domains == 1 ? inside(kind, message, group.size) : across(kind, message, group);
}

CommTime LinkNetwork::send_recv(Bytes message, bool same_domain) const {
    CommTime time;
    if (same_domain) {
        const BytesPerSecond rate = cluster_.intra_node.bandwidth * ring_share_of_link;
        time.busy = time.wire = message / rate;
        time.latency = p2p_latency_ * local_p2p_latency_share;
        time.limit = fmt::format("{}, {:.0f} GB/s", cluster_.intra_node.kind, rate.value / 1e9);
        return time;
    }
    time.busy = time.wire = message / p2p_network_;
    time.latency = p2p_latency_;
    time.limit = fmt::format("NIC, {:.1f} GB/s", p2p_network_.value / 1e9);
    return time;
}

}  // namespace foreshard
