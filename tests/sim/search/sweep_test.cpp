#include "sim/search/sweep.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "sim/engine/evaluate.hpp"
#include "sim/error.hpp"
#include "sim/search/json_sweep.hpp"
#include "sim/search/sizes.hpp"
#include "sim/search/text_sweep.hpp"
#include "sim/spec/request_text.hpp"
#include "tests/support/schema.hpp"
#include "tests/support/search_spaces.hpp"
#include "traces/read_search.hpp"

/// Several sizes in one search.
namespace foreshard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Sizes, RangesStandForSizesThatMakeSense) {
    EXPECT_THAT(parse_gpu_sizes("64..1000", 8), ElementsAre(64, 128, 256, 512));
    EXPECT_THAT(parse_gpu_sizes("1..16", 8), ElementsAre(1, 2, 4, 8, 16));
    EXPECT_THAT(parse_gpu_sizes("1..24", 6), ElementsAre(1, 2, 3, 6, 12, 24));
    EXPECT_THAT(parse_gpu_sizes("72..576", 4), ElementsAre(128, 256, 512));
    EXPECT_THAT(parse_gpu_sizes("24,8,8..16", 8), ElementsAre(8, 16, 24));
    EXPECT_THAT(parse_gpu_sizes("8..32:8", 8), ElementsAre(8, 16, 24, 32));
    EXPECT_THAT(parse_node_sizes("2..9", 8), ElementsAre(16, 32, 64));
    EXPECT_THAT(parse_node_sizes("3,5", 8), ElementsAre(24, 40));
    EXPECT_THAT(parse_batch_sizes("96..500"), ElementsAre(96, 192, 384));
}

template <class Parse>
void expect_size_refused(const Parse& parse, const std::string& text) {
    try {
        parse();
        FAIL() << "not refused: " << text;
    } catch (const InputError& error) {
        EXPECT_THAT(error.what(), HasSubstr(text));
    }
}

TEST(Sizes, SayWhatIsMalformed) {
    expect_size_refused([] { parse_gpu_sizes("64..x", 8); }, "--gpus: 'x' in '64..x' is no whole number");
    expect_size_refused([] { parse_gpu_sizes("0", 8); }, "'0' in '0' is no whole number from 1 on");
    expect_size_refused([] { parse_gpu_sizes("64..32", 8); }, "runs downwards");
    expect_size_refused([] { parse_gpu_sizes("65..127", 8); }, "holds no size: it stands for a node times powers of");
    expect_size_refused([] { parse_node_sizes("9..15", 8); }, "--nodes: the range '9..15' holds no size");
    expect_size_refused([] { parse_batch_sizes("8,,16"); }, "--gbs: '8,,16' has an empty part");
    expect_size_refused([] { parse_batch_sizes("1..5000:1"); }, "has over 1000 sizes");
    expect_size_refused([] { parse_node_sizes("2000000000", 8); }, "is out of range");
}

SweepRequest tiny_sweep() {
    SweepRequest request;
    request.search.base.model = "gpt-tiny";
    request.search.base.cluster = "dgx-a100-80g";
    request.search.base.overlap_p2p = true;
    request.search.constraints = {{"tp", "1..2"}, {"cp", "1"}, {"mbs", "1..2"}, {"recompute", "none"}};
    request.search.objective.kind = Objective::tokens_per_s_per_gpu;
    request.search.objective.operation.price_usd_per_gpu_hour = 2.0;
    request.search.top = 3;
    request.search.threads = 1;
    request.gpus = {2, 4, 8};
    request.batches = {8, 16};
    return request;
}

/// A sweep is its single searches.
TEST(Sweep, FindsWhatSingleSearchesFind) {
    const SweepRequest request = tiny_sweep();
    const SweepOutcome result = sweep(request);
    ASSERT_EQ(result.points.size(), 6U);
    std::size_t plans = 0;
    for (const SweepPoint& point : result.points) {
        SearchRequest alone = request.search;
        alone.base.gpus = point.gpus;
        alone.base.gbs = point.gbs;
        const SearchOutcome outcome = search(alone);
        ASSERT_TRUE(point.feasible()) << point.reason;
        EXPECT_EQ(test::plans_told(*point.outcome), test::plans_told(outcome));
        EXPECT_EQ(point.outcome->front, outcome.front);
        EXPECT_EQ(point.outcome->infeasible, outcome.infeasible);
        plans += outcome.plans.size();
    }
    EXPECT_EQ(result.plans.size(), plans);
}

