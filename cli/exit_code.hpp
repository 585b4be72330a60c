#pragma once

namespace foreshard::cli {

/// What the program returns; scripts rely on the numbers.
enum ExitCode : int {
    ok = 0,
    internal_error = 1,
    bad_input = 2,
    infeasible = 3,  ///< the plan does not divide, or does not fit
    unreadable_file = 4,
    threshold_missed = 5,
    interrupted = 130
};

}  // namespace foreshard::cli
