#include "traces/trace_collector.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "sim/error.hpp"
#include "sim/plan/work_duration.hpp"
#include "sim/stop.hpp"

namespace foreshard {

namespace {

std::int16_t small(std::int32_t value) {
    return value > std::numeric_limits<std::int16_t>::max() ? std::int16_t{-1} : static_cast<std::int16_t>(value);
}

class Collector {
public:
    Collector(CollectedTrace& trace, std::string file, std::size_t most_events)
        : trace_(trace), file_(std::move(file)), most_events_(most_events) {}

    void add(const TraceEvent& event);
    void close_all();

private:
    std::int32_t thread_of(const TraceEvent& event);
    std::int32_t process_of(const std::string& id);
    std::optional<Picoseconds> place(const TraceEvent& event);
    void add_metadata(const TraceEvent& event);
    void add_counter(const TraceEvent& event);
    void add_span(const TraceEvent& event);
    void open_span(const TraceEvent& event);
    void close_span(const TraceEvent& event);
    void store(const TraceEvent& event, Picoseconds start, Picoseconds duration);
    std::int32_t comm_of(const TraceEvent& event);

    CollectedTrace& trace_;
    std::string file_;
    std::size_t most_events_;
    Names thread_keys_;
    Names process_keys_;
    bool based_ = false;
};

void Collector::add(const TraceEvent& event) {
    switch (event.phase) {
        case 'X':
            return add_span(event);
        case 'B':
            return open_span(event);
        case 'E':
            return close_span(event);
        case 'M':
            return add_metadata(event);
        case 'C':
            return add_counter(event);
        case 'i':
        case 'I':
            // Tasks without length are instants in our traces.
            if (role_of(event, "").sort == TraceSort::ours) return add_span(event);
            ++trace_.counts.not_drawn;
            return;
        case '\0':
            return;  // what is left of a broken event
        default:
            ++trace_.counts.not_drawn;
    }
}

std::int32_t Collector::process_of(const std::string& id) {
    const std::int32_t process = process_keys_.number_of(id);
    if (static_cast<std::size_t>(process) == trace_.processes.size()) trace_.processes.push_back({id, "", -1, {}});
    return process;
}

std::int32_t Collector::thread_of(const TraceEvent& event) {
    const std::int32_t thread = thread_keys_.number_of(event.process + '\n' + event.thread);
    if (static_cast<std::size_t>(thread) == trace_.threads.size()) {
        trace_.threads.push_back({process_of(event.process), "", {}});
    }
    return thread;
}

/// Clocks that count from 1970 or from a boot start at the first event; small times stay what they are. Events more
/// than six hours from there have no place: sums over many rows stay in the range of picoseconds.
std::optional<Picoseconds> Collector::place(const TraceEvent& event) {
    constexpr double hour = 3.6e9;  // microseconds
    if (!event.has_time) return std::nullopt;
    const std::int64_t time = event.time.microseconds;
    if (!based_ && std::abs(static_cast<double>(time)) > hour) trace_.base_microseconds = time;
    based_ = true;
    const double away = static_cast<double>(time) - static_cast<double>(trace_.base_microseconds);
    if (std::abs(away) > 6.0 * hour) return std::nullopt;
    return (time - trace_.base_microseconds) * 1'000'000 + event.time.picoseconds;
}

void Collector::add_metadata(const TraceEvent& event) {
    if (event.name == "thread_name") {
        trace_.threads[static_cast<std::size_t>(thread_of(event))].name = event.label;
        return;
    }
    TraceProcess& process = trace_.processes[static_cast<std::size_t>(process_of(event.process))];
    if (event.name == "process_name") process.name = event.label;
    if (event.name == "process_sort_index") process.order = event.number;
}

void Collector::add_counter(const TraceEvent& event) {
    constexpr std::array<std::string_view, 3> ours = {"activations_bytes", "buffers_bytes", "allocated_bytes"};
    const auto found = std::find(ours.begin(), ours.end(), event.name);
    const std::optional<Picoseconds> time = place(event);
    ++trace_.counts.not_drawn;
    if (found == ours.end() || event.number < 0 || !time) return;
    TraceProcess& process = trace_.processes[static_cast<std::size_t>(process_of(event.process))];
    process.memory.push_back({*time, static_cast<int>(found - ours.begin()), event.number});
}

/// Spans of one communication have the same number in their group. A send and its receive have different names.
std::int32_t Collector::comm_of(const TraceEvent& event) {
    if (event.sequence < 0) return -1;
    const bool message = event.collective == "send" || event.collective == "recv";
    const std::string key = message ? fmt::format("{}/{} of {}", event.group_name, event.sequence, event.peer)
                                    : fmt::format("{}/{}/{}", event.group_name, event.collective, event.sequence);
    const std::int32_t comm = trace_.comms.number_of(key);
    if (static_cast<std::size_t>(comm) == trace_.peers.size()) trace_.peers.push_back(message ? event.peer : -1);
    return comm;
}

void Collector::store(const TraceEvent& event, Picoseconds start, Picoseconds duration) {
    if (trace_.events.size() >= most_events_) {
        throw UnreadableFile(file_, "", fmt::format("has more than the limit of {} events", most_events_));
    }
    const std::int32_t thread = thread_of(event);
    const TraceRole role = role_of(event, trace_.threads[static_cast<std::size_t>(thread)].name);
    StoredEvent stored;
    stored.start = start;
    stored.duration = duration;
    if (event.recompute > 0 && event.recompute < event.parts) {
        stored.recompute = std::min(scaled(event.recompute, duration, event.parts), duration);
    }
    stored.thread = thread;
    stored.name = trace_.names.number_of(role.name);
    stored.category = trace_.categories.number_of(event.category);
    stored.comm = comm_of(event);
    stored.microbatch = role.microbatch;
    stored.step = role.step;
    stored.stage = small(role.stage);
    stored.chunk = small(role.chunk);
    stored.lane = role.lane;
    stored.kind = role.kind;
    stored.sort = role.sort;
    stored.is_step = role.is_step;
    trace_.events.push_back(stored);
}

void Collector::add_span(const TraceEvent& event) {
    const std::optional<Picoseconds> start = place(event);
    if (!start) {
        ++trace_.counts.no_time;
        return;
    }
    if (event.phase == 'X' && !event.has_duration) ++trace_.counts.no_duration;
    if (event.duration < 0) ++trace_.counts.negative;
    constexpr Picoseconds longest = 21'600'000'000'000'000;  // six hours
    store(event, *start, std::clamp(event.duration, Picoseconds{0}, longest));
}

void Collector::open_span(const TraceEvent& event) {
    const std::optional<Picoseconds> start = place(event);
    if (!start) {
        ++trace_.counts.no_time;
        return;
    }
    store(event, *start, 0);
    trace_.threads[static_cast<std::size_t>(trace_.events.back().thread)].open.push_back(trace_.events.size() - 1);
}

void Collector::close_span(const TraceEvent& event) {
    const std::optional<Picoseconds> end = place(event);
    std::vector<std::size_t>& open = trace_.threads[static_cast<std::size_t>(thread_of(event))].open;
    if (open.empty() || !end) {
        ++trace_.counts.unopened;
        return;
    }
    StoredEvent& span = trace_.events[open.back()];
    open.pop_back();
    if (*end < span.start) ++trace_.counts.negative;
    span.duration = std::max(*end - span.start, Picoseconds{0});
}

/// What was never closed lasts to the end.
void Collector::close_all() {
    Picoseconds end = 0;
    for (const StoredEvent& event : trace_.events) end = std::max(end, event.start + event.duration);
    for (TraceThread& thread : trace_.threads) {
        trace_.counts.unclosed += thread.open.size();
        for (const std::size_t span : thread.open) {
            trace_.events[span].duration = std::max(end - trace_.events[span].start, Picoseconds{0});
        }
        thread.open.clear();
    }
}

}  // namespace

CollectedTrace collect_trace(TextSource& source, const TraceLimits& limits) {
    CollectedTrace trace;
    Collector collector(trace, source.name(), limits.most_events);
    trace.info = read_trace_events(source, limits.most_text, [&](const TraceEvent& event) {
        check_stop(limits.stop);
        collector.add(event);
    });
    if (!trace.info.is_trace) throw UnreadableFile(source.name(), "", "is no trace: it has no list traceEvents");
    collector.close_all();
    return trace;
}

}  // namespace foreshard