/// Up to rounding: values of the objective are not computed from the printed figures.
void expect_falling(const SweepOutcome& result, double Summary::*figure) {
    for (std::size_t i = 1; i < result.plans.size(); ++i) {
        const double before = result.plan(i - 1).summary.*figure;
        EXPECT_LE(result.plan(i).summary.*figure, before * (1.0 + 1e-12)) << i;
    }
}

TEST(Sweep, OrdersAllPlansByTheObjective) {
    expect_falling(sweep(tiny_sweep()), &Summary::tokens_per_s_per_gpu);
    SweepRequest request = tiny_sweep();
    request.search.objective.kind = Objective::step_time;
    expect_falling(sweep(request), &Summary::tokens_per_s);  // the time is that of a token
}

/// A front holds exactly the plans that no other plan beats in both.
template <class Cost>
void expect_front(const SweepOutcome& result, const std::vector<std::size_t>& front, const Cost& cost) {
    ASSERT_FALSE(front.empty());
    const auto beats = [&](std::size_t a, std::size_t b) {
        const double ta = -result.plan(a).summary.tokens_per_s;
        const double tb = -result.plan(b).summary.tokens_per_s;
        return std::tuple(ta, cost(a)) != std::tuple(tb, cost(b)) && ta <= tb && cost(a) <= cost(b);
    };
    for (std::size_t i = 0; i < result.plans.size(); ++i) {
        bool beaten = false;
        for (std::size_t j = 0; j < result.plans.size(); ++j) beaten |= beats(j, i);
        const bool listed = std::find(front.begin(), front.end(), i) != front.end();
        if (listed) {
            EXPECT_FALSE(beaten) << i;
        } else if (!beaten) {
            const bool twin =
                std::any_of(front.begin(), front.end(), [&](std::size_t f) { return cost(f) == cost(i); });
            EXPECT_TRUE(twin) << i << " is as good as one that is listed, or is missing";
        }
    }
}

TEST(Sweep, FrontsHoldWhatNoneBeats) {
    const SweepOutcome result = sweep(tiny_sweep());
    expect_front(result, result.front,
                 [&](std::size_t i) { return static_cast<double>(result.plan(i).summary.peak_memory); });
    expect_front(result, result.cost_front,
                 [&](std::size_t i) { return *result.plan(i).figures.cost_usd_per_million_tokens; });
    SweepRequest free = tiny_sweep();
    free.search.objective.operation = {};
    EXPECT_TRUE(sweep(free).cost_front.empty());
}

TEST(Sweep, ComparesWithTheSmallestSizeOfABatch) {
    const SweepOutcome result = sweep(tiny_sweep());
    for (const SweepPoint& point : result.points) {
        const auto smallest = std::find_if(result.points.begin(), result.points.end(),
                                           [&](const SweepPoint& other) { return other.gbs == point.gbs; });
        const auto speed = [](const SweepPoint& p) { return p.outcome->plans.front().summary.tokens_per_s_per_gpu; };
        EXPECT_DOUBLE_EQ(*point.efficiency_ratio, speed(point) / speed(*smallest));
    }
}

TEST(Sweep, SaysWhyASizeHasNoPlan) {
    SweepRequest request;
    request.search.base.model = "llama3-8b";
    request.search.base.cluster = "dgx-h100";
    request.search.constraints = {{"tp", "8"}, {"cp", "1"}, {"pp", "1"}, {"mbs", "1"}};
    request.search.top = 1;
    request.gpus = {4, 8};
    request.batches = {8};
    const SweepOutcome result = sweep(request);
    EXPECT_THAT(result.points[0].reason, HasSubstr("a rule on gpus, dp, tp, pp, cp"));
    EXPECT_FALSE(result.points[0].efficiency_ratio.has_value());
    EXPECT_TRUE(result.points[1].feasible());
    EXPECT_EQ(result.points[1].reason, "");
    EXPECT_THAT(sweep_text(result), HasSubstr("sizes without a plan\n       4      8 "));
    EXPECT_TRUE(sweep_advice(result).empty());
    request.search.max_memory_gib = 5.0;
    const SweepOutcome none = sweep(request);
    EXPECT_TRUE(none.plans.empty());
    EXPECT_THAT(none.points[1].reason, HasSubstr("no plan fits: "));
    EXPECT_GT(sweep_advice(none).size(), 2U) << "each size, and what would make room";
}

