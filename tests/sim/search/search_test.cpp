#include "sim/search/search.hpp"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "sim/engine/evaluate.hpp"
#include "sim/error.hpp"
#include "sim/prefixes.hpp"
#include "sim/spec/request_text.hpp"
#include "tests/support/search_spaces.hpp"

/// The search against simulating every plan.
namespace foreshard {
namespace {

struct Point {
    double step_time_ms = 0.0;
    ByteCount memory = 0;
    auto operator<=>(const Point&) const = default;
};

/// Of all plans of a space that fit: step times in order, the front, and what varies.
struct BruteForce {
    std::vector<double> times_ms;
    std::vector<Point> front;
    std::set<ScheduleKind> pipelines;  ///< schedules of those with several ranks
    std::set<Recompute> recompute;
};

BruteForce simulate_all(const SearchRequest& request) {
    const test::BoundedSpace bounded = test::bounded_space(request);
    std::vector<Point> points;
    BruteForce result;
    for (const Candidate& plan : bounded.plans) {
        const Evaluation e = evaluate(test::job_of(bounded.space, plan.key));
        const Summary& summary = e.report.summary;
        ByteCount limit = summary.memory_capacity;
        if (request.max_memory_gib) limit = std::min(limit, static_cast<ByteCount>(*request.max_memory_gib * gibi));
        if (summary.peak_memory + e.buffers.runtime_bytes() > limit) continue;
        points.push_back({summary.step_time_ms, summary.peak_memory});
        if (e.job.plan.pp > 1) result.pipelines.insert(e.job.plan.schedule);
        result.recompute.insert(e.job.plan.recompute);
    }
    std::sort(points.begin(), points.end());
    for (const Point& point : points) {
        result.times_ms.push_back(point.step_time_ms);
        if (result.front.empty() || point.memory < result.front.back().memory) result.front.push_back(point);
    }
    return result;
}

std::vector<Point> front_of(const SearchOutcome& result) {
    std::vector<Point> front;
    for (const std::size_t i : result.front) {
        front.push_back({result.plans[i].summary.step_time_ms, result.plans[i].summary.peak_memory});
    }
    return front;
}

class SmallSpace : public testing::TestWithParam<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Seeds, SmallSpace, testing::Range(std::uint64_t{1}, std::uint64_t{31}));

TEST_P(SmallSpace, GivesWhatBruteForceGives) {
    SearchRequest request = test::random_search(GetParam());
    request.base.num_layers = 4;
    // Where messages are not overlapped, chunks of two ranks cannot be interleaved: with GPipe there are three anyway.
    request.constraints["schedule"] = "none,gpipe,1f1b,interleaved-1f1b,zb-v";
    // A few hundred plans each.
    request.constraints["mbs"] = "1..2";
    if (request.constraints["ep"] != "1") request.constraints["ep"] = "1..2";
    if (GetParam() % 3 == 0) request.max_memory_gib = 40.0;
    const BruteForce all = simulate_all(request);
    const SearchOutcome pruned = search(request);
    ASSERT_GE(all.times_ms.size(), 200U);
    EXPECT_GE(all.pipelines.size(), 3U);
    EXPECT_GE(all.recompute.size(), 2U);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(pruned.plans[i].summary.step_time_ms, all.times_ms[i]) << i;
    EXPECT_EQ(front_of(pruned), all.front);
    request.exhaustive = true;
    const SearchOutcome exhaustive = search(request);
    EXPECT_EQ(test::plans_told(exhaustive), test::plans_told(pruned));
    EXPECT_EQ(exhaustive.pruned, 0);
    EXPECT_EQ(exhaustive.evaluated, pruned.evaluated + pruned.pruned);
}

class WideSpace : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Groups, WideSpace, testing::Range(0, test::kept_axis_groups));

/// Axes that the default space leaves alone, each against brute force.
TEST_P(WideSpace, GivesWhatBruteForceGives) {
    SearchRequest request = test::random_search(static_cast<std::uint64_t>(GetParam()) + 50);
    request.base.num_layers = 4;
    request.constraints["tp"] = "1..2";
    request.constraints["cp"] = "1";
    request.constraints["mbs"] = "1..2";
    request.constraints["schedule"] = "1f1b,interleaved-1f1b,zb-v,none";
    request.constraints["data_parallel"] = "ddp,fsdp2";
    request.constraints["zero"] = "1,3";
    request = test::with_kept_axes(request, GetParam());
    const BruteForce all = simulate_all(request);
    const SearchOutcome found = search(request);
    ASSERT_GE(all.times_ms.size(), 100U);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(found.plans[i].summary.step_time_ms, all.times_ms[i]) << i;
    EXPECT_EQ(front_of(found), all.front);
}

