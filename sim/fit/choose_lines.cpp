#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "sim/cost/rate_grid.hpp"
#include "sim/error.hpp"
#include "sim/fit/rate_fit.hpp"

namespace foreshard {

namespace {

GridLines all_lines(std::span<const RatePoint> points) {
    GridLines axes;
    for (std::size_t axis = 0; axis < 3; ++axis) {
        std::set<double> values;
        for (const RatePoint& point : points) values.insert(point.at[axis]);
        axes[axis].assign(values.begin(), values.end());
    }
    return axes;
}

class LineChoice {
public:
    LineChoice(std::span<const RatePoint> points, std::size_t max_nodes)
        : points_(points), max_nodes_(max_nodes), candidates_(all_lines(points)) {
        for (std::size_t axis = 0; axis < 3; ++axis) {
            const std::vector<double>& line = candidates_[axis];
            chosen_[axis] = {line.front()};
            if (line.size() > 1) chosen_[axis].push_back(line.back());
        }
    }

    GridLines run() {
        error_ = error_of(chosen_);
        while (add_best()) {
        }
        for (int pass = 0; pass < exchange_passes && exchange_all(); ++pass) {
        }
        return chosen_;
    }

private:
    static constexpr int exchange_passes = 3;

    /// Plain least squares: reweighting would change the choice little and cost ten times as much.
    double error_of(const GridLines& lines) const {
        const RateGrid grid(fit_rates(points_, lines, 1));
        double sum = 0.0;
        for (const RatePoint& point : points_) {
            const double rate = grid.tflops(point.at[0], point.at[1], point.at[2]);
            sum += point.weight * std::abs(std::log(rate / point.tflops));
        }
        return sum;
    }

    static GridLines with(GridLines lines, std::size_t axis, double value) {
        std::vector<double>& line = lines[axis];
        line.insert(std::upper_bound(line.begin(), line.end(), value), value);
        return lines;
    }

    static std::size_t nodes(const GridLines& lines) { return lines[0].size() * lines[1].size() * lines[2].size(); }

    bool has(std::size_t axis, double value) const {
        return std::binary_search(chosen_[axis].begin(), chosen_[axis].end(), value);
    }

    /// The line whose gain per relative growth of the table is largest; false when none fits or helps.
    bool add_best() {
        double best = 0.0;
        GridLines better;
        for (std::size_t axis = 0; axis < 3; ++axis) {
            const double growth = std::log(1.0 + 1.0 / static_cast<double>(chosen_[axis].size()));
            for (const double value : candidates_[axis]) {
                if (has(axis, value)) continue;
                GridLines trial = with(chosen_, axis, value);
                if (nodes(trial) > max_nodes_) break;
                const double gain = (error_ - error_of(trial)) / growth;
                if (gain <= best) continue;
                best = gain;
                better = std::move(trial);
            }
        }
        if (best <= 0.0) return false;
        chosen_ = std::move(better);
        error_ = error_of(chosen_);
        return true;
    }

    /// Moves each inner line to where the error is least.
    bool exchange_all() {
        bool changed = false;
        for (std::size_t axis = 0; axis < 3; ++axis) {
            for (std::size_t i = 1; i + 1 < chosen_[axis].size(); ++i) changed = exchange(axis, i) || changed;
        }
        return changed;
    }

    bool exchange(std::size_t axis, std::size_t index) {
        bool changed = false;
        const double low = chosen_[axis][index - 1];
        const double high = chosen_[axis][index + 1];
        for (const double value : candidates_[axis]) {
            if (value <= low || value >= high) continue;
            GridLines trial = chosen_;
            trial[axis][index] = value;
            const double error = error_of(trial);
            if (error >= error_) continue;
            error_ = error;
            chosen_ = std::move(trial);
            changed = true;
        }
        return changed;
    }

    std::span<const RatePoint> points_;
    std::size_t max_nodes_;
    GridLines candidates_;
    GridLines chosen_;
    double error_ = std::numeric_limits<double>::infinity();
};

}  // namespace

GridLines choose_lines(std::span<const RatePoint> points, std::size_t max_nodes) {
    if (points.empty()) throw InputError("fit", "", "there are no points to fit");
    return LineChoice(points, max_nodes).run();
}

}  // namespace foreshard