TEST(Sweep, RefusesWhatSuitsNoSize) {
    SweepRequest request = tiny_sweep();
    request.search.constraints["schedule"] = "pipedream";
    EXPECT_THROW(sweep(request), InputError);
    request = tiny_sweep();
    request.search.objective.operation = {};
    request.search.objective.kind = Objective::cost_per_token;
    EXPECT_THROW(sweep(request), InputError);
    request = tiny_sweep();
    request.search.top = 0;
    EXPECT_THROW(sweep(request), InputError);
}

/// A size whose double no job may have is not doubled to make room.
TEST(Sweep, RelaxesNoFurtherThanTheLargestJob) {
    SweepRequest request = tiny_sweep();
    request.search.constraints = {{"tp", "3"}, {"cp", "1"}, {"pp", "1"}};
    request.gpus = {600'000};
    request.batches = {8};
    const SweepOutcome result = sweep(request);
    EXPECT_FALSE(result.points.front().feasible());
    EXPECT_FALSE(sweep_advice(result).empty());
}

/// Progress is that of the whole: it never falls, and ends at 1.
TEST(Sweep, ReportsProgressOfAllSizes) {
    double ratio = 0.0;
    std::int64_t simulated = 0;
    const SweepOutcome result = sweep(tiny_sweep(), [&](const SearchProgress& progress) {
        EXPECT_STREQ(progress.phase, "sweep");
        EXPECT_GE(progress.done_ratio, ratio);
        EXPECT_GE(progress.simulated, simulated);
        ratio = progress.done_ratio;
        simulated = progress.simulated;
    });
    EXPECT_DOUBLE_EQ(ratio, 1.0);
    std::int64_t all = 0;
    for (const SweepPoint& point : result.points) all += point.outcome->simulated;
    EXPECT_EQ(simulated, all);
}

/// All plans that are told in the end were told on the way, each with its size.
TEST(Sweep, ResultsStream) {
    const SweepRequest request = tiny_sweep();
    std::multiset<std::string> streamed;
    const auto line = [](const SweepPoint& point, const FoundPlan& found) {
        return std::to_string(point.gpus) + " " + std::to_string(point.gbs) + " " + request_flags(found.plan);
    };
    const SweepOutcome result = sweep(request, {}, {}, [&](const SweepPoint& point, const Improvement& improvement) {
        streamed.insert(line(point, improvement.found));
        const auto json = nlohmann::json::parse(sweep_improvement_json(point, improvement));
        EXPECT_EQ(json.at("gpus"), point.gpus);
        EXPECT_EQ(json.at("batch").at("global_batch_size"), point.gbs);
    });
    for (std::size_t i = 0; i < result.plans.size(); ++i) {
        EXPECT_EQ(streamed.count(line(result.points[result.plans[i].point], result.plan(i))), 1U);
    }
}

/// What is told of the best plan is what its size's search by itself tells.
TEST(Sweep, ExplainsTheBest) {
    const SweepRequest request = tiny_sweep();
    SweepOutcome result = sweep(request);
    SweepPoint& best = result.best_point();
    const SearchRequest alone = point_request(request, best);
    best.outcome->neighbours = neighbours_of_best(alone, *best.outcome);
    const std::vector<Neighbour> expected = neighbours_of_best(alone, search(alone));
    ASSERT_FALSE(expected.empty());
    ASSERT_EQ(best.outcome->neighbours.size(), expected.size());
    const auto json = nlohmann::json::parse(sweep_json(result));
    EXPECT_EQ(test::violations("search", json), "");
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const nlohmann::json& told = json.at("neighbours").at(i);
        EXPECT_EQ(told.at("gpus"), best.gpus);
        EXPECT_EQ(told.at("axis"), expected[i].change.name);
        EXPECT_EQ(told.at("to"), expected[i].change.to);
    }
    EXPECT_THAT(sweep_text(result), HasSubstr("why not"));
    EXPECT_EQ(parse_search("sweep.json", sweep_json(result)).neighbours.size(), expected.size());
}

