#include "cli/step_band.hpp"

#include <algorithm>

#include "sim/error.hpp"
#include "sim/fit/quality.hpp"
#include "sim/validate/step_ratios.hpp"

namespace foreshard::cli {

namespace {

bool ran(const Measurements& input, const MeasuredStep& plan) {
    return std::any_of(input.steps.begin(), input.steps.end(),
                       [&](const MeasuredStep& step) { return step.id == plan.id && step.comm == plan.comm; });
}

}  // namespace

std::optional<CalibrationBand> step_band(const std::vector<Measurements>& inputs, const FitInputs& fit) {
    std::vector<MeasuredStep> steps;
    for (const Measurements& input : inputs) steps.insert(steps.end(), input.steps.begin(), input.steps.end());
    const auto fit_without = [&](const MeasuredStep& plan) -> SharedCalibration {
        std::vector<const Measurements*> others;
        for (const Measurements& input : inputs) {
            if (!ran(input, plan)) others.push_back(&input);
        }
        try {
            return std::make_shared<const Calibration>(fit(others, plan.comm));
        } catch (const InputError&) {
            return nullptr;  // the others hold no time
        }
    };
    return band_of_steps(step_ratios(steps, fit_without));
}

}  // namespace foreshard::cli
