#include "sim/result/compare.hpp"

#include <cmath>
#include <numeric>
#include <sstream>

#include <gtest/gtest.h>

#include "sim/result/compare_text.hpp"
#include "sim/result/json_comparison.hpp"
#include "sim/result/waterfall.hpp"
#include "sim/result/without_bubbles.hpp"
#include "sim/spec/json_reader.hpp"
#include "tests/support/jobs.hpp"
#include "tests/support/runs.hpp"

namespace foreshard {
namespace {

template <class Array>
Picoseconds sum(const Array& values) {
    return std::accumulate(values.begin(), values.end(), Picoseconds{0});
}

class AnyPair : public testing::TestWithParam<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Seeds, AnyPair, testing::Range(std::uint64_t{1}, std::uint64_t{17}));

TEST_P(AnyPair, WaterfallSumsToTheDifference) {
    const foreshard::Run a = test::any_run(GetParam());
    const foreshard::Run b = test::any_run(GetParam() + 1000);
    const Waterfall w = waterfall(a, b);
    EXPECT_EQ(sum(w.a), a.step_time);
    EXPECT_EQ(sum(w.b), b.step_time);
    EXPECT_EQ(sum(w.difference), b.step_time - a.step_time);
    for (const Picoseconds part : w.a) EXPECT_GE(part, 0);
    for (const StepTerm term : largest_first(w)) EXPECT_NE(w.difference[static_cast<std::size_t>(term)], 0);
}

TEST_P(AnyPair, EveryComparedSpanIsMatchedOrListedOnce) {
    const foreshard::Run a = test::any_run(GetParam());
    const foreshard::Run b = test::any_run(GetParam() + 1000);
    const Comparison c = compare(a, b);
    EXPECT_EQ(c.pairs.size() + c.only_a.size() + c.outside_a, a.spans.size());
    EXPECT_EQ(c.pairs.size() + c.only_b.size() + c.outside_b, b.spans.size());
    EXPECT_EQ(std::accumulate(c.matched.begin(), c.matched.end(), std::size_t{0}), c.pairs.size());
    std::vector<bool> taken(b.spans.size(), false);
    for (const SpanPair& pair : c.pairs) {
        EXPECT_FALSE(taken[pair.b]);
        taken[pair.b] = true;
        EXPECT_EQ(a.spans.stage[pair.a], b.spans.stage[pair.b]);
        EXPECT_EQ(a.spans.microbatch[pair.a], b.spans.microbatch[pair.b]);
    }
    for (const std::size_t span : c.only_b) EXPECT_FALSE(taken[span]);
}

/// A trace that knows kinds only: passes pair off in the order of time on their rank.
TEST_P(AnyPair, ImportedSpansWithoutNumbersAreMatchedByOrder) {
    const foreshard::Run a = test::any_run(GetParam());
    foreshard::Run b = a;
    b.source = RunSource::imported;
    std::fill(b.spans.stage.begin(), b.spans.stage.end(), std::int16_t{-1});
    std::fill(b.spans.microbatch.begin(), b.spans.microbatch.end(), -1);
    const Comparison c = compare(a, b);
    EXPECT_EQ(c.match_ratio(), 1.0);
    EXPECT_EQ(c.matched[static_cast<std::size_t>(MatchLevel::exact)] + c.matched[2], c.pairs.size());
    for (const SpanPair& pair : c.pairs) EXPECT_EQ(pair.late, 0) << span_name(a.spans, pair.a);
}

TEST_P(AnyPair, ARunAgainstItselfDiffersByNothing) {
    const foreshard::Run a = test::any_run(GetParam());
    const Comparison c = compare(a, test::any_run(GetParam()));
    EXPECT_EQ(c.match_ratio(), 1.0);
    EXPECT_EQ(c.matched[static_cast<std::size_t>(MatchLevel::exact)], c.pairs.size());
    EXPECT_TRUE(c.settings.empty());
    EXPECT_TRUE(c.notes.empty());
    for (const SpanPair& pair : c.pairs) {
        EXPECT_EQ(pair.a, pair.b);
        EXPECT_EQ(pair.late, 0);
        EXPECT_EQ(pair.longer, 0);
    }
    const Waterfall w = waterfall(a, a);
    EXPECT_TRUE(largest_first(w).empty());
    for (const FigureDifference& figure : compare_figures(a, a)) EXPECT_EQ(figure.difference(), 0.0);
}

/// The figures as they are printed, in microseconds.
TEST_P(AnyPair, PrintedWaterfallSumsToThePrintedDifference) {
    const foreshard::Run a = test::any_run(GetParam());
    const foreshard::Run b = test::any_run(GetParam() + 1000);
    std::istringstream lines(compare_text(a, b, compare(a, b)));
    std::string line;
    while (std::getline(lines, line) && line.find("B - A") == std::string::npos) continue;
    ASSERT_TRUE(lines) << "no waterfall";
    const auto last_number = [](const std::string& of) {
        return std::llround(1e3 * std::stod(of.substr(of.find_last_of(' '))));
    };
    long long terms = 0;
    while (std::getline(lines, line) && !line.starts_with("  step ")) terms += last_number(line);
    EXPECT_EQ(terms, last_number(line)) << line;
    EXPECT_NEAR(static_cast<double>(terms), static_cast<double>(b.step_time - a.step_time) / 1e6, 0.5);
}

TEST_P(AnyPair, EqualRunsDifferByNothingInTextAndJson) {
    const foreshard::Run a = test::any_run(GetParam());
    const Comparison c = compare(a, a);
    const std::string text = compare_text(a, a, c);
    EXPECT_EQ(text.substr(0, 3), "A  ") << text;
    for (const char* line : {"Settings: none differ\n", "The steps take equally long\n", "100.0 % of the spans match",
                             "  only in A: 0", "  only in B: 0"}) {
        EXPECT_NE(text.find(line), std::string::npos) << line << text;
    }
    EXPECT_EQ(text.find("figure "), std::string::npos) << text;
    const Json json = parse_json(comparison_json({a, a}, {c}), "comparison");
    const Json& pair = json.at("comparisons").at(0);
    EXPECT_TRUE(pair.at("settings").empty());
    EXPECT_TRUE(pair.at("notes").empty());
    EXPECT_EQ(pair.at("difference_ms"), 0.0);
    for (const auto& [term, ms] : pair.at("waterfall_ms").items()) EXPECT_EQ(ms, 0.0) << term;
    for (const auto& [key, figure] : pair.at("figures").items()) EXPECT_EQ(figure.at("difference"), 0.0) << key;
    EXPECT_EQ(pair.at("matching").at("match_ratio"), 1.0);
    EXPECT_TRUE(pair.at("matching").at("only_a").empty());
    EXPECT_TRUE(pair.at("matching").at("only_b").empty());
}

/// Terms in JSON are milliseconds to the picosecond.
TEST_P(AnyPair, WaterfallInJsonSumsToThePicosecond) {
    const foreshard::Run a = test::any_run(GetParam());
    const foreshard::Run b = test::any_run(GetParam() + 1000);
    const Json json = parse_json(comparison_json({a, b}, {compare(a, b)}), "comparison");
    const Json& pair = json.at("comparisons").at(0);
    long long terms = 0;
    for (const auto& [term, ms] : pair.at("waterfall_ms").items()) terms += std::llround(1e9 * ms.get<double>());
    EXPECT_EQ(terms, b.step_time - a.step_time);
    EXPECT_EQ(std::llround(1e9 * pair.at("difference_ms").get<double>()), b.step_time - a.step_time);
}

TEST(CompareFigures, BeginWithWhatAPlanIsJudgedBy) {
    foreshard::Run run = test::any_run(3);
    run.figures["a.figure.of.another.program"] = 1.0;
    std::vector<std::string> keys;
    for (const FigureDifference& figure : compare_figures(run, run)) keys.push_back(figure.key);
    ASSERT_EQ(keys.size(), run.figures.size());
    EXPECT_EQ(keys.front(), "step_time_ms");
    EXPECT_EQ(keys.back(), "a.figure.of.another.program");
    const auto place = [&](const char* key) { return std::find(keys.begin(), keys.end(), key) - keys.begin(); };
    const char* const order[] = {"step_time_ms", "tokens_per_s",       "mfu_ratio",
                                 "bubble_ratio", "exposed_comm_ms.dp", "peak_memory_bytes"};
    for (std::size_t i = 1; i < std::size(order); ++i) EXPECT_LT(place(order[i - 1]), place(order[i])) << order[i];
}

TEST_P(AnyPair, SwappingTheRunsTurnsEveryDifference) {
    const foreshard::Run a = test::any_run(GetParam());
    const foreshard::Run b = test::any_run(GetParam() + 1000);
    const Comparison forth = compare(a, b);
    const Comparison back = compare(b, a);
    EXPECT_EQ(forth.match_ratio(), back.match_ratio());
    EXPECT_EQ(forth.only_a, back.only_b);
    EXPECT_EQ(forth.settings.size(), back.settings.size());
    const Waterfall w = waterfall(a, b);
    const Waterfall v = waterfall(b, a);
    for (std::size_t i = 0; i < w.difference.size(); ++i) EXPECT_EQ(w.difference[i], -v.difference[i]);
}

/// The step is the busiest rank's work: no bubble is left, and no rank's work changed.
TEST_P(AnyPair, WithoutBubblesOnlyImbalanceIsLeft) {
    const foreshard::Run a = test::any_run(GetParam());
    const foreshard::Run ideal = without_bubbles(a);
    EXPECT_LE(ideal.step_time, a.step_time);
    ASSERT_EQ(ideal.accounts.size(), a.accounts.size());
    Picoseconds busiest = 0;
    for (std::size_t r = 0; r < a.accounts.size(); ++r) {
        EXPECT_EQ(sum(ideal.accounts[r]), ideal.step_time);
        EXPECT_EQ(busy_time(ideal.accounts[r]), busy_time(a.accounts[r]));
        EXPECT_EQ(ideal.accounts[r][static_cast<std::size_t>(Account::exposed_pp)], 0);
        busiest = std::max(busiest, ideal.step_time - ideal.accounts[r][static_cast<std::size_t>(Account::bubble)]);
    }
    EXPECT_EQ(busiest, ideal.step_time);
    for (const SpanRow& row : ideal.spans.rows) {
        if (row.lane != SpanLane::compute) continue;
        for (std::size_t s = row.first + 1; s < row.last; ++s) EXPECT_EQ(ideal.spans.start[s], ideal.spans.end[s - 1]);
    }
    EXPECT_EQ(sum(waterfall(a, ideal).difference), ideal.step_time - a.step_time);
}

/// 1F1B and ZB-H1 with f = i = w: the same work, so only bubble and the names of its parts change. Bubble per rank:
/// (p - 1)(f + b) against (p - 1)(f + i - w).
TEST(Compare, ZeroBubbleAgainst1F1B) {
    const foreshard::Run a = test::run_of(test::timed_job(ScheduleKind::one_f_one_b, 4, 8, 1, 10, 10, 10));
    const foreshard::Run b = test::run_of(test::timed_job(ScheduleKind::zb_h1, 4, 8, 1, 10, 10, 10));
    const Waterfall w = waterfall(a, b);
    const auto of = [&](StepTerm term) { return w.difference[static_cast<std::size_t>(term)]; };
    EXPECT_EQ(of(StepTerm::bubble), 3 * 10 - 3 * 30);
    EXPECT_EQ(of(StepTerm::imbalance), 0);
    EXPECT_EQ(of(StepTerm::backward) + of(StepTerm::weight_grad), 0);
    EXPECT_EQ(w.step_b - w.step_a, -60);

    const Comparison c = compare(a, b);
    // Forward passes match exactly, backward passes by their input gradients, weight gradients stand alone.
    std::size_t input_grads = 0;
    for (const SpanPair& pair : c.pairs) {
        if (b.spans.kind[pair.b] != SpanKind::input_grad) continue;
        EXPECT_EQ(pair.level, MatchLevel::similar);
        EXPECT_EQ(a.spans.kind[pair.a], SpanKind::backward);
        ++input_grads;
    }
    EXPECT_EQ(input_grads, 32U);
    EXPECT_EQ(c.only_b.size(), 32U);
    for (const std::size_t span : c.only_b) EXPECT_EQ(b.spans.kind[span], SpanKind::weight_grad);
    ASSERT_EQ(c.settings.size(), 1U);
    EXPECT_EQ(c.settings.front().name, "schedule");
    EXPECT_EQ(c.settings.front().a, "1f1b");
}

/// Stage 2 of 4 does twice the work: of the mean idle time, busiest minus mean is imbalance.
TEST(StepTerms, TellImbalanceFromBubble) {
    Job job = test::timed_job(ScheduleKind::gpipe, 4, 100, 1, 10, 20, 0);
    job.stage_times->stages[2].forward = 20;
    job.stage_times->stages[2].input_grad = 40;
    const foreshard::Run run = test::run_of(job);
    const StepTerms terms = step_terms(run);
    const Picoseconds busiest = 100 * 60;
    EXPECT_EQ(terms[static_cast<std::size_t>(StepTerm::imbalance)], busiest - (3 * 3000 + 6000) / 4);
    EXPECT_EQ(terms[static_cast<std::size_t>(StepTerm::bubble)], run.step_time - busiest);
}

TEST(StepTerms, RoundToWholePicoseconds) {
    foreshard::Run run;
    RankAccount first{};
    first[static_cast<std::size_t>(Account::forward)] = 1;
    first[static_cast<std::size_t>(Account::bubble)] = 9;
    RankAccount second{};
    second[static_cast<std::size_t>(Account::forward)] = 2;
    second[static_cast<std::size_t>(Account::backward)] = 8;
    run.accounts = {first, second, second};
    run.step_time = 10;
    EXPECT_EQ(sum(step_terms(run)), 10);
}

TEST(DifferingSettings, SayWhichSideLacksOne) {
    foreshard::Run a;
    foreshard::Run b;
    a.settings = {"tp 8", "schedule_file my file.csv", "only_a 1"};
    b.settings = {"tp 4", "schedule_file my file.csv", "only_b 2"};
    const std::vector<SettingDifference> d = differing_settings(a, b);
    ASSERT_EQ(d.size(), 3U);
    EXPECT_EQ(d[0].name + d[0].a + d[0].b, "tp84");
    EXPECT_EQ(d[1].name + d[1].a + d[1].b, "only_a1");
    EXPECT_EQ(d[2].name + d[2].a + d[2].b, "only_b2");
}

TEST(Compare, SaysWhenTheRunsDoDifferentWork) {
    JobRequest request = test::tiny_request(4, 8);
    const foreshard::Run a = test::run_of(test::valid_job(request));
    request.num_attention_heads = 2;
    request.mbs = 2;
    const foreshard::Run b = test::run_of(test::valid_job(request));
    const std::vector<std::string> notes = compare(a, b).notes;
    ASSERT_FALSE(notes.empty());
    EXPECT_NE(notes.front().find("micro_batch_size 1 and 2"), std::string::npos) << notes.front();
    EXPECT_NE(notes.front().find("heads"), std::string::npos) << notes.front();
    const std::string text = compare_text(a, b, compare(a, b));
    EXPECT_EQ(text.substr(0, text.find('\n')).substr(0, 51), "Different work: num_attention_heads 4 and 2, micro_")
        << text;
}

}  // namespace
}  // namespace foreshard
