#pragma once

#include <string>
#include <vector>

#include "sim/result/run.hpp"
#include "traces/trace_collector.hpp"

namespace foreshard {

/// A trace file, read.
struct TraceFile {
    std::string name;
    CollectedTrace trace;
};

/// One run of one or more files. What is not drawn, moved or guessed stands in Run::notes.
/// Precondition: `files` is not empty.
Run make_trace_run(const std::string& name, const std::vector<TraceFile>& files);

}  // namespace foreshard
