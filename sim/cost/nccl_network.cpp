#include "sim/cost/nccl_network.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "sim/prefixes.hpp"
#include "sim/spec/calibration.hpp"

namespace foreshard {

namespace {

/// Small collectives take 1.4 times NCCL's own latency on A100 (measured with nccl-tests 512 B to 64 KiB, 2 to 8
/// ranks: 1.37 to 1.49); on H100, H200 and PCIe boxes NCCL is right on average. Only boxes without fits need it.
constexpr double latency_factor_before_hopper = 1.4;

/// Send/recv over NVLink is slow to reach its bandwidth: 19 us for 4 MB and 193 us for 64 MiB on H100 (Vidur's
/// profiles) are 5 us + 1.46 ns sqrt(bytes) + bytes / 381 GB/s.
constexpr double p2p_sqrt_term = 1.46e-9;

/// NCCL sends by LL up to 16 KiB a channel (src/enqueue.cc): 32 channels over NVLink, 2 a peer over the network.
constexpr int p2p_channels_local = 32;
constexpr int p2p_channels_network = 2;
constexpr double p2p_ll_local = p2p_channels_local * 16384.0;
constexpr double p2p_ll_network = p2p_channels_network * 16384.0;

/// Share of a message that has to leave each node, whatever the algorithm: other nodes' parts come in once, and for an
/// all-reduce the sums go out again.
double outside_share(CollectiveKind kind, int nodes) {
    return ring_factor(kind, nodes);
}

/// Scales NCCL's bandwidths to this cluster, and keeps them below what must pass the NICs.
struct Wire {
    double scale = 1.0;
    double latency_factor = 1.0;
    Seconds least;  ///< time that the message needs at best
};

struct Estimate {
    Seconds latency;
    Seconds transfer;
    Seconds total() const { return latency + transfer; }
};

Estimate estimate(const NcclTuner& tuner, CollectiveKind kind, NcclAlgorithm algorithm, NcclProtocol protocol,
                  const NcclCost& cost, Bytes message, const Wire& wire) {
    BytesPerSecond bandwidth = cost.bandwidth * wire.scale;
    if (algorithm == NcclAlgorithm::tree) bandwidth = bandwidth * smooth_tree_correction(protocol, message);
    return {tuner.latency(kind, algorithm, protocol, message) * wire.latency_factor,
            std::max(message / bandwidth, wire.least)};
}

/// The least time over all combinations. NCCL's choice comes from unscaled bandwidths, with steps at its switch
/// points; the least of increasing functions increases.
Estimate least_time(const NcclTuner& tuner, CollectiveKind kind, Bytes message, const Wire& wire) {
    Estimate best{Seconds(std::numeric_limits<double>::infinity()), {}};
    for (const NcclAlgorithm algorithm : nccl_algorithms) {
        for (const NcclProtocol protocol : nccl_protocols) {
            const auto cost = tuner.cost(kind, algorithm, protocol);
            if (!cost) continue;
            const Estimate found = estimate(tuner, kind, algorithm, protocol, *cost, message, wire);
            if (found.total() < best.total()) best = found;
        }
    }
    return best;
}

Seconds least_latency(const NcclTuner& tuner, CollectiveKind kind) {
    return least_time(tuner, kind, Bytes(0.0), {}).latency;
}

bool is_tuned(CollectiveKind kind) {
    return kind == CollectiveKind::all_reduce || kind == CollectiveKind::all_gather ||
           kind == CollectiveKind::reduce_scatter;
}

/// Thread blocks: one a channel, fewer for messages that would not fill them (NCCL 2.28.9 src/enqueue.cc: bytes a
/// thread 8 for LL and LL128, 64 for Simple; 512 threads with LL, 640 with LL128, 512 with Simple).
int fitting_blocks(NcclProtocol protocol, Bytes message, int channels) {
    double bytes = 512.0 * 64.0;
    if (protocol == NcclProtocol::ll) bytes = 512.0 * 8.0;
    if (protocol == NcclProtocol::ll128) bytes = 640.0 * 8.0;
    return static_cast<int>(std::clamp(std::ceil(message.value / bytes), 1.0, std::max(channels, 1) * 1.0));
}

int blocks_of(const NcclTuner& tuner, CollectiveKind kind, Bytes message) {
    const NcclChoice choice = tuner.choose(kind, message);
    const NcclTopology& topology = tuner.topology();
    const bool nvls = choice.algorithm == NcclAlgorithm::nvls || choice.algorithm == NcclAlgorithm::nvls_tree;
    return nvls ? topology.nvls_channels : fitting_blocks(choice.protocol, message, topology.channels);
}

/// "NVLS Simple, 16 channels"
std::string name_of(const NcclTuner& tuner, const NcclChoice& choice) {
    const NcclTopology& topology = tuner.topology();
    const bool nvls = choice.algorithm == NcclAlgorithm::nvls || choice.algorithm == NcclAlgorithm::nvls_tree;
    return fmt::format("{} {}, {} channels", to_string(choice.algorithm), to_string(choice.protocol),
                       nvls ? topology.nvls_channels : topology.channels);
}

/// "NVLink 120 GB/s", and what is reached where the algorithm or the protocol stays well below that.
std::string bandwidth_text(const std::string& link, BytesPerSecond rate, BytesPerSecond reached) {
    constexpr double well_below = 0.8;
    std::string text = fmt::format("{} {:.{}f} GB/s", link, rate.value / giga, rate.value < 100.0 * giga ? 1 : 0);
    if (reached < rate * well_below) text += fmt::format(", reaching {:.1f}", reached.value / giga);
    return text;
}

/// What bounds the time: its latency, or else `bandwidth`.
std::string bound_by(const CommTime& time, Seconds latency, const std::string& bandwidth) {
    if (latency * 2.0 > time.busy) return fmt::format("latency {:.0f} us", latency.value / micro);
    return bandwidth;
}

}  // namespace

NcclNetwork::NcclNetwork(const ClusterSpec& cluster, const SoftwareProfile& software)
    : cluster_(cluster), links_(cluster, software) {
    if (cluster.inter_node) network_ = cluster.inter_node->bandwidth * software.numbers.network_bandwidth_ratio;
}

NcclNetwork::NcclNetwork(const Job& job) : NcclNetwork(job.cluster, job.software) {
    calibration_ = job.calibration.get();
}

std::string NcclNetwork::link_name() const {
    if (cluster_.gpus_per_nvlink_domain <= 1) return "PCIe";
    return cluster_.device.architecture.starts_with("cdna") ? "xGMI" : "NVLink";
}

/// Bus bandwidth of a large collective inside one domain.
BytesPerSecond NcclNetwork::link_rate(CollectiveKind kind, int ranks) const {
    if (const CollectiveFit* fit = nearest_fit(cluster_, kind, ranks)) return fit->bandwidth;
    return nccl_topology(cluster_, {ranks, ranks, 1}).ring.total(1);
}

/// A fit of other group sizes is moved by NCCL's own latencies: a measured box of 4 says little of 72.
CommTime NcclNetwork::fitted(CollectiveKind kind, Bytes message, const CollectiveFit& fit,
                             const NcclTuner& tuner) const {
    const int ranks = tuner.topology().ranks;
    Seconds base = fit.base;
    if (fit.ranks != ranks) {
        const NcclTuner measured(nccl_topology(cluster_, {fit.ranks, fit.ranks, 1}));
        base = base * (least_latency(tuner, kind) / least_latency(measured, kind));
    }
    const Seconds latency = base + Seconds(fit.sqrt_term * std::sqrt(message.value));
    CommTime time;
    time.wire = message * ring_factor(kind, ranks) / fit.bandwidth;
    time.busy = latency + time.wire;
    time.blocks = blocks_of(tuner, kind, message);
    const std::string links = bandwidth_text(link_name(), fit.bandwidth, fit.bandwidth);
    time.limit = fmt::format("{}, {} ({} fit of {} ranks)", name_of(tuner, tuner.choose(kind, message)),
                             bound_by(time, latency, links), cluster_.fabric_id, fit.ranks);
    return time;
}

CommTime NcclNetwork::tuned(CollectiveKind kind, Bytes message, const NcclTuner& tuner) const {
    const NcclTopology& topology = tuner.topology();
    Wire wire;
    const bool slow_start = topology.compute_capability < 90 && topology.intra == NcclLink::nvlink;
    if (slow_start) wire.latency_factor = latency_factor_before_hopper;
    const Estimate found = least_time(tuner, kind, message, wire);
    CommTime time;
    time.busy = found.total();
    time.wire = found.transfer;
    time.blocks = blocks_of(tuner, kind, message);
    const BytesPerSecond reached = message * ring_factor(kind, topology.ranks) / found.transfer;
    const std::string links = bandwidth_text(link_name(), topology.ring.total(1), reached);
    time.limit =
        fmt::format("{}, {}", name_of(tuner, tuner.choose(kind, message)), bound_by(time, found.latency, links));
    return time;
}

/// Rings and trees leave each domain through the NICs of its members. The largest messages move at the slower of links
/// and NICs; NCCL's figures for other algorithms, protocols and sizes keep their ratio to that.
CommTime NcclNetwork::across(CollectiveKind kind, Bytes message, const NcclTuner& tuner, int per_node) const {
    const NcclTopology& topology = tuner.topology();
    const BytesPerSecond nics = network_ * per_node;
    assert(nics.value > 0.0);
    const BytesPerSecond links = per_node > 1 ? link_rate(kind, per_node) : nics;
    const BytesPerSecond rate = std::min(nics, links);
    Wire wire;
    wire.scale = rate / topology.ring.total(topology.nodes);
    wire.least = message * outside_share(kind, topology.nodes) / nics;
    const Estimate found = least_time(tuner, kind, message, wire);
    CommTime time;
    time.busy = found.total();
    time.wire = found.transfer;
    time.blocks = blocks_of(tuner, kind, message);
    const BytesPerSecond reached = message * ring_factor(kind, topology.ranks) / found.transfer;
    const std::string bound = bandwidth_text(links < nics ? link_name() : "NICs", rate, reached);
    time.limit = fmt::format("{} over {} nodes, {}", name_of(tuner, tuner.choose(kind, message)), topology.nodes,
                             bound_by(time, found.latency, bound));
    return time;
}

/// Where the calibration has a curve of this kind and number of ranks, its time; the part of the links stays in
/// proportion.
CommTime NcclNetwork::by_table(CollectiveKind kind, Bytes message, int ranks, CommTime by_law,
                               const std::function<CommTime(Bytes)>& law) const {
    const CommTable* table = calibration_ != nullptr ? find_table(*calibration_, kind, ranks) : nullptr;
    if (table == nullptr || !(message.value > 0.0)) return by_law;
    const Seconds measured =
        table_time(table->points, message.value, [&](double bytes) { return law(Bytes(bytes)).busy; });
    by_law.wire = by_law.wire * (measured / by_law.busy);
    by_law.busy = measured;
    by_law.limit = fmt::format("measured times of {} ({} ranks)", calibration_->id, ranks);
    return by_law;
}

CommTime NcclNetwork::collective(CollectiveKind kind, Bytes message, const GroupPlacement& group) const {
    if (group.size <= 1) return {};
    CommTime time = modelled(kind, message, group);
    if (group.domains > 1) return time;
    return by_table(kind, message, group.size, std::move(time),
                    [&](Bytes bytes) { return modelled(kind, bytes, group); });
}

CommTime NcclNetwork::modelled(CollectiveKind kind, Bytes message, const GroupPlacement& group) const {
    if (on_processors()) return links_.collective(kind, message, group);
    if (!is_tuned(kind)) {
        CommTime time = links_.collective(kind, message, group);
        const int channels = group.domains > 1 ? p2p_channels_network : p2p_channels_local;
        time.blocks = fitting_blocks(NcclProtocol::simple, message, channels);
        time.limit = (kind == CollectiveKind::all_to_all ? "pairwise sends, " : "chain, ") + time.limit;
        return time;
    }
    const NcclTuner tuner(nccl_topology(cluster_, group));
    if (group.domains > 1) return across(kind, message, tuner, group.per_domain);
    const CollectiveFit* fit = nearest_fit(cluster_, kind, group.size);
    return fit != nullptr ? fitted(kind, message, *fit, tuner) : tuned(kind, message, tuner);
}

CommTime NcclNetwork::measured_message(Bytes message) const {
    const MessageLaw& law = *calibration_->messages;
    CommTime time;
    time.wire = message / law.bandwidth;
    time.busy = law.base + time.wire;
    time.blocks = on_processors() ? 0 : fitting_blocks(NcclProtocol::simple, message, p2p_channels_local);
    time.limit = fmt::format("messages of {}, {}", calibration_->id,
                             bound_by(time, law.base, bandwidth_text("links", law.bandwidth, law.bandwidth)));
    return time;
}

CommTime NcclNetwork::send_recv(Bytes message, bool same_domain) const {
    if (same_domain && calibration_ != nullptr && calibration_->messages) {
        return by_table(CollectiveKind::send_recv, message, 2, measured_message(message),
                        [&](Bytes bytes) { return measured_message(bytes); });
    }
    if (on_processors()) return links_.send_recv(message, same_domain);
    CommTime time = links_.send_recv(message, same_domain);
    const bool nvlink = same_domain && cluster_.gpus_per_nvlink_domain > 1;
    if (nvlink) time.busy += Seconds(p2p_sqrt_term * std::sqrt(message.value));
    const bool ll = message.value <= (same_domain ? p2p_ll_local : p2p_ll_network);
    time.blocks = fitting_blocks(ll ? NcclProtocol::ll : NcclProtocol::simple, message,
                                 same_domain ? p2p_channels_local : p2p_channels_network);
    time.limit = fmt::format("send/recv {}, {}", ll ? "LL" : "Simple", time.limit);
    return time;
}

}  // namespace foreshard
