#pragma once

#include <vector>

#include "sim/result/timeline.hpp"

namespace foreshard {

/// Tasks that set the step time, first to last: each starts when the one before it ends (or arrives), the last ends at
/// the end of the window. Sends and their receives stand once, as the send.
std::vector<std::int32_t> critical_path(const TaskGraph& graph, const Timeline& timeline);

/// The path in few lines: neighbours of one kind on one rank and stage joined.
struct PathSegment {
    int rank = 0;
    TaskKind kind = TaskKind::pass;
    Pass pass = Pass::forward;
    int stage = -1;
    int first_microbatch = -1;
    int last_microbatch = -1;
    int tasks = 0;
    Picoseconds start = 0;
    Picoseconds end = 0;
};
std::vector<PathSegment> path_segments(const TaskGraph& graph, const Timeline& timeline,
                                       const std::vector<std::int32_t>& path);

}  // namespace foreshard
