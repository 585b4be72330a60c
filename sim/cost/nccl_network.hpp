#pragma once

#include <functional>

#include "sim/cost/link_network.hpp"
#include "sim/cost/nccl_tuner.hpp"

namespace foreshard {

/// Collectives as NCCL would run them: its tuner names algorithm and protocol. Inside a domain the time is the
/// measured fit where the cluster has one; elsewhere it is the tuner's, with bandwidths scaled to what links and NICs
/// of this cluster carry. Time grows with the message and is never below what the NICs need.
/// Ranks on processors do not use NCCL: rings on the cluster's links there, where nothing was measured. A calibration's
/// messages and collectives come first wherever a group lies in one domain.
class NcclNetwork final : public NetworkModel {
public:
    /// Keeps a reference to the cluster.
    NcclNetwork(const ClusterSpec& cluster, const SoftwareProfile& software);
    /// With the job's calibration. Keeps references to the job.
    explicit NcclNetwork(const Job& job);

    CommTime collective(CollectiveKind kind, Bytes message, const GroupPlacement& group) const override;
    CommTime send_recv(Bytes message, bool same_domain) const override;

private:
    bool on_processors() const { return cluster_.device.architecture == processor_architecture; }
    CommTime fitted(CollectiveKind kind, Bytes message, const CollectiveFit& fit, const NcclTuner& tuner) const;
    CommTime tuned(CollectiveKind kind, Bytes message, const NcclTuner& tuner) const;
    CommTime across(CollectiveKind kind, Bytes message, const NcclTuner& tuner, int per_node) const;
    CommTime measured_message(Bytes message) const;
    CommTime by_table(CollectiveKind kind, Bytes message, int ranks, CommTime by_law,
                      const std::function<CommTime(Bytes)>& law) const;
    CommTime modelled(CollectiveKind kind, Bytes message, const GroupPlacement& group) const;
    BytesPerSecond link_rate(CollectiveKind kind, int ranks) const;
    std::string link_name() const;

    const ClusterSpec& cluster_;
    LinkNetwork links_;
    const Calibration* calibration_ = nullptr;
    BytesPerSecond network_;  ///< one way, per GPU, achieved
};

}  // namespace foreshard
