#include "traces/chrome_trace.hpp"

#include <algorithm>
#include <array>
#include <ostream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "traces/event_stream.hpp"
#include "traces/output_file.hpp"
#include "traces/trace_counters.hpp"
#include "traces/trace_lanes.hpp"
#include "traces/trace_provenance.hpp"

namespace foreshard {

namespace {

constexpr const char* collectives_note =
    "lane 'collectives inside passes': the sum of a pass's exposed tensor, context and expert parallel collectives, "
    "drawn behind its compute; in reality they lie between its kernels";

constexpr std::array<const char*, spent_count> part_names = {"compute_ms", "recompute_ms", "tp_ms", "cp_ms",
                                                             "ep_ms",      "host_ms",      "dp_ms", "offload_ms"};

bool is_collective(Spent spent) {
    return spent == Spent::exposed_tp || spent == Spent::exposed_cp || spent == Spent::exposed_ep;
}

std::string_view axis_of(Spent spent) {
    if (spent == Spent::exposed_tp) return "tp";
    return spent == Spent::exposed_cp ? "cp" : "ep";
}

bool goes_forward(const Task& task) {
    return task.pass == Pass::forward;
}

/// What a work's time is made of, as members of a JSON object, each with a comma in front.
std::string parts_text(const WorkDuration& work) {
    std::string text;
    for (std::size_t i = 0; i < work.spent.size(); ++i) {
        if (i > 0 && work.spent[i] == 0) continue;
        text += fmt::format(R"(,"{}":{})", part_names[i], Milliseconds{work.spent[i]});
    }
    return text;
}

class ChromeTrace {
public:
    ChromeTrace(const Evaluation& evaluation, const ChromeTraceOptions& options, const TextSink& sink)
        : evaluation_(evaluation),
          graph_(evaluation.graph),
          timeline_(evaluation.timeline),
          options_(options),
          lanes_(trace_lanes(evaluation.graph, evaluation.timeline)),
          events_(sink) {
        for (const WorkDuration& work : timeline_.works) parts_.push_back(parts_text(work));
        number_chunks();
    }

    /// Returns what the reader should be told.
    std::vector<std::string> write() {
        events_.write(R"({"traceEvents":[)");
        for (int rank = 0; rank < graph_.ranks; ++rank) add_process(rank);
        for (const TraceLane& lane : lanes_.lanes) add_lane(lane);
        for (std::int32_t id = 0; id < static_cast<std::int32_t>(graph_.tasks.size()); ++id) add_task(id);
        for (const RankReport& rank : evaluation_.report.ranks) add_memory_counters(rank, events_);
        std::vector<std::string> warnings = add_flows_if_few();
        events_.write("\n],\"displayTimeUnit\":\"ms\",\"otherData\":");
        events_.write(trace_provenance(evaluation_, notes(warnings)));
        events_.write("}\n");
        events_.flush();
        return warnings;
    }

private:
    void number_chunks();
    void add_process(int rank);
    void add_lane(const TraceLane& lane);
    void add_task(std::int32_t id);
    void add_compute(std::int32_t id, const Task& task);
    void add_collectives(std::int32_t id, const Task& task);
    void add_communication(std::int32_t id, const Task& task);
    void add_span(std::int32_t id, std::string_view category, const std::string& name, const std::string& args);
    std::string name_of(std::int32_t id, const Task& task) const;
    std::string args_of(const Task& task) const;
    std::vector<std::string> add_flows_if_few();
    std::int64_t find_flows();
    void add_flow(std::int32_t send);
    std::int32_t maker(const Task& send) const;
    std::int32_t user(const Task& recv, std::int32_t waiting) const;
    std::vector<std::string> notes(const std::vector<std::string>& warnings) const;
    Picoseconds length(std::int32_t id) const {
        return timeline_.end[static_cast<std::size_t>(id)] - timeline_.start[static_cast<std::size_t>(id)];
    }
    const Task& task_at(std::int32_t id) const { return graph_.tasks[static_cast<std::size_t>(id)]; }
    int lane_of(std::int32_t id) const { return lanes_.lane_of[static_cast<std::size_t>(id)]; }

