#pragma once

#include <vector>

#include "sim/fit/measurements.hpp"
#include "sim/fit/quality.hpp"

namespace foreshard {

/// t = base + c sqrt(S) + f S / B, all of them not negative.
struct FittedComm {
    CollectiveFit fit;  ///< kind send_recv: f is 1, and there is no square root
    std::vector<Fitted> points;
};

/// Outliers are times that are further than four deviations and than 20 % from the median of three or more of their own
/// size. Precondition: at least one point, all of one kind and number of ranks.
FittedComm fit_comm(const std::vector<CommPoint>& points);

}  // namespace foreshard
