#pragma once

#include <functional>
#include <vector>

#include "sim/spec/calibration.hpp"
#include "sim/spec/measured_step.hpp"

namespace foreshard {

/// The calibration that is fitted without any run of a plan; null where nothing is left to fit.
using FitWithout = std::function<SharedCalibration(const MeasuredStep& left_out)>;

/// Measured over predicted step time of every plan (with every way of communication, medians over its runs), each
/// predicted by the fit without it. Plans that cannot be predicted are left out. @throws InputError as resolve()
std::vector<double> step_ratios(const std::vector<MeasuredStep>& steps, const FitWithout& fit);

}  // namespace foreshard
