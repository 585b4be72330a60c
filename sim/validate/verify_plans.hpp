#pragma once

#include <string>
#include <string_view>
#include <vector>

/// The plans that `foreshard verify` runs.
namespace foreshard {

struct VerifyPlan {
    std::string id;           ///< flags without dashes
    std::string flags;        ///< job flags as typed
    std::string comm;         ///< --comm of foreshard-run
    bool calibrates = false;  ///< laws are fitted to its measurement
};

enum class VerifyEffort { quick, full };

/// Steps and rounds of an effort: the runs of all plans are made `rounds` times over, every other time backwards.
struct VerifyPace {
    int rounds = 1;
    int warmup = 1;
    int iterations = 1;
};
VerifyPace pace_of(VerifyEffort effort);

/// Plans of at most two ranks. Full: passes of 20 ms and more on a core of 20 GFLOP/s. Quick: as short as can be.
std::vector<VerifyPlan> default_plans(VerifyEffort effort);

/// A plan a line: job flags, with "--comm NAME" among them where it is not "threads", and "calibrate:" in front of
/// those to calibrate on. '#' begins a comment.
/// @throws InputError naming file and line, where nothing or only one kind of plan is left
std::vector<VerifyPlan> parse_plans(const std::string& text, const std::string& source);

/// Words of a line; quotes are not understood.
std::vector<std::string> words_of(std::string_view text);

}  // namespace foreshard
