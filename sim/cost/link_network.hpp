#pragma once

#include "sim/cost/network_model.hpp"

namespace foreshard {

/// Measured ring bandwidth is about 80 % of the one-way link figure (A100 235/300, H200 367/450 GB/s).
inline constexpr double ring_share_of_link = 0.8;

/// First-form network: measured three-parameter fits inside a domain, ring formulas on links between domains.
class LinkNetwork final : public NetworkModel {
public:
    LinkNetwork(const ClusterSpec& cluster, const SoftwareProfile& software);

    CommTime collective(CollectiveKind kind, Bytes message, const GroupPlacement& group) const override;
    CommTime send_recv(Bytes message, bool same_domain) const override;

private:
    CommTime inside(CollectiveKind kind, Bytes message, int ranks) const;
    CommTime across(CollectiveKind kind, Bytes message, const GroupPlacement& group) const;
    BytesPerSecond ring_bandwidth(CollectiveKind kind, int ranks) const;

    const ClusterSpec& cluster_;
    BytesPerSecond network_;  ///< one way, per GPU, achieved
    BytesPerSecond p2p_network_;
    Seconds p2p_latency_;
};

/// Share of a message that every ring member sends: 2(n-1)/n for all-reduce, (n-1)/n for the others.
double ring_factor(CollectiveKind kind, int ranks);

/// The measured fit whose number of ranks is closest, as a ratio; null when the cluster has none for this collective.
const CollectiveFit* nearest_fit(const ClusterSpec& cluster, CollectiveKind kind, int ranks);

}  // namespace foreshard
