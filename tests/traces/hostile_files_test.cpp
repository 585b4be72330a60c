#include <fstream>
#include <functional>
#include <numeric>
#include <sstream>

#include <gtest/gtest.h>

#include "sim/engine/evaluate.hpp"
#include "sim/error.hpp"
#include "sim/json_report.hpp"
#include "sim/result/compare.hpp"
#include "sim/result/span_query.hpp"
#include "sim/result/waterfall.hpp"
#include "sim/result/without_bubbles.hpp"
#include "tests/support/jobs.hpp"
#include "tests/support/mutate.hpp"
#include "traces/chrome_trace.hpp"
#include "traces/read_report.hpp"
#include "traces/read_search.hpp"
#include "traces/read_trace.hpp"

/// Files with random edits are read as a sound run, or refused as bad input; nothing else happens.
namespace foreshard {
namespace {

std::string file_text(const std::string& name) {
    std::ostringstream text;
    text << std::ifstream(std::string(FORESHARD_SOURCE_DIR "/tests/golden/") + name, std::ios::binary).rdbuf();
    return text.str();
}

Evaluation small_evaluation() {
    return evaluate(test::timed_job(ScheduleKind::zb_h1, 2, 2, 1, 10'000, 10'000, 10'000, 1'000));
}

std::string small_trace() {
    std::ostringstream out;
    write_chrome_trace(out, small_evaluation());
    return out.str();
}

void expect_sound(const foreshard::Run& run) {
    const SpanTable& spans = run.spans;
    for (std::size_t r = 0; r < spans.rows.size(); ++r) {
        const SpanRow& row = spans.rows[r];
        ASSERT_LT(row.rank, static_cast<int>(spans.ranks.size()));
        ASSERT_LE(row.last, spans.size());
        for (std::size_t s = row.first + 1; s < row.last; ++s) ASSERT_LE(spans.end[s - 1], spans.start[s]);
        for (const Gap& gap : row_gaps(spans, r)) ASSERT_GT(gap.length(), 0);
    }
    for (const RankAccount& account : run.accounts) {
        ASSERT_EQ(std::accumulate(account.begin(), account.end(), Picoseconds{0}), run.step_time);
        for (const Picoseconds part : account) ASSERT_GE(part, 0);
    }
}

/// All that views ask of a run.
void use(const foreshard::Run& run) {
    expect_sound(run);
    const Comparison itself = compare(run, run);
    EXPECT_EQ(itself.match_ratio(), 1.0);
    if (!run.accounts.empty()) {
        EXPECT_TRUE(largest_first(waterfall(run, run)).empty());
        expect_sound(without_bubbles(run));
    }
    for (const Gap& gap : gaps_by_length(run.spans)) EXPECT_FALSE(gap_text(run.spans, gap).empty());
    if (!run.spans.rows.empty()) area_totals(run.spans, 0, run.spans.rows.size() - 1, 0, run.spans.finish);
}

/// Returns how many of the texts were read, not refused.
int read_all(const std::string& text, int cases, const std::function<void(const std::string&)>& read) {
    int accepted = 0;
    for (int seed = 0; seed < cases; ++seed) {
        SCOPED_TRACE(seed);
        try {
            read(test::mutated(text, static_cast<std::uint64_t>(seed)));
            ++accepted;
        } catch (const InputError& error) {
            EXPECT_FALSE(std::string(error.what()).empty());
        }
    }
    return accepted;
}

void read_as_trace(const std::string& text) {
    use(parse_trace("t", text));
}

TEST(HostileFiles, TracesOfOursAreReadOrRefused) {
    // The scanner forgives: most traces with a few broken events are still read.
    EXPECT_GT(read_all(small_trace(), 800, read_as_trace), 500);
}

TEST(HostileFiles, TracesOfProfilersAreReadOrRefused) {
    EXPECT_GT(read_all(file_text("kineto-pp2-rank0.json"), 200, read_as_trace), 150);
}

TEST(HostileFiles, ReportsAreReadOrRefused) {
    const std::string report = report_json(small_evaluation(), {"", {}});
    const auto read = [](const std::string& text) {
        const ReadReport read_back = parse_report("r", text);
        mismatches(read_back, read_back.figures);
        use(run_of(read_back));
    };
    EXPECT_GT(read_all(report, 500, read), 5);
}

TEST(HostileFiles, SearchesAreReadOrRefused) {
    const auto read = [](const std::string& text) { parse_search("s", text); };
    EXPECT_GT(read_all(file_text("search-small.json"), 800, read), 25);
}

TEST(HostileFiles, DeepNestingIsRefused) {
    const std::string deep(100'000, '[');
    EXPECT_THROW(parse_report("r", deep), InputError);
    EXPECT_THROW(parse_search("s", deep), InputError);
    const foreshard::Run run = parse_trace(
        "t", R"({"traceEvents":[{"ph":"X","args":{"a":)" + deep + R"(},{"ph":"X","ts":0,"dur":1,"name":"F0"}]})");
    EXPECT_LE(run.spans.size(), 1U);
}

/// A row per overlapping event would take quadratic time and no screen could show it.
TEST(HostileFiles, ManyOverlappingEventsEndInTheNotes) {
    std::string text = "[";
    for (int i = 0; i < 2000; ++i) text += R"({"ph":"X","ts":0,"dur":5,"name":"x","pid":0,"tid":0},)";
    const foreshard::Run run = parse_trace("t", text);
    EXPECT_EQ(run.spans.rows.size(), 512U);
    EXPECT_NE(
        std::find(run.notes.begin(), run.notes.end(), "t: 1488 events overlap more than 512 others and are left out"),
        run.notes.end());
}

}  // namespace
}  // namespace foreshard