    const Evaluation& evaluation_;
    const TaskGraph& graph_;
    const Timeline& timeline_;
    const ChromeTraceOptions& options_;
    TraceLanes lanes_;
    EventStream events_;
    std::vector<std::string> parts_;      ///< like TaskGraph::works
    std::vector<int> chunk_of_;           ///< [rank * stages + stage]
    std::vector<std::int32_t> consumer_;  ///< per receive: the pass that waits for it
};

void ChromeTrace::number_chunks() {
    const std::size_t stages = graph_.stages.size();
    chunk_of_.assign(static_cast<std::size_t>(graph_.ranks) * stages, 0);
    for (std::size_t rank = 0; rank < graph_.rank_stages.size(); ++rank) {
        int chunk = 0;
        for (const int stage : graph_.rank_stages[rank]) {
            chunk_of_[rank * stages + static_cast<std::size_t>(stage)] = chunk++;
        }
    }
}

void ChromeTrace::add_process(int rank) {
    std::vector<int> stages = graph_.rank_stages[static_cast<std::size_t>(rank)];
    std::erase_if(stages, [&](int stage) { return stage >= static_cast<int>(graph_.layout.size()); });
    const RankPlace& place = graph_.places[static_cast<std::size_t>(rank)];
    const std::string replica = place.replica >= 0 ? fmt::format(", dp rank {}", place.replica) : "";
    const std::string name = fmt::format("pp rank {}{} ({} {})", place.pp, replica,
                                         stages.size() == 1 ? "stage" : "stages", fmt::join(stages, ", "));
    events_.add(R"({{"ph":"M","pid":{},"tid":0,"name":"process_name","args":{{"name":"{}"}}}})", rank, name);
    events_.add(R"({{"ph":"M","pid":{},"tid":0,"name":"process_sort_index","args":{{"sort_index":{}}}}})", rank, rank);
}

void ChromeTrace::add_lane(const TraceLane& lane) {
    events_.add(R"({{"ph":"M","pid":{},"tid":{},"name":"thread_name","args":{{"name":"{}"}}}})", lane.rank, lane.lane,
                lane.name);
    events_.add(R"({{"ph":"M","pid":{},"tid":{},"name":"thread_sort_index","args":{{"sort_index":{}}}}})", lane.rank,
                lane.lane, lane.lane);
}

/// Perfetto colours by the name without its digits, so equal passes share a colour.
std::string ChromeTrace::name_of(std::int32_t id, const Task& task) const {
    switch (task.kind) {
        case TaskKind::pass: {
            if (is_vocabulary(task.pass)) {
                const char* kind = is_lookup(graph_, task) ? "lookup " : "";
                return fmt::format("{}{} mb{}", kind, letter(task.pass), task.microbatch);
            }
            const auto rank = static_cast<std::size_t>(graph_.rank_of(id));
            const int chunk = chunk_of_[rank * graph_.stages.size() + static_cast<std::size_t>(task.stage)];
            return fmt::format("{} mb{} c{}", letter(task.pass), task.microbatch, chunk);
        }
        case TaskKind::send:
        case TaskKind::recv:
            return fmt::format("{} mb{}", goes_forward(task) ? "activation" : "gradient", task.microbatch);
        case TaskKind::grad_reduce:
        case TaskKind::embedding_reduce:
        case TaskKind::optimizer:
        case TaskKind::param_gather:
        case TaskKind::vocabulary:
        case TaskKind::offload:
        case TaskKind::reload:
        case TaskKind::step_end:
            return task_name(graph_, id);
    }
    return "";
}

std::string ChromeTrace::args_of(const Task& task) const {
    if (task.microbatch < 0) {
        return task.stage < 0 ? fmt::format(R"("step":{})", task.step)
                              : fmt::format(R"("step":{},"stage":{})", task.step, task.stage);
    }
    const char pass = letter(task.pass);
    return fmt::format(R"("step":{},"key":"{}{}{}","stage":{},"pass":"{}","microbatch":{})", task.step, task.stage,
                       pass, task.microbatch, task.stage, pass, task.microbatch);
}

void ChromeTrace::add_task(std::int32_t id) {
    const Task& task = task_at(id);
    if (task.comm >= 0) return add_communication(id, task);
    const bool says_nothing = task.kind == TaskKind::step_end && length(id) == 0;
    if (says_nothing) return;
    add_compute(id, task);
    add_collectives(id, task);
}

void ChromeTrace::add_compute(std::int32_t id, const Task& task) {
    std::string args = args_of(task);
    if (task.kind == TaskKind::pass) {
        const auto rank = static_cast<std::size_t>(graph_.rank_of(id));
        const auto stage = static_cast<std::size_t>(task.stage);
        const Work& work = graph_.works[static_cast<std::size_t>(task.work)];
        args += fmt::format(R"(,"chunk":{},"first_unit":{},"units":{})", chunk_of_[rank * graph_.stages.size() + stage],
                            work.first_unit, work.units);
    }
    if (!parts_.empty()) args += parts_[static_cast<std::size_t>(task.work)];
    add_span(id, task.kind == TaskKind::pass ? "pass" : "step", name_of(id, task), args);
}

/// Parts of a pass follow each other in the order of Spent; they keep their shares where it took longer or shorter than
/// alone.
void ChromeTrace::add_collectives(std::int32_t id, const Task& task) {
    if (timeline_.works.empty()) return;
    const WorkDuration& work = timeline_.works[static_cast<std::size_t>(task.work)];
    Picoseconds start = timeline_.start[static_cast<std::size_t>(id)];
    for (int i = 0; i < spent_count; ++i) {
        const auto spent = static_cast<Spent>(i);
        const Picoseconds time = scaled(work.spent[static_cast<std::size_t>(i)], length(id), work.total());
        if (is_collective(spent) && time > 0) {
            events_.add(R"({{"ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"cat":"{}","name":"{} of {}","args":{{{}}}}})",
                        graph_.rank_of(id), collectives_lane, Microseconds{start}, Microseconds{time}, axis_of(spent),
                        axis_of(spent), name_of(id, task), args_of(task));
        }
        start += time;
    }
}

