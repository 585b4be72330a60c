#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/result/report.hpp"
#include "sim/result/run.hpp"
#include "sim/spec/job_request.hpp"

/// Reads reports (foreshard.report), written by `foreshard` or measured by `foreshard-run`.
namespace foreshard {

struct ReadReport {
    std::string name;  ///< of the file
    std::string schema_version;
    std::string tool_version;               ///< of the program that wrote it
    std::optional<JobRequest> job;          ///< to simulate it again; none when the report has no job
    std::map<std::string, double> figures;  ///< as summary_figures names them
    std::vector<RankReport> ranks;          ///< account and memory; no points over time
    std::vector<std::string> assumptions;
    std::vector<std::string> warnings;
    RunSource source = RunSource::simulated;  ///< measured when the report has `measured`
};

/// @throws UnreadableFile when the file cannot be opened or is no JSON, InputError naming the JSON path of what is
/// wrong
ReadReport read_report(const std::string& path);
ReadReport parse_report(const std::string& name, const std::string& text);

/// A run without spans: figures, accounts and memory as the report has them.
Run run_of(const ReadReport& report);

/// Figures of a new simulation that differ from the report's by more than its last digits, a line each: what to warn
/// of.
std::vector<std::string> mismatches(const ReadReport& report, const std::map<std::string, double>& simulated);

}  // namespace foreshard
