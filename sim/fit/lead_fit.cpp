#include "sim/fit/lead_fit.hpp"

#include <algorithm>
#include <cmath>

#include "sim/fit/statistics.hpp"
#include "sim/prefixes.hpp"

namespace foreshard {

namespace {

std::optional<LeadPoint> median_lead(const std::vector<LeadPoint>& points, bool whole_step) {
    std::vector<double> after;
    std::vector<double> ratios;
    for (const LeadPoint& point : points) {
        if (point.whole_step != whole_step || !(point.ratio > 0.0) || !(point.after_us > 0.0)) continue;
        after.push_back(point.after_us);
        ratios.push_back(point.ratio);
    }
    if (after.empty()) return std::nullopt;
    return LeadPoint{median_of(after), median_of(ratios), whole_step};
}

}  // namespace

std::optional<RankLeadLaw> fit_rank_lead(const std::vector<LeadPoint>& points) {
    constexpr double independent = 0.5;
    const std::optional<LeadPoint> pass = median_lead(points, false);
    const std::optional<LeadPoint> step = median_lead(points, true);
    if (!pass && !step) return std::nullopt;
    const LeadPoint& known = pass ? *pass : *step;
    RankLeadLaw law{Seconds(known.after_us * micro), known.ratio, independent};
    if (pass && step && step->after_us > pass->after_us) {
        const double fall = std::log(pass->ratio / step->ratio) / std::log(step->after_us / pass->after_us);
        law.exponent = std::clamp(fall, 0.0, independent);
    }
    return law;
}

}  // namespace foreshard