void ChromeTrace::add_communication(std::int32_t id, const Task& task) {
    const Comm& comm = graph_.comms[static_cast<std::size_t>(task.comm)];
    const CommClass& kind = graph_.comm_classes[static_cast<std::size_t>(comm.comm_class)];
    const std::string args = args_of(task) + fmt::format(R"(,"collective":"{}","message_bytes":{:.0f})",
                                                         to_string(kind.kind), kind.message.value);
    add_span(id, to_string(kind.axis), name_of(id, task), args);
}

void ChromeTrace::add_span(std::int32_t id, std::string_view category, const std::string& name,
                           const std::string& args) {
    const Microseconds start{timeline_.start[static_cast<std::size_t>(id)]};
    if (length(id) == 0) {
        events_.add(R"({{"ph":"i","s":"t","pid":{},"tid":{},"ts":{},"cat":"{}","name":"{}","args":{{{}}}}})",
                    graph_.rank_of(id), lane_of(id), start, category, name, args);
        return;
    }
    events_.add(R"({{"ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"cat":"{}","name":"{}","args":{{{}}}}})",
                graph_.rank_of(id), lane_of(id), start, Microseconds{length(id)}, category, name, args);
}

/// Returns the number of receives that a pass waits for.
std::int64_t ChromeTrace::find_flows() {
    consumer_.assign(graph_.tasks.size(), -1);
    std::int64_t flows = 0;
    for (std::size_t id = 0; id < graph_.tasks.size(); ++id) {
        const Task& task = graph_.tasks[id];
        for (std::uint32_t d = 0; d < task.deps; ++d) {
            const std::int32_t dep = graph_.deps[task.first_dep + d];
            if (task_at(dep).kind != TaskKind::recv) continue;
            consumer_[static_cast<std::size_t>(dep)] = static_cast<std::int32_t>(id);
            ++flows;
        }
    }
    return flows;
}

std::vector<std::string> ChromeTrace::add_flows_if_few() {
    const std::int64_t flow_events = 2 * find_flows();
    if (events_.count() + flow_events <= options_.most_events) {
        for (std::int32_t id = 0; id < static_cast<std::int32_t>(graph_.tasks.size()); ++id) {
            if (task_at(id).kind == TaskKind::send) add_flow(id);
        }
        return {};
    }
    std::vector<std::string> warnings = {
        fmt::format("the trace has more than {} events: arrows between ranks are left out", options_.most_events)};
    if (events_.count() > options_.most_events) {
        warnings.push_back(fmt::format(
            "the trace has {} events, more than chrome://tracing bears; Perfetto can open it", events_.count()));
    }
    return warnings;
}