TEST(Search, DoesNotDependOnThreads) {
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        SearchRequest request = test::random_search(seed);
        request.threads = 1;
        const SearchOutcome one = search(request);
        request.threads = 5;
        const SearchOutcome five = search(request);
        EXPECT_EQ(test::plans_told(one), test::plans_told(five));
        EXPECT_EQ(std::tie(one.evaluated, one.pruned, one.simulated, one.infeasible, one.front),
                  std::tie(five.evaluated, five.pruned, five.simulated, five.infeasible, five.front));
    }
}

SearchRequest llama_on_8() {
    SearchRequest request;
    request.base.model = "llama3-8b";
    request.base.cluster = "dgx-h100";
    request.base.gpus = 8;
    request.base.gbs = 32;
    request.threads = 2;
    return request;
}

/// The winner is a simulated plan: its flags give the same figures again.
TEST(Search, FlagsOfAPlanGiveItsFigures) {
    const SearchOutcome result = search(llama_on_8());
    ASSERT_FALSE(result.plans.empty());
    for (const FoundPlan& found : result.plans) {
        const Evaluation e = evaluate(resolve(merge(result.base, found.plan)));
        EXPECT_EQ(e.report.summary.step_time_ms, found.summary.step_time_ms);
        EXPECT_EQ(e.report.summary.peak_memory, found.summary.peak_memory);
    }
}

/// 126 layers do not divide by 16 stages; with embedding and loss in the place of a layer each they do.
TEST(Search, KnowsLayoutsWithEndsAsLayers) {
    SearchRequest request;
    request.base.model = "llama3-405b";
    request.base.cluster = "dgx-h100";
    request.base.gpus = 1024;
    request.base.gbs = 128;
    request.constraints = {{"tp", "8"}, {"cp", "1"}, {"pp", "16"}, {"mbs", "1"}, {"schedule", "1f1b"}};
    const Space space = make_space(request);
    ASSERT_EQ(space.forms.size(), 1U);
    EXPECT_TRUE(space.forms.front().ends_in_split);
    const std::vector<StageContents> layout = stage_layout(test::job_of(space, {0, 0, 0, 0, 0}));
    EXPECT_EQ(layout.front().layers, 7);
    EXPECT_EQ(layout[1].layers, 8);
    EXPECT_EQ(layout.back().layers, 7);
}

/// A part of the layers is enough where all of them would be too much: the best plan gets faster.
TEST(Search, RecomputesAPartOfTheLayers) {
    SearchRequest request = llama_on_8();
    request.constraints = {{"tp", "2"}, {"cp", "1"}, {"pp", "1"}, {"mbs", "2"}, {"zero", "1"}, {"recompute", "none"}};
    request.max_memory_gib = 1.0;
    request.relax = false;
    request.max_memory_gib = search(request).closest_need_gib.value() - 0.5;
    request.constraints["recompute"] = "none,full";
    const SearchOutcome whole = search(request);
    ASSERT_FALSE(whole.plans.empty());
    ASSERT_EQ(whole.plans.front().plan.recompute, "full");
    request.constraints["recompute"] = "none,full,partial";
    const SearchOutcome some = search(request);
    EXPECT_LT(some.plans.front().summary.step_time_ms, whole.plans.front().summary.step_time_ms);
    EXPECT_EQ(some.plans.front().plan.recompute_method, "block");
    EXPECT_GT(some.plans.front().summary.peak_memory, whole.plans.front().summary.peak_memory);
}

/// Counts of layers that are named hold for both methods, and are refused where stages are too small.
TEST(Search, TakesCountsOfLayers) {
    SearchRequest request = llama_on_8();
    request.base.num_layers = 8;
    request.constraints = {{"tp", "1"}, {"pp", "1,2"}, {"recompute", "full"}, {"recompute_num_layers", "3,6"}};
    std::set<std::string> forms;
    const test::BoundedSpace bounded = test::bounded_space(request);
    for (const Candidate& plan : bounded.plans) {
        const Job job = test::job_of(bounded.space, plan.key);
        forms.insert(std::to_string(job.plan.pp) + (job.plan.recompute_method == RecomputeMethod::block ? "b" : "u") +
                     std::to_string(job.plan.recompute_num_layers));
    }
    EXPECT_EQ(forms, (std::set<std::string>{"1b3", "1b6", "1u3", "1u6", "2b3", "2u3"}));
    EXPECT_GT(make_space(request).infeasible.at("recompute_num_layers, offload_activation_layers, num_layers, pp, vpp"),
              0);
}

