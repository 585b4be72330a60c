#include "sim/result/critical_path.hpp"

#include <algorithm>

namespace foreshard {

namespace {

class Trace {
public:
    Trace(const TaskGraph& graph, const Timeline& timeline) : graph_(graph), timeline_(timeline) {}

    std::vector<std::int32_t> back_from(std::int32_t last) const {
        std::vector<std::int32_t> path;
        for (std::int32_t at = last; at >= 0; at = before(at)) path.push_back(at);
        std::reverse(path.begin(), path.end());
        return path;
    }

private:
    Picoseconds start(std::int32_t id) const { return timeline_.start[static_cast<std::size_t>(id)]; }
    Picoseconds end(std::int32_t id) const { return timeline_.end[static_cast<std::size_t>(id)]; }

    /// The later of a and b to end; b wins ties, so that the own stream is preferred when asked for last.
    std::int32_t later(std::int32_t a, std::int32_t b) const { return a < 0 || end(b) >= end(a) ? b : a; }

    /// What one member of a comm waits for: its dependencies, then its stream.
    std::int32_t own_cause(std::int32_t id) const {
        const Task& task = graph_.tasks[static_cast<std::size_t>(id)];
        std::int32_t cause = -1;
        for (std::uint32_t d = 0; d < task.deps; ++d) cause = later(cause, graph_.deps[task.first_dep + d]);
        if (id > graph_.stream_of(id).first && end(id - 1) <= start(id)) cause = later(cause, id - 1);
        return cause;
    }

    /// What set the start of a task. A receive is named by its send, where the data come from.
    std::int32_t before(std::int32_t id) const {
        const Task& task = graph_.tasks[static_cast<std::size_t>(id)];
        std::int32_t cause = own_cause(id);
        if (task.comm >= 0) {
            for (const std::int32_t member : graph_.members_of(task.comm)) {
                const std::int32_t other = member != id ? own_cause(member) : -1;
                if (other >= 0) cause = later(cause, other);
            }
        }
        return cause < 0 ? -1 : sender(cause);
    }

    std::int32_t sender(std::int32_t id) const {
        const Task& task = graph_.tasks[static_cast<std::size_t>(id)];
        return task.kind == TaskKind::recv ? graph_.members_of(task.comm)[0] : id;
    }

    const TaskGraph& graph_;
    const Timeline& timeline_;
};

bool joins(const PathSegment& segment, const Task& task, int rank) {
    return segment.rank == rank && segment.kind == task.kind && segment.pass == task.pass &&
           segment.stage == task.stage;
}

}  // namespace

std::vector<std::int32_t> critical_path(const TaskGraph& graph, const Timeline& timeline) {
    std::int32_t last = -1;
    for (std::size_t i = 0; i < graph.tasks.size(); ++i) {
        if (timeline.end[i] > timeline.window_end) continue;
        const auto id = static_cast<std::int32_t>(i);
        if (last < 0 || timeline.end[i] > timeline.end[static_cast<std::size_t>(last)] ||
            (timeline.end[i] == timeline.end[static_cast<std::size_t>(last)] && graph.tasks[i].comm < 0)) {
            last = id;
        }
    }
    std::vector<std::int32_t> path = Trace(graph, timeline).back_from(last);
    // Zero-length ends of steps say nothing.
    std::erase_if(path, [&](std::int32_t id) {
        const auto i = static_cast<std::size_t>(id);
        return timeline.end[i] == timeline.start[i] || timeline.end[i] <= timeline.window_start;
    });
    return path;
}

std::vector<PathSegment> path_segments(const TaskGraph& graph, const Timeline& timeline,
                                       const std::vector<std::int32_t>& path) {
    std::vector<PathSegment> segments;
    for (const std::int32_t id : path) {
        const auto i = static_cast<std::size_t>(id);
        const Task& task = graph.tasks[i];
        const int rank = graph.rank_of(id);
        if (segments.empty() || !joins(segments.back(), task, rank)) {
            segments.push_back({rank, task.kind, task.pass, task.stage, task.microbatch, task.microbatch, 0,
                                timeline.start[i], timeline.end[i]});
        }
        segments.back().last_microbatch = task.microbatch;
        segments.back().end = timeline.end[i];
        ++segments.back().tasks;
    }
    return segments;
}

}  // namespace foreshard
