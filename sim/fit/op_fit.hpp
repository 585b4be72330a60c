#pragma once

#include <vector>

#include "sim/fit/measurements.hpp"
#include "sim/fit/quality.hpp"

namespace foreshard {

/// Laws of one op, from all its points.
struct FittedOp {
    OpLaw law;
    std::vector<Fitted> points;  ///< like the points given
};

/// base + FLOPs / rate + bytes / rate with as few terms as the points ask for: one for up to two different amounts, two
/// for up to five. Where dense points do not follow a law of one rate (wants_curve), a table beside it that does not
/// fall, of the median of each amount. Precondition: at least one point, all of the same op.
/// @param slowdown of each point, which its time is divided by
FittedOp fit_op(const std::vector<OpPoint>& points, const std::vector<double>& slowdown);

/// "gemm", "attention" or "memory": which band an op's errors count in.
std::string group_of(const OpPoint& point);

}  // namespace foreshard
