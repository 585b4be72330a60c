#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/spec/job_request.hpp"

/// Reads what a search over plans found (foreshard.search).
namespace foreshard {

/// One plan of a search.
struct SearchPlan {
    JobRequest request;                       ///< the search's job with this plan, ready to be resolved
    std::map<std::string, std::string> plan;  ///< as the file says it: "tp" -> "8", "schedule" -> "1f1b", "mbs" -> "2"
    std::map<std::string, double> figures;    ///< of its summary and for objectives, named as in the file
    bool fits = true;                         ///< into memory
    std::string infeasible;                   ///< why it cannot run; empty when it can
    std::optional<double> figure(const std::string& key) const;
};

/// Tensor- and pipeline-parallel degrees of which no plan can run.
struct RefusedDegrees {
    int tp = 1;
    int pp = 1;
    std::string reason;
};

/// A plan that differs from the best one in one axis.
struct SearchNeighbour {
    std::string axis;
    std::string from;
    std::string to;
    std::vector<std::string> follows;  ///< what changed with it: "dp 16"
    bool runs = true;
    std::string reason;  ///< why it does not run: the rule, or "memory"
    std::map<std::string, double>
        step_ms;  ///< its step minus the best one's by term, and "total"; empty: not simulated
    std::map<std::string, double> peak_bytes;  ///< the same of its peak memory
    std::optional<double> missing_bytes;
};

struct ReadSearch {
    std::string name;  ///< of the file
    std::string space;
    std::string objective;       ///< as the flag says it; empty: not said
    std::int64_t evaluated = 0;  ///< plans whose closed form was computed
    std::int64_t pruned = 0;
    std::int64_t simulated = 0;
    int threads = 0;
    std::optional<double> estimate_elapsed_s;
    std::optional<double> elapsed_s;
    bool complete = true;                            ///< all that could be among the best or on the front was simulated
    std::optional<double> gap_ratio;                 ///< no plan is better than the best one by a larger share
    std::vector<SearchPlan> plans;                   ///< best first, then those that are listed as infeasible
    std::map<std::string, std::int64_t> infeasible;  ///< reason: how many plans
    std::vector<RefusedDegrees> refused;             ///< with the commonest reason first
    std::vector<SearchNeighbour> neighbours;         ///< of the best plan
    std::vector<std::size_t>
        pareto;  ///< of the plans that fit, those that none beats in throughput and peak memory; by memory
};

/// @throws UnreadableFile when the file cannot be opened or is no JSON, InputError naming the JSON path of what is
/// wrong
ReadSearch read_search(const std::string& path);

/// The same from text. @param name how messages call it
ReadSearch parse_search(const std::string& name, const std::string& text);

}  // namespace foreshard
