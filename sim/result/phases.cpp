#include "sim/result/phases.hpp"

#include <algorithm>

namespace foreshard {

namespace {

/// First start and last end of a row's passes in the window.
struct PassRange {
    Picoseconds begin = 0;
    Picoseconds end = 0;
};

bool is_pass(const SpanTable& spans, std::size_t span) {
    return spans.kind[span] < SpanKind::optimizer && spans.start[span] >= spans.window_begin &&
           spans.end[span] <= spans.window_end;
}

std::optional<PassRange> passes_of(const SpanTable& spans, const SpanRow& row) {
    std::optional<PassRange> range;
    for (std::size_t span = row.first; span < row.last; ++span) {
        if (!is_pass(spans, span)) continue;
        if (!range) range = PassRange{spans.start[span], spans.end[span]};
        range->end = std::max(range->end, spans.end[span]);
    }
    return range;
}

}  // namespace

std::optional<PipelinePhases> pipeline_phases(const SpanTable& spans) {
    std::optional<PipelinePhases> phases;
    for (const SpanRow& row : spans.rows) {
        if (row.lane != SpanLane::compute || row.overflow != 0) continue;
        const std::optional<PassRange> range = passes_of(spans, row);
        if (!range) continue;
        if (!phases) phases = PipelinePhases{range->begin, range->begin, range->end, range->end};
        phases->begin = std::min(phases->begin, range->begin);
        phases->steady_begin = std::max(phases->steady_begin, range->begin);
        phases->steady_end = std::min(phases->steady_end, range->end);
        phases->end = std::max(phases->end, range->end);
    }
    if (phases && phases->steady_end < phases->steady_begin) phases->steady_end = phases->steady_begin;
    return phases;
}

}  // namespace foreshard
