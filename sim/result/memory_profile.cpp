#include "sim/result/memory_profile.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace foreshard {

namespace {

/// A change of what is held between tasks, or of the saved tensors of a stage that are on the device.
struct HeldChange {
    Picoseconds time = 0;
    ByteCount bytes = 0;     ///< negative: freed
    int stage = -1;          ///< of saved tensors that go to the host or come back
    ByteCount gathered = 0;  ///< of those bytes: gathered parameters and gradients on their way
};

using Changes = std::vector<std::vector<HeldChange>>;  ///< per rank

bool in_last_step(const TaskGraph& graph, std::int32_t task) {
    return graph.asynchronous || graph.tasks[static_cast<std::size_t>(task)].step + 1 == graph.steps;
}

void add_holdings(const TaskGraph& graph, const BufferPlan& buffers, const Timeline& timeline, Changes& changes) {
    for (const Holding& holding : buffers.holdings) {
        if (!in_last_step(graph, holding.from)) continue;
        const auto from = static_cast<std::size_t>(holding.from);
        const auto to = static_cast<std::size_t>(holding.to);
        const Picoseconds begin = holding.from_end ? timeline.end[from] : timeline.start[from];
        const Picoseconds end = holding.until_start ? timeline.start[to] : timeline.end[to];
        auto& mine = changes[static_cast<std::size_t>(graph.rank_of(holding.from))];
        const ByteCount gathered = holding.kind == HoldingKind::message ? 0 : holding.bytes;
        mine.push_back({begin, holding.bytes, -1, gathered});
        mine.push_back({std::max(begin, end), -holding.bytes, -1, -gathered});
    }
}

void add_offloaded(const TaskGraph& graph, const Timeline& timeline, Changes& changes) {
    for (const OffloadedTensors& away : graph.offloaded) {
        if (!in_last_step(graph, away.offload)) continue;
        auto& mine = changes[static_cast<std::size_t>(graph.rank_of(away.offload))];
        mine.push_back({timeline.end[static_cast<std::size_t>(away.offload)], -away.bytes, away.stage});
        mine.push_back({timeline.start[static_cast<std::size_t>(away.reload)], away.bytes, away.stage});
    }
}

/// Freed before allocated at the same instant, so that a buffer that replaces another does not count twice.
Changes held_changes(const TaskGraph& graph, const BufferPlan& buffers, const Timeline& timeline) {
    Changes changes(static_cast<std::size_t>(graph.ranks));
    add_holdings(graph, buffers, timeline, changes);
    add_offloaded(graph, timeline, changes);
    for (std::vector<HeldChange>& mine : changes) {
        std::sort(mine.begin(), mine.end(), [](const HeldChange& a, const HeldChange& b) {
            return std::tie(a.time, a.bytes, a.stage) < std::tie(b.time, b.bytes, b.stage);
        });
    }
    return changes;
}

bool same_action(const Task& a, const Task& b) {
    return a.kind == TaskKind::pass && b.kind == TaskKind::pass && a.stage == b.stage && a.microbatch == b.microbatch &&
           a.pass == b.pass && a.step == b.step;
}

class RankProfile {
public:
    RankProfile(const TaskGraph& graph, const BufferPlan& buffers, const Timeline& timeline, int rank,
                std::vector<HeldChange> changes)
        : graph_(graph),
          buffers_(buffers),
          timeline_(timeline),
          changes_(std::move(changes)),
          in_flight_(graph.stages.size(), 0),
          saved_of_(graph.stages.size(), 0) {
        memory_.states = buffers.states[static_cast<std::size_t>(rank)];
        memory_.runtime = buffers.runtime_bytes();
    }

    RankMemory walk(const Stream& stream) {
        bool first = true;
        for (std::int32_t id = stream.first; id < stream.last; ++id) {
            const Task& task = graph_.tasks[static_cast<std::size_t>(id)];
            // Without a flush, tensors of earlier steps are held as well.
            if (task.step != graph_.window_step && !graph_.asynchronous) continue;
            // Where steps overlap, a rank starts the last one before the window does.
            const Picoseconds start = timeline_.start[static_cast<std::size_t>(id)];
            if (first) note(std::min(timeline_.window_start, start), 0, -1, 0);
            first = false;
            if (task.kind == TaskKind::pass) pass(stream, id);
            if (task.kind == TaskKind::optimizer) optimizer(id);
        }
        return std::move(memory_);
    }

private:
    void pass(const Stream& stream, std::int32_t id);
    void optimizer(std::int32_t id);
    void note(Picoseconds time, ByteCount working, std::int32_t task, ByteCount extra_states);
    void hold_until(Picoseconds time);
    void change(const HeldChange& held);
    void point(Picoseconds time);

