#include "sim/cost/variation.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "sim/plan/rank_grid.hpp"

namespace foreshard {

namespace {

constexpr double cut = 4.0;            ///< draws beyond are as good as impossible, and would dominate long runs
constexpr double least_factor = 0.05;  ///< no task takes no time

std::uint64_t split_mix(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15ULL;
    x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27U)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31U);
}

/// In (0, 1).
double uniform(std::uint64_t bits) {
    return (static_cast<double>(bits >> 11U) + 0.5) * 0x1.0p-53;
}

double normal(std::uint64_t key) {
    const double radius = std::sqrt(-2.0 * std::log(uniform(split_mix(key))));
    const double angle = 2.0 * std::numbers::pi * uniform(split_mix(key ^ 0xd1b54a32d192ed03ULL));
    return std::clamp(radius * std::cos(angle), -cut, cut);
}

/// Calls visit(global rank, pipeline rank) for each real rank that a simulated one stands for.
template <class Visit>
void visit_ranks(const Job& job, const RankGrid& grid, const RankPlace& place, Visit visit) {
    const int first = place.replica < 0 ? 0 : place.replica;
    const int last = place.replica < 0 ? std::max(job.plan.dp, 1) - 1 : place.replica;
    for (int dp = first; dp <= last; ++dp) {
        for (int cp = 0; cp < job.plan.cp; ++cp) {
            for (int tp = 0; tp < job.plan.tp; ++tp) visit(grid.rank({tp, cp, dp, place.pp}), place.pp);
        }
    }
}

RankSpeed slowest(const Job& job, const RankGrid& grid, const RankPlace& place) {
    constexpr double fastest = 1e9;
    RankSpeed speed{fastest, fastest, fastest};
    visit_ranks(job, grid, place, [&](int rank, int pp) {
        speed.compute = std::min(speed.compute, speed_of(job.plan.variability, rank, pp));
        speed.nvlink = std::min(speed.nvlink, link_speed_of(job.plan.variability, LinkKind::nvlink, rank));
        speed.nic = std::min(speed.nic, link_speed_of(job.plan.variability, LinkKind::nic, rank));
    });
    return speed;
}

/// Per comm class, the slowest of the links that its members load.
std::vector<double> link_speeds(const Job& job, const TaskGraph& graph, const Durations& durations) {
    std::vector<double> speeds(graph.comm_classes.size(), 1e9);
    for (const Comm& comm : graph.comms) {
        const auto c = static_cast<std::size_t>(comm.comm_class);
        const CommClass& kind = graph.comm_classes[c];
        const bool pair =
            comm.members == 2 && (kind.axis == Axis::pp || kind.axis == Axis::embedding || kind.axis == Axis::replica);
        for (std::int32_t i = 0; i < comm.members; ++i) {
            const std::int32_t task =
                graph.comm_members[static_cast<std::size_t>(comm.first_member) + static_cast<std::size_t>(i)];
            const auto rank = static_cast<std::size_t>(graph.rank_of(task));
            const RankPlace& place = graph.places[rank];
            bool local = false;
            if (pair) {
                const auto from = graph.places[static_cast<std::size_t>(kind.from_rank)].pp;
                const auto to = graph.places[static_cast<std::size_t>(kind.to_rank)].pp;
                local = place.replica < 0 ? share_domain(job, from, to) : share_domain(job, from, to, place.replica);
            } else {
                local = group_placement(job, kind.axis).domains == 1;
            }
            const RankSpeed& speed = durations.ranks[rank];
            speeds[c] = std::min(speeds[c], local ? speed.nvlink : speed.nic);
        }
    }
    return speeds;
}

void slow_links(const Job& job, const TaskGraph& graph, Durations& durations) {
    const std::vector<double> speeds = link_speeds(job, graph, durations);
    for (std::size_t c = 0; c < durations.comms.size(); ++c) {
        CommDuration& comm = durations.comms[c];
        if (speeds[c] == 1.0 || comm.wire == 0) continue;
        const Picoseconds wire = std::llround(static_cast<double>(comm.wire) / speeds[c]);
        comm.busy += wire - comm.wire;
        comm.wire = wire;
    }
}

}  // namespace

double jitter_factor(const Jitter& jitter, std::int32_t task) {
    const std::uint64_t run = split_mix(jitter.seed ^ split_mix(static_cast<std::uint64_t>(jitter.run)));
    const std::uint64_t of_task = split_mix(run ^ static_cast<std::uint64_t>(task));
    double largest = -cut;
    for (int member = 0; member < jitter.members; ++member) {
        largest = std::max(largest, normal(of_task + static_cast<std::uint64_t>(member)));
    }
    return std::max(1.0 + jitter.deviation * largest, least_factor);
}

void vary(const Job& job, const TaskGraph& graph, Durations& durations) {
    const Variability& v = job.plan.variability;
    durations.jitter = {v.jitter_pct / 100.0, v.seed, 0, job.plan.tp * job.plan.cp};
    if (v.speed.empty() && v.links.empty()) return;
    const RankGrid grid = rank_grid(job);
    for (const RankPlace& place : graph.places) durations.ranks.push_back(slowest(job, grid, place));
    if (!v.links.empty()) slow_links(job, graph, durations);
}

Picoseconds task_time(const TaskGraph& graph, const Durations& durations, std::int32_t task) {
    const auto work = static_cast<std::size_t>(graph.tasks[static_cast<std::size_t>(task)].work);
    const Picoseconds alone = durations.works[work].total();
    if (durations.ranks.empty() && durations.jitter.deviation == 0.0) return alone;
    double factor = 1.0;
    if (!durations.ranks.empty()) {
        const WorkShares& share = durations.shares[work];
        const RankSpeed& speed = durations.ranks[static_cast<std::size_t>(graph.rank_of(task))];
        factor += share.kernels * (1.0 / speed.compute - 1.0) + share.nvlink * (1.0 / speed.nvlink - 1.0) +
                  share.nic * (1.0 / speed.nic - 1.0);
    }
    if (durations.jitter.deviation > 0.0) factor *= jitter_factor(durations.jitter, task);
    return std::llround(static_cast<double>(alone) * factor);
}

}  // namespace foreshard
