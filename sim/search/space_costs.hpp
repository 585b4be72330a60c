#pragma once

#include <memory>
#include <vector>

#include "sim/cost/calibrated.hpp"
#include "sim/cost/nccl_network.hpp"
#include "sim/search/space.hpp"

/// Cost models of a search: the engine's own, with the job's calibration.
namespace foreshard {

/// Collectives and messages between tasks: who waits for one goes on a little after its end, where a calibration
/// measured that. Keeps a reference.
class TaskNetwork final : public NetworkModel {
public:
    TaskNetwork(const NetworkModel& network, Seconds wakeup) : network_(network), wakeup_(wakeup) {}

    CommTime collective(CollectiveKind kind, Bytes message, const GroupPlacement& group) const override {
        return woken(network_.collective(kind, message, group));
    }
    CommTime send_recv(Bytes message, bool same_domain) const override {
        return woken(network_.send_recv(message, same_domain));
    }

private:
    CommTime woken(CommTime time) const {
        time.latency += wakeup_;
        return time;
    }

    const NetworkModel& network_;
    Seconds wakeup_;
};

class SpaceCosts {
public:
    /// @throws InputError for a calibration that no bound holds for
    explicit SpaceCosts(const Space& space);

    /// Of kernels in a number format of the space. Never above the engine's: where ranks of a host slow each other
    /// down, one computes at a time.
    const CostModel& of(Precision precision) const;
    /// Of collectives inside passes.
    const NetworkModel& passes() const { return network_; }
    /// Of everything else.
    const NetworkModel& tasks() const { return tasks_; }

private:
    struct Format {
        Job job;
        CalibratedCost cost;
        explicit Format(Job of) : job(std::move(of)), cost(job) {}
    };

    Job job_;
    NcclNetwork network_;
    TaskNetwork tasks_;
    std::vector<std::unique_ptr<Format>> formats_;
};

}  // namespace foreshard
