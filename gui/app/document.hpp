#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "sim/engine/evaluate.hpp"
#include "sim/result/run.hpp"
#include "sim/spec/job_request.hpp"
#include "traces/read_search.hpp"

/// What a window has open: runs with what they were made from. No Qt here, so that all of it can run on any thread.
namespace foreshard::gui {

struct Document {
    std::string name;
    std::string source;                      ///< plan id or file that it was opened from; empty: made from flags
    JobRequest base;                         ///< the request as `source` says it
    std::optional<JobRequest> request;       ///< of simulated ones: can be edited
    std::unique_ptr<Evaluation> evaluation;  ///< of simulated ones
    Run run;
    std::vector<std::string> warnings;
};

/// What a file holds.
struct Opened {
    std::vector<Document> documents;
    std::optional<ReadSearch> search;
};

/// A simulated job, or why it cannot be.
struct Outcome {
    std::optional<Document> document;
    std::vector<BrokenRule> broken;  ///< rules that the plan breaks
    std::string flag;                ///< of `error`: the flag or file it is about; empty: unknown
    std::string error;
};

/// @throws InputError for bad input and broken rules; Stopped
Document simulateRequest(std::string name, const JobRequest& request, const std::stop_token& stop = {});

/// The same, with bad input and broken rules as values. One that was stopped is empty.
Outcome tryRequest(std::string name, const JobRequest& request, const std::stop_token& stop = {});

/// A plan of the catalogue by its id, or a job, report, search or trace file. A report's job is simulated again; what
/// differs from the report is a warning. A measured report stands beside its prediction.
/// @throws InputError, UnreadableFile; PlanBroken is an InputError too; Stopped
Opened openSource(const std::string& source, const std::stop_token& stop = {});

/// The plan's rules in one line, for messages.
std::string brokenText(const std::vector<BrokenRule>& broken);

/// What --view compare shows beside a lone run: the same plan as if no rank ever waited.
Document bubbleFree(const Document& document);

}  // namespace foreshard::gui
