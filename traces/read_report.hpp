#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/result/report.hpp"
#include "sim/result/run.hpp"
#include "sim/spec/job_request.hpp"

/// Reads reports (foreshard.report): of simulations, or measured.
namespace foreshard {

/// A task of a measured step, in the order of the task graph.
struct MeasuredTask {
    int pp_rank = 0;
    std::string stream;
    std::string task;
    int step = 0;
    Picoseconds start = 0;
    Picoseconds end = 0;
};

struct ReadReport {
    std::string name;                         ///< of the file
    std::string tool_version;                 ///< of the program that wrote it; empty: not said
    JobRequest job;                           ///< to simulate it again
    std::map<std::string, double> figures;    ///< as summary_figures names them, and those of `measured`: "measured.n"
    std::vector<RankReport> ranks;            ///< account and memory; no points over time
    std::vector<MeasuredTask> tasks;          ///< of a measured report; empty where it has no times of them
    std::vector<std::string> notes;           ///< warnings and assumptions of the report, and remarks on reading it
    RunSource source = RunSource::simulated;  ///< measured when the report has `measured`
};

/// @throws UnreadableFile when the file cannot be opened or is no JSON, InputError naming the JSON path of what is
/// wrong
ReadReport read_report(const std::string& path);

/// The same from text. @param name how messages call it
ReadReport parse_report(const std::string& name, const std::string& text);

/// A run without spans: figures, accounts and memory as the report has them, settings of its job.
/// @throws InputError when the report's job cannot be resolved
Run run_of(const ReadReport& report);

/// Figures of a new simulation of the report's job that differ from those in the report, a line each: what to warn of.
/// A measured report differs by nature: it gives none.
std::vector<std::string> mismatches(const ReadReport& report, const std::map<std::string, double>& simulated);

}  // namespace foreshard
