#include "cli/progress_line.hpp"

#include <fmt/format.h>

#include "sim/result/text_format.hpp"

namespace foreshard::cli {

void ProgressLine::show(const SearchProgress& progress) {
    const auto now = std::chrono::steady_clock::now();
    if (!terminal_ || now - last_ < std::chrono::milliseconds(100)) return;
    last_ = now;
    if (progress.phase != phase_) {
        phase_ = progress.phase;
        phase_start_ = now;
    }
    const double elapsed = std::chrono::duration<double>(now - phase_start_).count();
    std::string line = fmt::format("{} {:.0f} %", phase_, 100.0 * progress.done_ratio);
    if (progress.done_ratio > 0.02) {
        // Bounds get better while a search runs; sizes of a sweep take unlike times.
        line += fmt::format(", {:.0f} s to go{}", elapsed / progress.done_ratio - elapsed,
                            phase_ == "sweep" ? "" : " at most");
    }
    line += fmt::format(", {} bounded, {} simulated", progress.evaluated, progress.simulated);
    if (progress.best_ms) line += ", best " + milliseconds(*progress.best_ms);
    if (progress.gap_ratio)
        line += fmt::format(" (at most {:.2f} % from the best there is)", 100.0 * *progress.gap_ratio);
    fmt::print(stderr, "\r\x1b[K{}", line);
    std::fflush(stderr);
    shown_ = true;
}

ProgressLine::~ProgressLine() {
    if (shown_) fmt::print(stderr, "\r\x1b[K");
}

}  // namespace foreshard::cli
