#pragma once

#include "sim/fit/measurements.hpp"

/// `foreshard calibrate`: measurements to a foreshard.calibration.
namespace foreshard {

/// Fits a law for every op, collective and group of ranks that was measured, with the errors of each, the band that
/// fresh measurements lie in, and the points that were rejected.
/// @throws InputError when nothing was measured
Calibration fit_calibration(const Measurements& measured, const std::string& id);

}  // namespace foreshard
