#pragma once

#include <vector>

#include "sim/cost/cost_model.hpp"
#include "sim/cost/network_model.hpp"
#include "sim/plan/op_graph.hpp"

/// Times of whole passes from the times of their ops.
namespace foreshard {

/// What a stretch of the compute stream is spent on. Communication is what is exposed inside the pass.
struct PassTime {
    Seconds compute;
    Seconds recompute;
    Seconds tp;
    Seconds cp;
    Seconds ep;
    Seconds host;
    Seconds memory;  ///< of compute and recompute: kernels bound by memory bandwidth
    Seconds nvlink;  ///< of tp, cp and ep: what shrinks as NVLink gets faster
    Seconds nic;     ///< of tp, cp and ep: what shrinks as NICs get faster
    Bytes tp_bytes;  ///< that a member sends in the exposed part of tp
    Bytes cp_bytes;
    Bytes ep_bytes;

    Seconds device() const { return compute + recompute + tp + cp + ep; }
    PassTime& operator+=(const PassTime& other);
    friend PassTime operator*(const PassTime& time, double times);
};

/// Passes of one repeat of a block. backward is not input_grad + weight_grad where the host limits it.
struct BlockTimes {
    PassTime forward;
    PassTime input_grad;
    PassTime weight_grad;
    PassTime backward;
};

/// Kernel launches and Python of one layer take the host at least this long; it overlaps with the device in the manner
/// of a power mean, (device^4 + host^4)^(1/4) (vTrain single-node runs).
Seconds with_host_floor(Seconds device, Seconds host);

/// Groups that collectives inside passes run over.
struct PassGroups {
    GroupPlacement tp;
    GroupPlacement cp;
    GroupPlacement ep;
};

/// By how much kernels of layers take longer beside the collectives of a vocabulary-parallel schedule, a share of their
/// time; 0 for other schedules.
double vocabulary_slowdown(const Job& job);

class PassTimer {
public:
    PassTimer(const Job& job, const CostModel& cost, const NetworkModel& network);
    /// @param groups where the groups of the job lie, as group_placement() has it
    PassTimer(const Job& job, const CostModel& cost, const NetworkModel& network, const PassGroups& groups)
        : job_(job), cost_(cost), network_(network), groups_(groups) {}

    BlockTimes time(const OpBlock& block) const;

    /// Exposed time of a collective of a pass, with the part of it that depends on links; and time of a kernel.
    struct Exposed {
        Seconds time;
        Seconds wire;
        double share = 1.0;  ///< of the collective
    };
    Exposed exposed(const Op& op, Seconds previous) const;
    Exposed exposed_in_tiles(const Op& op, const Op& gemm) const;
    OpTime kernel(const Op& op) const { return cost_.time(op); }
    /// Kernels of the block take so much longer (vocabulary_slowdown).
    double slowdown(const OpBlock& block) const;

private:
    PassTime sum(const std::vector<Op>& ops) const;
    const GroupPlacement& group(Axis axis) const;
    void add(const Op& op, const Exposed& comm, PassTime& total) const;
    void add_waiting(PassTime& total) const;
    void add_host(BlockTimes& times, const OpBlock& block) const;

    const Job& job_;
    const CostModel& cost_;
    const NetworkModel& network_;
    PassGroups groups_;
};

}  // namespace foreshard
