#include "sim/validate/step_ratios.hpp"

#include <algorithm>
#include <map>

#include "sim/engine/evaluate.hpp"
#include "sim/spec/job.hpp"

namespace foreshard {

namespace {

double middle_of(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

}  // namespace

std::vector<double> step_ratios(const std::vector<MeasuredStep>& steps, const FitWithout& fit) {
    std::map<std::pair<std::string, std::string>, std::vector<const MeasuredStep*>> plans;
    for (const MeasuredStep& step : steps) plans[{step.id, step.comm}].push_back(&step);
    std::vector<double> ratios;
    for (const auto& [key, runs] : plans) {
        const SharedCalibration calibration = fit(*runs.front());
        if (calibration == nullptr) continue;
        JobRequest request = runs.front()->plan;
        request.calibration = calibration;
        const Job job = resolve(request);
        if (!check(job).empty()) continue;
        std::vector<double> times;
        for (const MeasuredStep* run : runs) times.push_back(run->step_ms);
        ratios.push_back(middle_of(times) / evaluate(job).report.summary.step_time_ms);
    }
    return ratios;
}

}  // namespace foreshard
