#pragma once

#include <functional>
#include <vector>

#include "sim/fit/measurements.hpp"

namespace foreshard::cli {

/// Fits a calibration for a way of communication to some of the inputs. @throws InputError where they hold no time
using FitInputs = std::function<Calibration(const std::vector<const Measurements*>& inputs, const std::string& comm)>;

/// The band of whole steps: every plan that the inputs ran is predicted by a fit to the inputs that did not run it.
/// None where fewer than three plans can be.
std::optional<CalibrationBand> step_band(const std::vector<Measurements>& inputs, const FitInputs& fit);

}  // namespace foreshard::cli
