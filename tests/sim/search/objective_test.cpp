#include "sim/search/objective.hpp"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "sim/engine/evaluate.hpp"
#include "sim/error.hpp"
#include "sim/search/search.hpp"
#include "sim/spec/catalogue.hpp"
#include "sim/spec/json_specs.hpp"
#include "sim/spec/request_text.hpp"
#include "tests/support/schema.hpp"
#include "tests/support/search_spaces.hpp"

/// Money, energy and time to train: closed forms, and searches by them against simulating every plan.
namespace foreshard {
namespace {

constexpr Picoseconds two_seconds = 2'000'000'000'000;

/// 16 GPUs on 2 nodes, 32 sequences of 1024 tokens a step.
Job two_nodes() {
    JobRequest request;
    request.model = "gpt2";
    request.cluster = "dgx-a100-80g";
    request.gpus = 16;
    request.gbs = 32;
    request.seq_length = 1024;
    return resolve(request);
}
constexpr double step_tokens = 32.0 * 1024.0;

OperatingFigures all_figures() {
    OperatingFigures f;
    f.price_usd_per_gpu_hour = 3.0;
    f.gpu_idle_w = 80.0;
    f.gpu_busy_w = 400.0;
    f.node_rest_w = 1500.0;
    f.node_mtbf_h = 1000.0;
    f.checkpoint_s = 36.0;
    f.restart_s = 360.0;
    return f;
}

PlanFigures figures_of(const OperatingFigures& operation, Picoseconds busy) {
    ObjectiveRequest request;
    request.operation = operation;
    request.train_tokens = 1e9;
    return ObjectiveMeasure(request, two_nodes()).figures(two_seconds, busy);
}

TEST(Objective, CostIsThatOfTheGpuHours) {
    const PlanFigures figures = figures_of(all_figures(), two_seconds);
    EXPECT_DOUBLE_EQ(*figures.cost_usd_per_million_tokens, 3.0 * 16.0 * 2.0 / 3600.0 / step_tokens * 1e6);
}

/// All busy, all idle, and half of the time.
TEST(Objective, EnergyIsBetweenThatOfIdleAndOfBusyGpus) {
    const double rest = 2.0 * 1500.0 * 2.0;
    const auto expected = [&](double watts) { return (16.0 * watts * 2.0 + rest) / step_tokens; };
    EXPECT_DOUBLE_EQ(*figures_of(all_figures(), two_seconds).energy_j_per_token, expected(400.0));
    EXPECT_DOUBLE_EQ(*figures_of(all_figures(), 0).energy_j_per_token, expected(80.0));
    const PlanFigures half = figures_of(all_figures(), two_seconds / 2);
    EXPECT_DOUBLE_EQ(*half.energy_j_per_token, expected(240.0));
    EXPECT_DOUBLE_EQ(*half.power_kw, (16.0 * 240.0 + 3000.0) / 1000.0);
}

/// Two nodes of 1000 h fail every 500 h: C / M = 36 s / 1.8e6 s = 2e-5, so that T = 36 s sqrt(2 / 2e-5) = 11384.2 s and
/// the loss is sqrt(2 x 2e-5) + 360 / 1.8e6 = 0.0065246.
TEST(Objective, TimeToTrainIsTheStepsOverTheGoodput) {
    const PlanFigures figures = figures_of(all_figures(), two_seconds);
    EXPECT_NEAR(*figures.checkpoint_interval_s, 11384.2, 0.05);
    EXPECT_NEAR(*figures.goodput_ratio, 1.0 - 0.0065246, 1e-7);
    EXPECT_DOUBLE_EQ(*figures.time_to_train_h, 1e9 / step_tokens * 2.0 / *figures.goodput_ratio / 3600.0);
    EXPECT_DOUBLE_EQ(*figures.train_cost_usd, *figures.time_to_train_h * 16.0 * 3.0);
}

/// No interval is better than the best one: the formula is tried from a tenth to ten times of it.
TEST(Objective, NoIntervalBeatsTheBestOne) {
    for (const double mtbf : {2e4, 1e5, 3e6}) {
        for (const double checkpoint : {1.0, 30.0, 300.0}) {
            const double restart = 200.0;
            const Goodput best = best_goodput(checkpoint, restart, mtbf);
            const auto at = [&](double t) { return 1.0 - checkpoint / t - (t / 2.0 + restart) / mtbf; };
            EXPECT_NEAR(best.ratio, at(best.checkpoint_interval_s), 1e-12);
            for (double factor = 0.1; factor < 10.0; factor *= 1.1) {
                EXPECT_LE(at(factor * best.checkpoint_interval_s), best.ratio + 1e-12);
            }
        }
    }
    EXPECT_DOUBLE_EQ(best_goodput(0.0, 60.0, 6000.0).ratio, 0.99);
    EXPECT_EQ(best_goodput(600.0, 600.0, 900.0).ratio, 0.0) << "no progress";
}

/// 18 bytes a parameter with bf16 gradients in fp32, of which 4 are gradients and not kept: 2 of weights, 12 of the
/// optimizer. Vocabulary 50257 padded to 50304 by 128: 124.5 million parameters.
TEST(Objective, ACheckpointHoldsWeightsAndOptimizerStates) {
    Job job = two_nodes();
    job.plan.precision = Precision::bf16;
    const double parameters = checkpoint_bytes(job) / 14.0;
    EXPECT_NEAR(parameters, 124.5e6, 0.2e6);
    const double whole = checkpoint_bytes(job);
    job.plan.tp = 4;
    job.plan.pp = 2;
    job.plan.zero_stage = 3;
    EXPECT_EQ(checkpoint_bytes(job), whole) << "each state is written once, whatever the plan";
}

TEST(Objective, ABandwidthToStorageGivesTheCheckpointTime) {
    OperatingFigures operation = all_figures();
    operation.checkpoint_s.reset();
    operation.storage_write_gb_per_s = 2.0;
    const double checkpoint_s = checkpoint_bytes(two_nodes()) / 2e9;
    EXPECT_DOUBLE_EQ(*figures_of(operation, 0).checkpoint_interval_s, std::sqrt(2.0 * checkpoint_s * 500.0 * 3600.0));
}

TEST(Objective, WhatIsSaidWinsOverTheCluster) {
    Job job = two_nodes();
    job.cluster.operation = all_figures();
    ObjectiveRequest request;
    request.operation.gpu_busy_w = 500.0;
    request.operation.storage_write_gb_per_s = 10.0;
    const OperatingFigures used = ObjectiveMeasure(request, job).operation();
    EXPECT_EQ(used.gpu_busy_w, 500.0);
    EXPECT_EQ(used.gpu_idle_w, 80.0);
    EXPECT_DOUBLE_EQ(*used.checkpoint_s, checkpoint_bytes(job) / 10e9) << "a bandwidth replaces a checkpoint time";
}

TEST(Objective, AClusterFileSaysWhatItCosts) {
    Json file = Json::parse(find_in_catalogue("clusters", "dgx-a100-80g").text);
    EXPECT_EQ(read_cluster(file, "a.json").operation, OperatingFigures{});
    file["operation"] = {{"price_usd_per_gpu_hour", 1.5}, {"gpu_idle_W", 60}, {"gpu_busy_W", 390.5}};
    EXPECT_EQ(test::violations("cluster", file), "");
    const ClusterSpec cluster = read_cluster(file, "a.json");
    EXPECT_EQ(cluster.operation.price_usd_per_gpu_hour, 1.5);
    EXPECT_EQ(cluster.operation.node_mtbf_h, std::nullopt);
    EXPECT_EQ(Json::parse(to_json(cluster)["operation"].dump()), file["operation"]);
    file["operation"]["gpu_busy_W"] = 10;
    EXPECT_THROW(read_cluster(file, "a.json"), InputError);
    file["operation"] = {{"price_eur_per_gpu_hour", 1.5}};
    EXPECT_THROW(read_cluster(file, "a.json"), InputError);
}

void expect_refused(Objective kind, const OperatingFigures& operation, const std::string& text) {
    try {
        const ObjectiveMeasure measure({kind, operation, std::nullopt}, two_nodes());
        FAIL() << "not refused: " << text;
    } catch (const InputError& error) {
        EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
    }
}

TEST(Objective, SaysWhichFigureIsMissing) {
    expect_refused(Objective::cost_per_token, {}, "cluster dgx-a100-80g says no price; give --price-usd-per-gpu-hour");
    expect_refused(Objective::energy_per_token, {}, "give --gpu-idle-w");
    OperatingFigures operation;
    operation.gpu_idle_w = 100.0;
    expect_refused(Objective::energy_per_token, operation, "give --gpu-busy-w");
    operation.gpu_busy_w = 99.0;
    expect_refused(Objective::energy_per_token, operation, "--gpu-busy-w: 99 is less than gpu_idle_W, 100");
    expect_refused(Objective::time_to_train, {}, "give --node-mtbf-h");
    expect_refused(Objective::time_to_train, all_figures(), "give --train-tokens");
    operation = all_figures();
    operation.price_usd_per_gpu_hour = -1.0;
    expect_refused(Objective::step_time, operation, "--price-usd-per-gpu-hour: -1 must be");
    operation = all_figures();
    operation.storage_write_gb_per_s = 1.0;
    expect_refused(Objective::step_time, operation, "--checkpoint-s: and storage_write_GB_per_s say the same");
}

Picoseconds simulated_busy_time(const Report& report) {
    Picoseconds total = 0;
    for (const RankReport& rank : report.ranks) total += busy_time(rank.account);
    return total / static_cast<Picoseconds>(report.ranks.size());
}

class BusyTime : public testing::TestWithParam<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Seeds, BusyTime, testing::Range(std::uint64_t{1}, std::uint64_t{7}));

void compare_busy_times(const SearchRequest& request, std::size_t stride) {
    const test::BoundedSpace bounded = test::bounded_space(request);
    int bounds = 0;
    for (std::size_t i = 0; i < bounded.plans.size(); i += stride) {
        const Candidate& plan = bounded.plans[i];
        const Evaluation e = evaluate(test::job_of(bounded.space, plan.key));
        EXPECT_LE(plan.busy_time, simulated_busy_time(e.report))
            << request_flags(plan_request(bounded.space, plan.key));
        bounds += plan.busy_time > 0 ? 1 : 0;
    }
    EXPECT_GT(bounds, 0);
}

TEST_P(BusyTime, IsNeverBelowItsBound) {
    compare_busy_times(test::random_search(GetParam()), 97);
    SearchRequest full = test::random_search(GetParam());
    full.space = SpaceKind::full;
    full.base.overlap_grad_reduce = GetParam() % 2 == 0;
    compare_busy_times(full, 1009);
}

/// Of all plans that fit: energies in order, and step times and memory of the front.
struct EnergyBruteForce {
    std::vector<double> energies;
    std::vector<std::pair<double, ByteCount>> front;
};

EnergyBruteForce simulate_all_for_energy(const SearchRequest& request) {
    const test::BoundedSpace bounded = test::bounded_space(request);
    const ObjectiveMeasure measure(request.objective, resolve(bounded.space.base));
    std::vector<std::pair<double, ByteCount>> points;
    EnergyBruteForce result;
    for (const Candidate& plan : bounded.plans) {
        const Evaluation e = evaluate(test::job_of(bounded.space, plan.key));
        const Summary& summary = e.report.summary;
        if (summary.peak_memory + e.buffers.runtime_bytes() > summary.memory_capacity) continue;
        points.emplace_back(summary.step_time_ms, summary.peak_memory);
        const PlanFigures figures = measure.figures(e.timeline.step_time(), simulated_busy_time(e.report));
        result.energies.push_back(*figures.energy_j_per_token);
    }
    std::sort(result.energies.begin(), result.energies.end());
    std::sort(points.begin(), points.end());
    for (const auto& point : points) {
        if (result.front.empty() || point.second < result.front.back().second) result.front.push_back(point);
    }
    return result;
}

class EnergySpace : public testing::TestWithParam<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Seeds, EnergySpace, testing::Range(std::uint64_t{1}, std::uint64_t{7}));