/// Without replicas overlaps mean nothing: each plan comes once, and those left out would be its twins.
TEST(Search, LeavesOutOverlapsOfNothing) {
    SearchRequest request = llama_on_8();
    request.space = SpaceKind::full;
    request.constraints = {{"tp", "4"},
                           {"cp", "1"},
                           {"pp", "1,2"},
                           {"mbs", "2"},
                           {"schedule", "none,1f1b"},
                           {"recompute", "full"},
                           {"data_parallel", "ddp"},
                           {"precision", "bf16"},
                           {"tp_comm_overlap", "off"},
                           {"offload_activation_layers", "0"}};
    const auto plans_by_replicas = [&] {
        std::map<int, int> plans;
        const test::BoundedSpace bounded = test::bounded_space(request);
        for (const Candidate& plan : bounded.plans) ++plans[test::job_of(bounded.space, plan.key).plan.dp];
        return plans;
    };
    const std::map<int, int> free = plans_by_replicas();
    request.constraints["overlap_grad_reduce"] = "on,off";
    request.constraints["overlap_param_gather"] = "on,off";
    const test::BoundedSpace named = test::bounded_space(request);
    std::map<std::string, std::set<std::pair<double, ByteCount>>> twins;
    std::map<int, int> all;
    for (const Candidate& plan : named.plans) {
        const Job job = test::job_of(named.space, plan.key);
        ++all[job.plan.dp];
        if (job.plan.dp > 1) continue;
        JobRequest same = plan_request(named.space, plan.key);
        same.overlap_grad_reduce.reset();
        same.overlap_param_gather.reset();
        const Summary summary = evaluate(job).report.summary;
        twins[request_flags(same)].emplace(summary.step_time_ms, summary.peak_memory);
    }
    EXPECT_EQ(free.at(1), static_cast<int>(twins.size()));
    EXPECT_GT(all.at(1), free.at(1));
    for (const auto& [flags, figures] : twins) EXPECT_EQ(figures.size(), 1U) << flags;
}

/// What the job says of numerics and overlaps holds for all plans, unless a list takes its place.
TEST(Search, KeepsWhatTheJobSays) {
    SearchRequest request = llama_on_8();
    request.base.precision = "fp8";
    request.base.order = "tp-cp-ep-pp-dp";
    request.space = SpaceKind::full;
    const std::map<std::string, std::string> few = {{"tp", "2"}, {"mbs", "1"}, {"pp", "2"}, {"schedule", "1f1b"}};
    request.constraints = few;
    const Space kept = make_space(request);
    EXPECT_EQ(kept.precisions, std::vector<Precision>{Precision::fp8});
    EXPECT_EQ(kept.orders, std::vector<std::string>{"tp-cp-ep-pp-dp"});
    request.constraints["precision"] = "bf16,fp8";
    EXPECT_EQ(make_space(request).precisions, (std::vector<Precision>{Precision::bf16, Precision::fp8}));
    request.base.precision.reset();
    request.base.order.reset();
    request.constraints = few;
    const Space full = make_space(request);
    EXPECT_EQ(full.precisions, (std::vector<Precision>{Precision::bf16, Precision::fp8}));
    EXPECT_EQ(full.orders.size(), 2U);
    request.space = SpaceKind::usual;
    const Space usual = make_space(request);
    EXPECT_EQ(usual.precisions.size(), 1U);
    EXPECT_EQ(usual.orders, std::vector<std::string>{"tp-cp-ep-dp-pp"});
    for (const Sharding& sharding : usual.shardings) EXPECT_FALSE(sharding.offload_optimizer.has_value());
}

TEST(Search, LooksForNoRoomWhereNotAsked) {
    SearchRequest request = llama_on_8();
    request.constraints = {{"tp", "1"}, {"pp", "1"}, {"zero", "0"}};
    request.relax = false;
    const SearchOutcome result = search(request);
    EXPECT_TRUE(result.plans.empty());
    EXPECT_TRUE(result.closest.has_value());
    EXPECT_TRUE(result.relaxations.empty());
    EXPECT_FALSE(result.sought_relaxations);
}

TEST(Search, BoundsStopWhenAsked) {
    std::stop_source source;
    source.request_stop();
    EXPECT_TRUE(bound_plans(llama_on_8(), source.get_token()).stopped);
}

