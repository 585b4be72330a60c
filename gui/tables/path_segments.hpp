#pragma once

#include <array>
#include <vector>

#include "gui/charts/table.hpp"
#include "sim/result/run.hpp"

/// The critical path in few lines.
namespace foreshard::gui {

/// Neighbours on the path of one rank, kind and stage.
struct PathPart {
    int rank = 0;  ///< index into the run's ranks
    SpanKind kind = SpanKind::other;
    int stage = -1;
    int firstMicrobatch = -1;
    int lastMicrobatch = -1;
    std::size_t firstSpan = 0;
    std::size_t spans = 0;
    Picoseconds begin = 0;
    Picoseconds end = 0;
};
std::vector<PathPart> pathParts(const Run& run);

/// Time on the path per kind, and what lies between its spans.
struct PathTotals {
    std::array<Picoseconds, span_kind_count> time{};
    Picoseconds between = 0;
    Picoseconds all = 0;
};
PathTotals pathTotals(const Run& run);

/// "12.9 s from end to end: backward 62 %, forward 31 %, ...; 48 changes of rank".
QString pathSentence(const Run& run);

/// A row per part.
Table pathTable(const Run& run);

}  // namespace foreshard::gui
