#pragma once

#include <vector>

#include "runtime/cuda/stream.hpp"
#include "runtime/time_axis.hpp"

namespace foreshard::runtime::cuda {

/// Times of points on streams, on the host's clock: events from a pool, read once all are done, and set against the
/// host's clock at the begin and the end of a run. Resolution is about half a microsecond; an event takes about one.
class EventTimes {
public:
    /// Both block until the stream is empty.
    void begin(const CudaStream& stream) { first_ = anchor(stream); }
    void end(const CudaStream& stream) { last_ = anchor(stream); }

    /// Inside a captured graph too, where the event becomes a part of it.
    void stamp(int index, const CudaStream& stream, bool captured);
    /// Precondition: the run has ended.
    std::vector<std::chrono::steady_clock::time_point> times(int count) const;

private:
    Anchor anchor(const CudaStream& stream);

    CudaEvent zero_{Timing::on};
    CudaEvent probe_{Timing::on};
    bool has_zero_ = false;
    Anchor first_;
    Anchor last_;
    std::vector<CudaEvent> events_;
};

}  // namespace foreshard::runtime::cuda
