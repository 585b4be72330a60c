#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/result/report.hpp"
#include "sim/result/spans.hpp"

/// A step that was simulated, measured or imported, with all that views show of it.
namespace foreshard {

enum class RunSource : std::uint8_t { simulated, measured, imported };
std::string_view to_string(RunSource source);

struct Run {
    std::string name;
    RunSource source = RunSource::simulated;
    SpanTable spans;
    std::vector<RankAccount> accounts;   ///< like spans.ranks; each sums to `step_time`
    std::vector<RankMemory> memory;      ///< like spans.ranks; empty: not known
    ByteCount memory_capacity = 0;       ///< 0: not known
    std::vector<NamedBytes> workspaces;  ///< of every rank, part of its memory's buffers; empty: not known
    std::vector<NamedBytes> runtime;     ///< of every rank, part of its memory's runtime
    std::vector<CommReport> communication;
    Picoseconds step_time = 0;
    std::map<std::string, double> figures;   ///< of the report's summary, by their key
    std::vector<std::size_t> critical_path;  ///< spans, first to last
    std::vector<std::string> settings;  ///< what was run, a line per fact ("tp 8": the name ends at the first space)
    std::vector<std::string> notes;     ///< assumptions and warnings
    std::string provenance;             ///< one line for the foot of a picture
};

/// @param name how the run is called in views, e.g. the file's name
Run make_run(std::string name, const Job& job, const TaskGraph& graph, const Timeline& timeline, const Report& report);

}  // namespace foreshard
