#include "runtime/cuda/event_times.hpp"

#include "runtime/cuda/check.hpp"

namespace foreshard::runtime::cuda {

/// Milliseconds are counted from an event of the run's begin: they are fp32, fine enough over seconds but not over
/// hours.
Anchor EventTimes::anchor(const CudaStream& stream) {
    constexpr int attempts = 5;
    std::vector<Anchor> anchors;
    anchors.reserve(attempts);
    const bool begins = !has_zero_;
    if (begins) {
        stream.record(zero_);
        zero_.synchronize();
    }
    has_zero_ = begins;  // the end of a run takes it away
    for (int i = 0; i < attempts; ++i) {
        stream.synchronize();
        const auto before = std::chrono::steady_clock::now();
        stream.record(probe_);
        probe_.synchronize();
        const auto after = std::chrono::steady_clock::now();
        anchors.push_back({milliseconds_between(zero_, probe_), before, after});
    }
    return best_anchor(anchors);
}

void EventTimes::stamp(int index, const CudaStream& stream, bool captured) {
    const auto place = static_cast<std::size_t>(index);
    while (events_.size() <= place) events_.emplace_back(Timing::on);
    if (captured) {
        check(cudaEventRecordWithFlags(events_[place].get(), stream.get(), cudaEventRecordExternal),
              "cudaEventRecordWithFlags");
    } else {
        stream.record(events_[place]);
    }
}

std::vector<std::chrono::steady_clock::time_point> EventTimes::times(int count) const {
    const TimeAxis axis(first_, last_);
    std::vector<std::chrono::steady_clock::time_point> result;
    result.reserve(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
        result.push_back(axis.at(milliseconds_between(zero_, events_[i])));
    }
    return result;
}

}  // namespace foreshard::runtime::cuda