TEST(Search, SaysWhatToRelaxWhereNothingFits) {
    SearchRequest request = llama_on_8();
    request.constraints = {{"tp", "1"}, {"pp", "1"}, {"zero", "0"}};
    const SearchOutcome result = search(request);
    EXPECT_TRUE(result.plans.empty());
    ASSERT_TRUE(result.closest_need_gib.has_value());
    EXPECT_GT(*result.closest_need_gib, result.memory_limit_gib);
    ASSERT_FALSE(result.relaxations.empty());
    for (const Relaxation& relaxation : result.relaxations) {
        const Evaluation e = evaluate(resolve(merge(merge(result.base, relaxation.plan.plan), {})));
        EXPECT_TRUE(e.report.summary.fits) << relaxation.change;
    }
}

/// What the closest plan needs is enough, and a hundredth of a GiB less is not.
TEST(Search, SaysHowMuchMemoryIsMissing) {
    SearchRequest request = llama_on_8();
    request.max_memory_gib = 12.0;
    const SearchOutcome none = search(request);
    ASSERT_TRUE(none.plans.empty());
    ASSERT_TRUE(none.closest_need_gib.has_value());
    request.max_memory_gib = *none.closest_need_gib + 0.01;
    EXPECT_FALSE(search(request).plans.empty());
    request.max_memory_gib = *none.closest_need_gib - 0.01;
    EXPECT_TRUE(search(request).plans.empty());
}

TEST(Search, StopsWhenAsked) {
    std::stop_source source;
    source.request_stop();
    const SearchOutcome result = search(llama_on_8(), {}, source.get_token());
    EXPECT_TRUE(result.stopped);
    EXPECT_TRUE(result.plans.empty());
}

TEST(Search, ReportsProgress) {
    SearchRequest request = llama_on_8();
    std::int64_t simulated = 0;
    double ratio = 0.0;
    const SearchOutcome result = search(request, [&](const SearchProgress& progress) {
        if (std::string_view(progress.phase) != "simulation") return;
        EXPECT_GE(progress.done_ratio, ratio);
        ratio = progress.done_ratio;
        simulated = progress.simulated;
    });
    EXPECT_EQ(simulated, result.simulated);
    EXPECT_EQ(ratio, 1.0);
}

void expect_refusal(const SearchRequest& request, const std::string& text) {
    try {
        search(request);
        FAIL() << "not refused: " << text;
    } catch (const InputError& error) {
        EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
    }
}

TEST(Search, RefusesWhatItDoesNotCover) {
    SearchRequest request = llama_on_8();
    request.constraints["schedule"] = "pipedream";
    expect_refusal(request, "changes the numerics");
    request.constraints["schedule"] = "1f1b-vocab-1";
    expect_refusal(request, "spreads the vocabulary");
    request.constraints = {{"tp", "1..x"}};
    expect_refusal(request, "'x' in '1..x' is no whole number");
    request.constraints = {{"tp", "8..2"}};
    expect_refusal(request, "runs downwards");
    request.constraints = {{"tp", "33..63"}};
    expect_refusal(request, "'33..63' allows no value; nearest: 8");
    request.constraints = {{"tp", "5..7"}};
    expect_refusal(request, "'5..7' allows no value; nearest: 4 or 8");
    request.constraints = {{"zero", "4"}};
    expect_refusal(request, "0, 1, 2 or 3");
    request.constraints = {{"data_parallel", "horovod"}};
    expect_refusal(request, "horovod is not searched over");
    request.constraints = {{"data_parallel", "fsdp2"}, {"zero", "1"}};
    expect_refusal(request, "FSDP is 3");
    request.constraints = {{"precision", "bf16,nvfp4"}};
    expect_refusal(request, "has no peak rate for nvfp4; it has ");
    request.constraints = {{"order", "tp-cp-ep-dp"}};
    expect_refusal(request, "must name tp, cp, ep, dp and pp once each");
    request.constraints = {{"offload_optimizer", "maybe"}};
    expect_refusal(request, "'maybe': on or off");
    request.constraints = {{"recompute", "some"}};
    expect_refusal(request, "--recompute");
    request.constraints.clear();
    request.base.contention = "links";
    expect_refusal(request, "--contention");
    request.base.contention.reset();
    request.base.layout = "16,16";
    expect_refusal(request, "--layout");
    request.base.layout.reset();
    request.base.gbs.reset();
    expect_refusal(request, "--gbs");
}

/// Plans that are ruled out are counted by the fields of the rule.
TEST(Search, CountsWhatIsInfeasible) {
    SearchRequest request = llama_on_8();
    request.constraints = {{"tp", "1,3"}, {"pp", "1"}};
    EXPECT_EQ(search(request).infeasible.count("gpus, dp, tp, pp, cp"), 1U);
    request.base.gpus = 24;
    request.base.gbs = 24;
    EXPECT_EQ(search(request).infeasible.count("num_attention_heads, tp"), 1U);
}

}  // namespace
}  // namespace foreshard
