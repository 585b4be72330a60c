#pragma once

#include <vector>

#include "sim/fit/measurements.hpp"
#include "sim/fit/quality.hpp"

namespace foreshard {

/// t = base + c sqrt(S) + f S / B, all of them not negative.
struct FittedComm {
    CollectiveFit fit;  ///< kind send_recv: f is 1, and there is no square root
    /// In its place, where dense points do not follow it (wants_curve); empty: they do.
    std::vector<OpLaw::Point> table{};
    std::vector<Fitted> points;
};

/// The fit's time.
Seconds fitted_time(const CollectiveFit& fit, double bytes);

/// Where communication was timed in steps and by itself, what it takes longer in steps is added to the others: a rank
/// that has waited wakes up first, which ranks that do nothing else need not. It is the median difference at the steps'
/// own sizes, where they lie among the others'; not negative. Points of one kind and number of ranks.
std::vector<CommPoint> as_in_steps(std::vector<CommPoint> points);

/// Outliers are times that are further than four deviations and than 20 % from the median of three or more of their own
/// size. Precondition: at least one point, all of one kind and number of ranks.
FittedComm fit_comm(const std::vector<CommPoint>& points);

}  // namespace foreshard
