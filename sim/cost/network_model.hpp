#pragma once

#include <string>

#include "sim/plan/rank_grid.hpp"
#include "sim/spec/job.hpp"
#include "sim/units.hpp"

/// The seam between what is communicated and how long it takes on idle links.
namespace foreshard {

/// A communication occupies its stream for `busy` and is complete `latency` later.
struct CommTime {
    Seconds busy;
    Seconds latency;
    std::string limit;  ///< what bounds it, in words
    Seconds wire;       ///< part of `busy` that shrinks as links get faster
    int blocks = 0;     ///< thread blocks that a GPU runs it with, one an SM

    Seconds total() const { return busy + latency; }
};

class NetworkModel {
public:
    NetworkModel() = default;
    NetworkModel(const NetworkModel&) = delete;
    NetworkModel& operator=(const NetworkModel&) = delete;
    virtual ~NetworkModel() = default;

    /// @param message full size over all ranks: the buffer of an all-reduce, the gathered result of an all-gather
    virtual CommTime collective(CollectiveKind kind, Bytes message, const GroupPlacement& group) const = 0;

    /// One message between pipeline neighbours.
    virtual CommTime send_recv(Bytes message, bool same_domain) const = 0;
};

}  // namespace foreshard
