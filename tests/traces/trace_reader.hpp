#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "traces/chrome_trace.hpp"

namespace foreshard {

/// A complete or instant event.
struct Span {
    int pid = 0;
    int tid = 0;
    Picoseconds start = 0;
    Picoseconds end = 0;
    nlohmann::json event;
};

/// A written Chrome trace, read back without loss.
struct Trace {
    explicit Trace(const Evaluation& evaluation, const ChromeTraceOptions& options = {});

    std::vector<nlohmann::json> events(const std::string& phase) const;
    std::map<std::pair<int, int>, std::vector<Span>> lanes() const;  ///< by pid and tid, in order of time
    std::set<std::string> thread_names() const;

    std::string text;
    std::vector<std::string> warnings;
    nlohmann::json root;  ///< times in whole picoseconds
    std::vector<Span> spans;
};

/// Shows a collective of a pass, and no task of its own.
bool is_inside_a_pass(const Span& span);

}  // namespace foreshard
