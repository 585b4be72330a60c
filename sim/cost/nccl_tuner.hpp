#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "sim/cost/nccl_graph.hpp"

/// NCCL's own performance model, by which it chooses an algorithm and a protocol for a collective.
namespace foreshard {

enum class NcclAlgorithm { ring, tree, nvls, nvls_tree, pat };
enum class NcclProtocol { ll, ll128, simple };

inline constexpr std::array nccl_algorithms = {NcclAlgorithm::ring, NcclAlgorithm::tree, NcclAlgorithm::nvls,
                                               NcclAlgorithm::nvls_tree, NcclAlgorithm::pat};
inline constexpr std::array nccl_protocols = {NcclProtocol::ll, NcclProtocol::ll128, NcclProtocol::simple};

/// As in NCCL's logs: "NVLSTree", "LL128".
std::string_view to_string(NcclAlgorithm algorithm);
std::string_view to_string(NcclProtocol protocol);

/// The two terms of the model. Bandwidth is message over time ("algbw").
struct NcclCost {
    Seconds latency;
    BytesPerSecond bandwidth;
};

struct NcclChoice {
    NcclAlgorithm algorithm = NcclAlgorithm::ring;
    NcclProtocol protocol = NcclProtocol::simple;
    Seconds time;
    BytesPerSecond algbw;  ///< message / time
    BytesPerSecond busbw;  ///< algbw times the ring's share of the message
};

/// All-reduce, all-gather and reduce-scatter of one communicator (NCCL 2.28.9 src/graph/tuning.cc, without CollNet).
/// Messages are sizes over all ranks, as everywhere. NCCL has no model of send/recv and all-to-all: precondition.
class NcclTuner {
public:
    explicit NcclTuner(const NcclTopology& topology) : topology_(topology) {}

    const NcclTopology& topology() const { return topology_; }

    /// Empty where NCCL does not offer the combination.
    std::optional<NcclCost> cost(CollectiveKind kind, NcclAlgorithm algorithm, NcclProtocol protocol) const;

    /// Latency of a message: the fixed one, or more where large rings fall behind their schedule.
    Seconds latency(CollectiveKind kind, NcclAlgorithm algorithm, NcclProtocol protocol, Bytes message) const;

    /// NCCL's estimate, the number by which it chooses. It is not monotone: tree corrections go in steps.
    std::optional<Seconds> time(CollectiveKind kind, NcclAlgorithm algorithm, NcclProtocol protocol,
                                Bytes message) const;

    /// Precondition: two ranks or more.
    NcclChoice choose(CollectiveKind kind, Bytes message) const;

private:
    bool available(CollectiveKind kind, NcclAlgorithm algorithm, NcclProtocol protocol) const;
    double bus_bandwidth(CollectiveKind kind, NcclAlgorithm algorithm, NcclProtocol protocol) const;
    double ring_bandwidth(NcclProtocol protocol) const;
    double tree_bandwidth(NcclProtocol protocol) const;
    double nvls_bandwidth(CollectiveKind kind, NcclAlgorithm algorithm) const;
    double fixed_latency(CollectiveKind kind, NcclAlgorithm algorithm, NcclProtocol protocol) const;
    double ring_latency(CollectiveKind kind, NcclProtocol protocol) const;

    NcclTopology topology_;
};

/// Share of a tree's bandwidth that an all-reduce of this size reaches, in steps of factors of two.
double nccl_tree_correction(NcclProtocol protocol, Bytes message);

/// The same without steps: log-linear between the middles of NCCL's size classes. message / correction increases.
double smooth_tree_correction(NcclProtocol protocol, Bytes message);

}  // namespace foreshard