    const TaskGraph& graph_;
    const BufferPlan& buffers_;
    const Timeline& timeline_;
    std::vector<HeldChange> changes_;
    std::size_t next_change_ = 0;
    RankMemory memory_;
    ByteCount saved_ = 0;
    ByteCount held_ = 0;      ///< gathered parameters, gradients on their way, messages
    ByteCount gathered_ = 0;  ///< of those: not messages
    ByteCount working_ = 0;   ///< of the task at hand
    ByteCount away_ = 0;      ///< saved tensors on the host
    std::int32_t task_ = -1;
    std::vector<int> in_flight_;       ///< micro-batches per stage
    std::vector<ByteCount> saved_of_;  ///< their saved tensors
};

/// The live sets are copied at each new maximum only, of which there are few.
void RankProfile::point(Picoseconds time) {
    const ByteCount buffers = buffers_.workspace_bytes() + held_ + working_;
    memory_.points.push_back({time, saved_, buffers});
    const ByteCount total = memory_.states.total() + saved_ + buffers;
    if (total <= memory_.peak) return;
    memory_.peak = total;
    memory_.activations = saved_;
    memory_.buffers = buffers;
    memory_.gathered = gathered_;
    memory_.peak_time = time;
    memory_.peak_task = task_;
    memory_.live.clear();
    for (std::size_t s = 0; s < in_flight_.size(); ++s) {
        if (in_flight_[s] == 0) continue;
        memory_.live.push_back({static_cast<int>(s), in_flight_[s], saved_of_[s]});
    }
}

void RankProfile::change(const HeldChange& held) {
    if (held.stage < 0) {
        held_ += held.bytes;
        gathered_ += held.gathered;
        return;
    }
    saved_ += held.bytes;
    saved_of_[static_cast<std::size_t>(held.stage)] += held.bytes;
    away_ -= held.bytes;
    memory_.offloaded = std::max(memory_.offloaded, away_);
}

/// Changes strictly before `time` happen while the task at hand works.
void RankProfile::hold_until(Picoseconds time) {
    while (next_change_ < changes_.size() && changes_[next_change_].time < time) {
        const Picoseconds at = changes_[next_change_].time;
        for (; next_change_ < changes_.size() && changes_[next_change_].time == at; ++next_change_) {
            change(changes_[next_change_]);
        }
        point(at);
    }
}

void RankProfile::note(Picoseconds time, ByteCount working, std::int32_t task, ByteCount extra_states) {
    hold_until(time);
    for (; next_change_ < changes_.size() && changes_[next_change_].time == time; ++next_change_) {
        change(changes_[next_change_]);
    }
    working_ = working + extra_states;
    task_ = task;
    point(time);
}

void RankProfile::pass(const Stream& stream, std::int32_t id) {
    const Task& task = graph_.tasks[static_cast<std::size_t>(id)];
    const PassBuffers& sizes = buffers_.works[static_cast<std::size_t>(task.work)];
    const auto stage = static_cast<std::size_t>(task.stage);
    const bool begins = id == stream.first || !same_action(graph_.tasks[static_cast<std::size_t>(id) - 1], task);
    const bool ends = id + 1 == stream.last || !same_action(task, graph_.tasks[static_cast<std::size_t>(id) + 1]);
    const Picoseconds start = timeline_.start[static_cast<std::size_t>(id)];
    hold_until(start);
    saved_ += sizes.acquired;
    saved_of_[stage] += sizes.acquired;
    if (task.pass == Pass::forward && begins) ++in_flight_[stage];
    note(start, sizes.transient, id, 0);
    const Picoseconds end = timeline_.end[static_cast<std::size_t>(id)];
    hold_until(end);
    saved_ -= sizes.released;
    saved_of_[stage] -= sizes.released;
    const bool finishes = task.pass == Pass::backward || task.pass == Pass::weight_grad;
    if (finishes && ends) --in_flight_[stage];
    if (sizes.tail > 0) note(end, sizes.tail, id, 0);
    note(end, 0, id, 0);
}

void RankProfile::optimizer(std::int32_t id) {
    note(timeline_.start[static_cast<std::size_t>(id)], 0, id, memory_.states.optimizer_step);
    note(timeline_.end[static_cast<std::size_t>(id)], 0, id, 0);
}

}  // namespace

std::string_view to_string(MemoryVerdict verdict) {
    switch (verdict) {
        case MemoryVerdict::fits:
            return "fits";
        case MemoryVerdict::tight:
            return "tight";
        case MemoryVerdict::does_not_fit:
            return "does-not-fit";
    }
    return "";
}

MemoryVerdict memory_verdict(const RankMemory& memory, ByteCount capacity) {
    if (memory.runtime + memory.peak > capacity) return MemoryVerdict::does_not_fit;
    return memory.runtime + memory.reserved > capacity ? MemoryVerdict::tight : MemoryVerdict::fits;
}

std::vector<RankMemory> memory_profiles(const TaskGraph& graph, const BufferPlan& buffers, const Timeline& timeline,
                                        ByteCount capacity) {
    std::vector<RankMemory> all;
    Changes changes = held_changes(graph, buffers, timeline);
    for (const Stream& stream : graph.streams) {
        if (stream.lane != Lane::compute) continue;
        RankMemory memory = RankProfile(graph, buffers, timeline, stream.rank,
                                        std::move(changes[static_cast<std::size_t>(stream.rank)]))
                                .walk(stream);
        memory.reserved = std::llround(buffers.reserved_ratio * static_cast<double>(memory.peak));
        memory.device = std::min(memory.runtime + memory.reserved, capacity);
        all.push_back(std::move(memory));
    }
    return all;
}

}  // namespace foreshard
