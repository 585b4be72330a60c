#include "sim/result/phases.hpp"

#include <algorithm>
#include <limits>

namespace foreshard {

namespace {

enum class Direction { forward, backward, other };

Direction direction_of(SpanKind kind) {
    if (kind == SpanKind::forward) return Direction::forward;
    const bool backward = kind == SpanKind::backward || kind == SpanKind::input_grad || kind == SpanKind::weight_grad ||
                          kind == SpanKind::recompute;
    return backward ? Direction::backward : Direction::other;
}

/// First start and last end of the passes of one direction.
struct PassRange {
    Picoseconds begin = std::numeric_limits<Picoseconds>::max();
    Picoseconds end = std::numeric_limits<Picoseconds>::min();
    bool empty() const { return end < begin; }
    void add(Picoseconds start, Picoseconds stop) {
        begin = std::min(begin, start);
        end = std::max(end, stop);
    }
};

}  // namespace

std::optional<PipelinePhases> pipeline_phases(const SpanTable& spans) {
    PassRange forward;
    PassRange backward;
    for (const SpanRow& row : spans.rows) {
        if (row.lane != SpanLane::compute) continue;
        for (std::size_t span = row.first; span < row.last; ++span) {
            if (spans.start[span] < spans.window_begin || spans.end[span] > spans.window_end) continue;
            const Direction direction = direction_of(spans.kind[span]);
            if (direction == Direction::forward) forward.add(spans.start[span], spans.end[span]);
            if (direction == Direction::backward) backward.add(spans.start[span], spans.end[span]);
        }
    }
    if (forward.empty() || backward.empty()) return std::nullopt;
    const Picoseconds begin = std::min(forward.begin, backward.begin);
    const Picoseconds steady_begin = std::max(begin, backward.begin);
    return PipelinePhases{begin, steady_begin, std::max(steady_begin, forward.end),
                          std::max(forward.end, backward.end)};
}

}  // namespace foreshard
