#pragma once

#include <map>
#include <string>
#include <vector>

#include "traces/read_trace.hpp"
#include "traces/span_rows.hpp"
#include "traces/trace_events.hpp"
#include "traces/trace_roles.hpp"

/// From the events of one trace file to spans of ranks.
namespace foreshard {

/// A point of a memory counter of our traces.
struct CounterPoint {
    Picoseconds time = 0;
    int counter = 0;  ///< 0: activations, 1: buffers, 2: allocated
    ByteCount bytes = 0;
};

struct TraceProcess {
    std::string id;    ///< `pid`
    std::string name;  ///< of its metadata
    std::int64_t order = -1;
    std::vector<CounterPoint> memory;
};

struct TraceThread {
    std::int32_t process = 0;
    std::string name;
    std::vector<std::size_t> open;  ///< B events without their E yet
};

struct StoredEvent {
    Picoseconds start = 0;
    Picoseconds duration = 0;
    Picoseconds recompute = 0;  ///< its first part
    std::int32_t thread = 0;
    std::int32_t name = 0;
    std::int32_t category = 0;
    std::int32_t comm = -1;
    std::int32_t microbatch = -1;
    std::int32_t step = -1;
    std::int16_t stage = -1;
    std::int16_t chunk = -1;
    SpanLane lane = SpanLane::other;
    SpanKind kind = SpanKind::other;
    TraceSort sort = TraceSort::plain;
    bool is_step = false;
};

/// Oddities of a file, all told to the reader.
struct TraceCounts {
    std::size_t not_drawn = 0;  ///< instants, counters, flows: no spans by nature
    std::size_t no_time = 0;
    std::size_t no_duration = 0;
    std::size_t negative = 0;
    std::size_t unopened = 0;  ///< E without B
    std::size_t unclosed = 0;  ///< B without E
};

/// Everything that a file's events say, in the order of the file.
struct CollectedTrace {
    std::int64_t base_microseconds = 0;  ///< times are relative to it
    std::vector<StoredEvent> events;
    std::vector<TraceProcess> processes;
    std::vector<TraceThread> threads;
    Names names;
    Names categories;
    Names comms;                      ///< "group/collective/number" of collectives, "group/number" of messages
    std::vector<std::int32_t> peers;  ///< like `comms`: of a message the other rank; -1: none, or not said
    TraceCounts counts;
    TraceInfo info;
};

/// @throws UnreadableFile when there is no list of events, or the limits are exceeded; Stopped
CollectedTrace collect_trace(TextSource& source, const TraceLimits& limits);

}  // namespace foreshard
