#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "tests/runtime/check_grid.hpp"

/// Compares every plan of the grid with one rank, or every STRIDE-th point: full_grid [STRIDE]. Takes hours.
int main(int count, char** values) {
    using namespace foreshard::runtime;
    const std::size_t stride = count > 1 ? std::strtoul(values[1], nullptr, 10) : 1;
    const std::vector<GridPoint> points = full_grid();
    int passed = 0;
    int failed = 0;
    double worst = 0.0;
    for (std::size_t i = 0; i < points.size(); i += std::max<std::size_t>(stride, 1)) {
        const std::optional<foreshard::Job> job = job_of(points[i]);
        if (!job) continue;
        const Outcome outcome = check_point(*job);
        const bool right = !outcome.failure && outcome.comparison->passed();
        ++(right ? passed : failed);
        if (outcome.comparison) worst = std::max(worst, outcome.comparison->worst.relative);
        if (right) continue;
        fmt::print("{}: {}\n", to_string(points[i]),
                   outcome.failure ? outcome.failure->reason : outcome.comparison->worst.tensor);
    }
    fmt::print(
        "{} points in the grid, every {}-th looked at, {} plans compared: {} passed, {} failed, worst relative error "
        "{:.2e}\n",
        points.size(), stride, passed + failed, passed, failed, worst);
    return failed == 0 ? 0 : 5;
}
