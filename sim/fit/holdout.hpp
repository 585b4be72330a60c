#pragma once

#include <vector>

#include "sim/fit/measurements.hpp"

/// How well laws predict times that they were not fitted to.
namespace foreshard {

struct HoldOut {
    Measurements kept;
    Measurements held;
};

/// Of every op, collective and number of ranks, every fifth point is held out, from the third on: a group keeps four of
/// five points, and all where it has less than three.
HoldOut hold_out(const Measurements& measured);

/// Errors of a calibration's laws at measured points; groups without a law are left out.
std::vector<CalibrationResidual> errors_at(const Calibration& calibration, const Measurements& measured);

}  // namespace foreshard
