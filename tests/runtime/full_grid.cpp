#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <string>

#include <fmt/format.h>

#include "tests/runtime/check_grid.hpp"

namespace foreshard::runtime {
namespace {

struct Tally {
    int passed = 0;
    int failed = 0;
    double worst = 0.0;
    std::map<std::string, int> refused;  ///< by reason
};

void look_at(const GridPoint& point, Tally& tally) {
    const GridJob found = grid_job(point);
    if (!found.job) {
        ++tally.refused[found.refusal];
        return;
    }
    const Outcome outcome = check_point(*found.job);
    const bool right = !outcome.failure && outcome.comparison->passed();
    ++(right ? tally.passed : tally.failed);
    if (outcome.comparison) tally.worst = std::max(tally.worst, outcome.comparison->worst.relative);
    if (right) return;
    fmt::print("{}: {}\n", to_string(point),
               outcome.failure ? outcome.failure->reason : outcome.comparison->worst.tensor);
}

int run(std::size_t stride, std::size_t first, const std::string& wanted) {
    const auto start = std::chrono::steady_clock::now();
    std::vector<GridPoint> points = full_grid();
    std::erase_if(points, [&](const GridPoint& point) { return to_string(point).find(wanted) == std::string::npos; });
    Tally tally;
    for (std::size_t i = first; i < points.size(); i += stride) {
        look_at(points[i], tally);
        if (i % 1000 < stride) {
            fmt::print(stderr, "point {} of {}: {} passed, {} failed\n", i, points.size(), tally.passed, tally.failed);
        }
    }
    const std::chrono::duration<double, std::ratio<60>> minutes = std::chrono::steady_clock::now() - start;
    fmt::print(
        "{} points in the grid, every {}-th from the {}-th on looked at; {} plans compared in {:.1f} minutes: {} "
        "passed, "
        "{} failed, worst relative error {:.2e}\n",
        points.size(), stride, first, tally.passed + tally.failed, minutes.count(), tally.passed, tally.failed,
        tally.worst);
    for (const auto& [reason, count] : tally.refused) fmt::print("{:>7}  {}\n", count, reason);
    return tally.failed == 0 ? 0 : 5;
}

}  // namespace
}  // namespace foreshard::runtime

/// Compares every plan of the grid with one rank, or that of every STRIDE-th point from the FIRST-th on:
/// full_grid [STRIDE [FIRST [TEXT]]]. Runs with the same stride and all firsts below it cover the grid, or the points
/// whose names (as in its messages) have the text, e.g. "vocab".
int main(int count, char** values) {
    const std::size_t stride = count > 1 ? std::strtoul(values[1], nullptr, 10) : 1;
    const std::size_t first = count > 2 ? std::strtoul(values[2], nullptr, 10) : 0;
    return foreshard::runtime::run(std::max<std::size_t>(stride, 1), first, count > 3 ? values[3] : "");
}
