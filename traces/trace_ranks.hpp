#pragma once

#include <map>
#include <string>
#include <vector>

#include "traces/trace_collector.hpp"

namespace foreshard {

enum class TraceFormat {
    ours,     ///< of this program: a process is a rank
    profile,  ///< of a profiler of GPUs (Kineto): the file is a rank, or each of its GPUs
    plain,    ///< anything else: a process is a rank
};

TraceFormat format_of(const CollectedTrace& trace);

/// A range ProfilerStep#N.
struct StepRange {
    Picoseconds begin = 0;
    Picoseconds end = 0;
};

/// The spans of one file, by rank.
struct TraceRanks {
    TraceFormat format = TraceFormat::plain;
    std::vector<SpanRank> ranks;
    std::vector<LooseSpan> spans;                   ///< `rank`: index into `ranks`; `name`, `comm`: of the file
    std::vector<std::vector<CounterPoint>> memory;  ///< like `ranks`
    std::vector<StepRange> steps;                   ///< of the file, in order of time
    std::map<std::string, std::size_t>
        left_by_category;          ///< events that are not drawn: of CPU threads and other ranges
    std::size_t host_kernels = 0;  ///< outside of all passes
    bool knows_passes = false;
    bool knows_rank = true;
};

TraceRanks ranks_of(const CollectedTrace& trace);

}  // namespace foreshard