/// Fused passes release their messages together, at the end of the last; this finds the one that made a message.
std::int32_t ChromeTrace::maker(const Task& send) const {
    const std::int32_t released = graph_.deps[send.first_dep];
    const int stage = goes_forward(send) ? send.stage - 1 : send.stage + 1;
    for (std::int32_t id = released; id >= graph_.stream_of(released).first; --id) {
        const Task& task = task_at(id);
        if (task.stage == stage && task.microbatch == send.microbatch && task.pass == send.pass) return id;
    }
    return released;
}

/// Fused passes wait for their messages together, in front of the first; this finds the one that uses a message.
std::int32_t ChromeTrace::user(const Task& recv, std::int32_t waiting) const {
    for (std::int32_t id = waiting; id < graph_.stream_of(waiting).last; ++id) {
        const Task& task = task_at(id);
        const bool same_way =
            task.pass != Pass::weight_grad && !is_vocabulary(task.pass) && goes_forward(task) == goes_forward(recv);
        if (task.stage == recv.stage && task.microbatch == recv.microbatch && same_way) return id;
    }
    return waiting;
}

/// An arrow from the pass that made a message to the pass that waits for it. Its ends lie 2 ns inside the passes, since
/// viewers round to nanoseconds and would else attach it to a neighbour.
void ChromeTrace::add_flow(std::int32_t send) {
    constexpr Picoseconds inside = 2000;
    const Task& task = task_at(send);
    const std::int32_t recv = graph_.members_of(task.comm)[1];
    const std::int32_t waiting = consumer_[static_cast<std::size_t>(recv)];
    if (task.deps == 0 || waiting < 0) return;
    const std::int32_t producer = maker(task);
    const std::int32_t consumer = user(task_at(recv), waiting);
    if (length(producer) == 0 || length(consumer) == 0) return;  // nothing to attach to
    const Picoseconds leaves =
        timeline_.end[static_cast<std::size_t>(producer)] - std::min(inside, (length(producer) + 1) / 2);
    const Picoseconds arrives =
        timeline_.start[static_cast<std::size_t>(consumer)] + std::min(inside, length(consumer) / 2);
    const std::string_view name = goes_forward(task) ? "activation" : "gradient";
    events_.add(R"({{"ph":"s","pid":{},"tid":{},"ts":{},"cat":"flow","name":"{}","id":{}}})", graph_.rank_of(producer),
                lane_of(producer), Microseconds{leaves}, name, task.comm);
    events_.add(R"({{"ph":"f","bp":"e","pid":{},"tid":{},"ts":{},"cat":"flow","name":"{}","id":{}}})",
                graph_.rank_of(consumer), lane_of(consumer), Microseconds{arrives}, name, task.comm);
}

std::vector<std::string> ChromeTrace::notes(const std::vector<std::string>& warnings) const {
    std::vector<std::string> all = warnings;
    const auto inside = [](const TraceLane& lane) { return lane.lane == collectives_lane; };
    if (std::any_of(lanes_.lanes.begin(), lanes_.lanes.end(), inside)) all.emplace_back(collectives_note);
    if (graph_.steps > 1)
        all.push_back(fmt::format("{} steps; figures and memory are of step {}", graph_.steps, graph_.window_step));
    return all;
}

}  // namespace

std::vector<std::string> write_chrome_trace(std::ostream& out, const Evaluation& evaluation,
                                            const ChromeTraceOptions& options) {
    const auto sink = [&out](std::string_view text) { out << text; };
    return ChromeTrace(evaluation, options, sink).write();
}

std::vector<std::string> write_chrome_trace(const std::string& path, const Evaluation& evaluation,
                                            const ChromeTraceOptions& options) {
    OutputFile file(path);
    const auto sink = [&file](std::string_view text) { file.write(text); };
    std::vector<std::string> warnings = ChromeTrace(evaluation, options, sink).write();
    file.close();
    return warnings;
}

}  // namespace foreshard
