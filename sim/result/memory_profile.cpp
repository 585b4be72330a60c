#include "sim/result/memory_profile.hpp"

#include <algorithm>
#include <cmath>

namespace foreshard {

namespace {

class RankProfile {
public:
    RankProfile(const TaskGraph& graph, const BufferPlan& buffers, const Timeline& timeline, int rank)
        : graph_(graph),
          buffers_(buffers),
          timeline_(timeline),
          in_flight_(graph.stages.size(), 0),
          held_(graph.stages.size(), 0) {
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
            if (first) note(std::min(timeline_.window_start, start), buffers_.workspace_bytes(), -1, 0);
            first = false;
            if (task.kind == TaskKind::pass) pass(id, id + 1 == stream.last ? nullptr : &task + 1);
            if (task.kind == TaskKind::optimizer) optimizer(id);
        }
        return std::move(memory_);
    }

private:
    void pass(std::int32_t id, const Task* next);
    void optimizer(std::int32_t id);
    void note(Picoseconds time, ByteCount working, std::int32_t task, ByteCount extra_states);

    const TaskGraph& graph_;
    const BufferPlan& buffers_;
    const Timeline& timeline_;
    RankMemory memory_;
    ByteCount saved_ = 0;
    std::vector<int> in_flight_;   ///< micro-batches per stage
    std::vector<ByteCount> held_;  ///< their saved tensors
};

/// The live sets are copied at each new maximum only, of which there are few.
void RankProfile::note(Picoseconds time, ByteCount working, std::int32_t task, ByteCount extra_states) {
    memory_.points.push_back({time, saved_, working + extra_states});
    const ByteCount total = memory_.states.total() + saved_ + working + extra_states;
    if (total <= memory_.peak) return;
    memory_.peak = total;
    memory_.activations = saved_;
    memory_.buffers = working + extra_states;
    memory_.peak_time = time;
    memory_.peak_task = task;
    memory_.live.clear();
    for (std::size_t s = 0; s < in_flight_.size(); ++s) {
        if (in_flight_[s] == 0) continue;
        memory_.live.push_back({static_cast<int>(s), in_flight_[s], held_[s]});
    }
}

void RankProfile::pass(std::int32_t id, const Task* next) {
    const Task& task = graph_.tasks[static_cast<std::size_t>(id)];
    const PassBuffers& sizes = buffers_.works[static_cast<std::size_t>(task.work)];
    const ByteCount workspace = buffers_.workspace_bytes();
    const auto stage = static_cast<std::size_t>(task.stage);
    saved_ += sizes.acquired;
    held_[stage] += sizes.acquired;
    if (task.pass == Pass::forward) ++in_flight_[stage];
    note(timeline_.start[static_cast<std::size_t>(id)], workspace + sizes.transient, id, 0);
    // A pass that is cut for gradient buckets gives its saved tensors back with its last part.
    const bool more = next != nullptr && next->kind == TaskKind::pass && next->stage == task.stage &&
                      next->microbatch == task.microbatch && next->pass == task.pass && next->step == task.step;
    const bool finishes = (task.pass == Pass::backward || task.pass == Pass::weight_grad) && !more;
    if (!more) {
        saved_ -= sizes.released;
        held_[stage] -= sizes.released;
    }
    if (finishes) --in_flight_[stage];
    const Picoseconds end = timeline_.end[static_cast<std::size_t>(id)];
    if (finishes && sizes.tail > 0) note(end, workspace + sizes.tail, id, 0);
    note(end, workspace, id, 0);
}

void RankProfile::optimizer(std::int32_t id) {
    const ByteCount workspace = buffers_.workspace_bytes();
    note(timeline_.start[static_cast<std::size_t>(id)], workspace, id, memory_.states.optimizer_step);
    note(timeline_.end[static_cast<std::size_t>(id)], workspace, id, 0);
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
    for (const Stream& stream : graph.streams) {
        if (stream.lane != Lane::compute) continue;
        RankMemory memory = RankProfile(graph, buffers, timeline, stream.rank).walk(stream);
        memory.reserved = std::llround(buffers.reserved_ratio * static_cast<double>(memory.peak));
        memory.device = std::min(memory.runtime + memory.reserved, capacity);
        all.push_back(std::move(memory));
    }
    return all;
}

}  // namespace foreshard
