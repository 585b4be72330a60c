#pragma once

#include <chrono>
#include <cstdio>
#include <string>

#include <unistd.h>

#include "sim/search/search.hpp"

namespace foreshard::cli {

/// How far a search is: one line on stderr that is written again and again, on terminals only.
class ProgressLine {
public:
    ProgressLine() = default;
    ProgressLine(const ProgressLine&) = delete;
    ProgressLine& operator=(const ProgressLine&) = delete;
    ~ProgressLine();  ///< clears it

    void show(const SearchProgress& progress);

private:
    bool terminal_ = isatty(STDERR_FILENO) == 1;
    bool shown_ = false;
    std::string phase_;
    std::chrono::steady_clock::time_point last_;
    std::chrono::steady_clock::time_point phase_start_;
};

}  // namespace foreshard::cli