/// From GPUs that draw next to nothing while they wait to such that draw nearly all: the order of plans by energy is
/// not that by step time.
TEST_P(EnergySpace, GivesWhatBruteForceGives) {
    SearchRequest request = test::random_search(GetParam());
    request.base.num_layers = 4;
    request.objective.kind = Objective::energy_per_token;
    request.objective.operation.gpu_idle_w = GetParam() % 3 == 0 ? 5.0 : 60.0 * static_cast<double>(GetParam());
    request.objective.operation.gpu_busy_w = 700.0;
    request.objective.operation.node_rest_w = GetParam() % 2 == 0 ? 2000.0 : 0.0;
    const EnergyBruteForce all = simulate_all_for_energy(request);
    const SearchOutcome found = search(request);
    ASSERT_GE(all.energies.size(), 100U);
    ASSERT_GE(found.plans.size(), 3U);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(*found.plans[i].figures.energy_j_per_token, all.energies[i]) << i;
    std::vector<std::pair<double, ByteCount>> front;
    for (const std::size_t i : found.front) {
        front.emplace_back(found.plans[i].summary.step_time_ms, found.plans[i].summary.peak_memory);
    }
    EXPECT_EQ(front, all.front);
    EXPECT_LT(found.simulated, static_cast<std::int64_t>(all.energies.size())) << "bounds cut something off";
}

/// On one cluster with one batch, all that follows from the step time orders plans as it does.
TEST(Objective, MoneyAndDaysOrderPlansOfOneSizeAsStepTimeDoes) {
    SearchRequest request = test::random_search(3);
    const SearchOutcome by_time = search(request);
    request.objective.operation = all_figures();
    request.objective.train_tokens = 1e12;
    for (const Objective kind :
         {Objective::cost_per_token, Objective::time_to_train, Objective::tokens_per_s_per_gpu}) {
        request.objective.kind = kind;
        const SearchOutcome found = search(request);
        ASSERT_EQ(found.plans.size(), by_time.plans.size());
        for (std::size_t i = 0; i < found.plans.size(); ++i) {
            EXPECT_EQ(request_flags(found.plans[i].plan), request_flags(by_time.plans[i].plan)) << to_string(kind);
        }
    }
}

}  // namespace
}  // namespace foreshard
