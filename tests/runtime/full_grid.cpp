#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tests/runtime/check_grid.hpp"
#include "tests/runtime/comm/plan_sequence.hpp"

namespace foreshard::runtime {
namespace {

struct Tally {
    int passed = 0;
    int failed = 0;
    double worst = 0.0;
    std::int64_t calls = 0;
    std::map<std::string, int> refused;  ///< by reason
};

/// What is wrong with a plan; empty when nothing is.
using Look = std::string (*)(const Job& job, Tally& tally);

std::string compare_with_one_rank(const Job& job, Tally& tally) {
    const Outcome outcome = check_point(job);
    if (outcome.failure) return outcome.failure->reason;
    tally.worst = std::max(tally.worst, outcome.comparison->worst.relative);
    return outcome.comparison->passed() ? "" : outcome.comparison->worst.tensor;
}

std::string check_sequence(const Job& job, Tally& tally) {
    test::PlanSequence recorded;
    const std::vector<std::string> faults = test::sequence_faults(job, &recorded);
    tally.calls += recorded.calls();
    return faults.empty() ? "" : faults.front();
}

void look_at(const GridPoint& point, Look look, Tally& tally) {
    const GridJob found = grid_job(point);
    if (!found.job) {
        ++tally.refused[found.refusal];
        return;
    }
    const std::string wrong = look(*found.job, tally);
    ++(wrong.empty() ? tally.passed : tally.failed);
    if (!wrong.empty()) fmt::print("{}: {}\n", to_string(point), wrong);
}

struct Share {
    std::size_t stride = 1;
    std::size_t first = 0;
};

int run(const Share& share, bool sequences) {
    const auto start = std::chrono::steady_clock::now();
    const std::vector<GridPoint> points = full_grid();
    Tally tally;
    for (std::size_t i = share.first; i < points.size(); i += share.stride) {
        look_at(points[i], sequences ? check_sequence : compare_with_one_rank, tally);
        if (i % 1000 < share.stride) {
            fmt::print(stderr, "point {} of {}: {} passed, {} failed\n", i, points.size(), tally.passed, tally.failed);
        }
    }
    const std::chrono::duration<double, std::ratio<60>> minutes = std::chrono::steady_clock::now() - start;
    fmt::print(
        "{} points in the grid, every {}-th from the {}-th on; {} plans in {:.1f} minutes: {} passed, {} failed, ",
        points.size(), share.stride, share.first, tally.passed + tally.failed, minutes.count(), tally.passed,
        tally.failed);
    if (sequences) {
        fmt::print("{} calls to NCCL recorded\n", tally.calls);
    } else {
        fmt::print("worst relative error {:.2e}\n", tally.worst);
    }
    for (const auto& [reason, count] : tally.refused) fmt::print("{:>7}  {}\n", count, reason);
    return tally.failed == 0 ? 0 : 5;
}

}  // namespace
}  // namespace foreshard::runtime

/// Compares every plan of the grid with one rank, or that of every STRIDE-th point from the FIRST-th on; with
/// --sequences it records what every rank would issue to NCCL and holds it against the rules:
/// full_grid [--sequences] [STRIDE [FIRST]]. Runs with one stride and all firsts below it cover the grid.
int main(int count, char** values) {
    std::vector<std::size_t> numbers;
    bool sequences = false;
    for (int i = 1; i < count; ++i) {
        if (std::strcmp(values[i], "--sequences") == 0) {
            sequences = true;
        } else {
            numbers.push_back(std::strtoul(values[i], nullptr, 10));
        }
    }
    numbers.resize(2, 0);
    return foreshard::runtime::run({std::max<std::size_t>(numbers[0], 1), numbers[1]}, sequences);
}