TEST(Sweep, KeepsWhatIsDoneWhenStopped) {
    std::stop_source source;
    const SweepOutcome result = sweep(
        tiny_sweep(),
        [&](const SearchProgress& progress) {
            if (progress.done_ratio >= 1.0 / 6.0) source.request_stop();
        },
        source.get_token());
    EXPECT_TRUE(result.stopped);
    EXPECT_TRUE(result.points.front().feasible());
    EXPECT_THAT(result.points.back().reason, HasSubstr("interrupted before it was searched"));
    EXPECT_FALSE(result.plans.empty());
    EXPECT_EQ(test::violations("search", nlohmann::json::parse(sweep_json(result))), "");
    const SweepOutcome nothing = sweep(tiny_sweep(), {}, source.get_token());
    EXPECT_TRUE(nothing.stopped);
    EXPECT_EQ(test::violations("search", nlohmann::json::parse(sweep_json(nothing))), "");
    EXPECT_THAT(sweep_text(nothing), HasSubstr("interrupted before it was searched"));
}

/// Times and threads alone differ between runs.
std::string steady(const std::string& text) {
    auto json = nlohmann::ordered_json::parse(text);
    json["threads"] = 1;
    json["estimate_elapsed_s"] = 0.0;
    json["elapsed_s"] = 0.0;
    return json.dump(1) + "\n";
}

TEST(SweepJson, DoesNotDependOnThreads) {
    SweepRequest request = tiny_sweep();
    const std::string one = steady(sweep_json(sweep(request)));
    request.search.threads = 4;
    EXPECT_EQ(steady(sweep_json(sweep(request))), one);
}

TEST(SweepJson, KeepsItsSchemaAndIsReadBack) {
    const SweepOutcome written = sweep(tiny_sweep());
    const std::string text = sweep_json(written);
    EXPECT_EQ(test::violations("search", nlohmann::json::parse(text)), "");
    const ReadSearch read = parse_search("sweep.json", text);
    ASSERT_EQ(read.plans.size(), written.plans.size());
    for (std::size_t i = 0; i < read.plans.size(); i += 5) {
        const Evaluation e = evaluate(resolve(read.plans[i].request));
        EXPECT_EQ(e.report.summary.step_time_ms, written.plan(i).summary.step_time_ms);
        EXPECT_EQ(e.job.gpus, written.points[written.plans[i].point].gpus);
    }
}

/// tests/golden/search-sweep.json; UPDATE_GOLDEN=1 rewrites it.
TEST(SweepJson, IsTheGoldenOne) {
    SweepRequest request = tiny_sweep();
    request.search.constraints["schedule"] = "1f1b";
    request.search.constraints["tp"] = "1";
    request.search.top = 1;
    request.gpus = {8, 11, 16};
    request.batches = {16};
    const std::string now = steady(sweep_json(sweep(request)));
    const std::string file = FORESHARD_SOURCE_DIR "/tests/golden/search-sweep.json";
    if (std::getenv("UPDATE_GOLDEN") != nullptr) std::ofstream(file) << now;
    std::ifstream in(file);
    std::stringstream golden;
    golden << in.rdbuf();
    EXPECT_EQ(now, golden.str());
}

TEST(SweepText, TellsCurveFrontsAndTheBest) {
    const SweepOutcome result = sweep(tiny_sweep());
    const std::string text = sweep_text(result);
    for (const char* part : {"scaling: the best plan of each size", "best plans of all sizes, by tokens-per-s-per-gpu",
                             "USD/Mtok", "for as little money", "foreshard simulate --model gpt-tiny"}) {
        EXPECT_THAT(text, HasSubstr(part));
    }
}

/// Every line has as many cells as the header, those of sizes without a plan too. No cell here holds a comma but
/// quoted ones.
TEST(SweepCsv, IsRectangular) {
    SweepRequest request = tiny_sweep();
    request.gpus = {3, 4, 8};
    request.batches = {16};
    request.search.constraints["tp"] = "1,2";
    request.search.constraints["pp"] = "2";
    std::istringstream lines(sweep_csv(sweep(request)));
    std::string line;
    std::size_t cells = 0;
    int rows = 0;
    while (std::getline(lines, line)) {
        std::size_t commas = 0;
        bool quoted = false;
        for (const char c : line) {
            quoted ^= c == '"';
            commas += c == ',' && !quoted ? 1 : 0;
        }
        if (rows++ == 0) cells = commas;
        EXPECT_EQ(commas, cells) << line;
    }
    EXPECT_GT(rows, 3);
}

}  // namespace
}  // namespace foreshard
