#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "sim/units.hpp"
#include "traces/text_source.hpp"

/// Events of a Chrome trace, one by one.
namespace foreshard {

/// A point in time that a double could not hold: profilers count microseconds since 1970.
struct TraceTime {
    std::int64_t microseconds = 0;
    std::int64_t picoseconds = 0;  ///< beyond, 0 to 999999
};

struct TraceEvent {
    char phase = '\0';
    std::string name;
    std::string category;
    std::string process;  ///< `pid` as it is written
    std::string thread;   ///< `tid` as it is written
    TraceTime time;
    Picoseconds duration = 0;
    bool has_time = false;
    bool has_duration = false;

    /// Arguments; -1 and empty: not said.
    std::int32_t step = -1;
    std::int32_t stage = -1;
    std::int32_t microbatch = -1;
    std::int32_t chunk = -1;
    std::int64_t number = -1;    ///< "bytes" of a counter, "sort_index" of metadata
    std::int64_t sequence = -1;  ///< "Seq" of a collective in its group
    std::int32_t peer = -1;      ///< "Src Rank" or "Dst Rank" of a message
    Picoseconds recompute = 0;   ///< "recompute_ms"
    Picoseconds parts = 0;       ///< all arguments that end in "_ms"
    std::string pass;            ///< "F", "B", "I", "W", "S", "T"
    std::string label;           ///< "name" of metadata
    std::string collective;      ///< "Collective name" or "collective"
    std::string group;           ///< "Process Group Description"
    std::string group_name;      ///< "Process Group Name"
};

/// What a trace says beside its events.
struct TraceInfo {
    std::map<std::string, std::string> facts;  ///< "otherData.tool", "distributedInfo.rank", "baseTimeNanoseconds" ...
    std::vector<std::string> notes;            ///< otherData's notes and assumptions
    std::size_t broken = 0;                    ///< events that are no JSON
    bool cut_short = false;                    ///< the text ends inside the list of events
    bool is_trace = false;                     ///< there was a list of events
};

/// Reads a trace once and calls `use` for every event; the event is valid during the call only.
/// @throws UnreadableFile when the file is damaged or too long
TraceInfo read_trace_events(TextSource& source, std::size_t most_text,
                            const std::function<void(const TraceEvent&)>& use);

/// A decimal number of microseconds; values outside +-9e18 microseconds and text that is no number give nothing.
bool parse_microseconds(std::string_view text, TraceTime& time);

}  // namespace foreshard
