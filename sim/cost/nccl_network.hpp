#pragma once

#include "sim/cost/link_network.hpp"
#include "sim/cost/nccl_tuner.hpp"

namespace foreshard {

/// Collectives as NCCL would run them: its tuner names algorithm and protocol. Inside a domain the time is the
/// measured fit where the cluster has one; elsewhere it is the tuner's, with bandwidths scaled to what links and NICs
/// of this cluster carry. Time grows with the message and is never below what the NICs need.
class NcclNetwork final : public NetworkModel {
public:
    /// Keeps a reference to the cluster.
    NcclNetwork(const ClusterSpec& cluster, const SoftwareProfile& software);

    CommTime collective(CollectiveKind kind, Bytes message, const GroupPlacement& group) const override;
    CommTime send_recv(Bytes message, bool same_domain) const override;

private:
    CommTime fitted(CollectiveKind kind, Bytes message, const CollectiveFit& fit, const NcclTuner& tuner) const;
    CommTime tuned(CollectiveKind kind, Bytes message, const NcclTuner& tuner) const;
    CommTime across(CollectiveKind kind, Bytes message, const NcclTuner& tuner, int per_node) const;
    BytesPerSecond link_rate(CollectiveKind kind, int ranks) const;
    std::string link_name() const;

    const ClusterSpec& cluster_;
    LinkNetwork links_;
    BytesPerSecond network_;  ///< one way, per GPU, achieved
};

}  // namespace foreshard
