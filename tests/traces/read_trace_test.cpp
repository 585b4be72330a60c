#include "traces/read_trace.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "sim/engine/evaluate.hpp"
#include "sim/error.hpp"
#include "sim/result/compare.hpp"
#include "sim/result/span_query.hpp"
#include "sim/stop.hpp"
#include "tests/support/jobs.hpp"
#include "tests/support/runs.hpp"
#include "traces/chrome_trace.hpp"

/// Traces of this program come back as the run that they were written of.
namespace foreshard {
namespace {

using testing::Contains;
using testing::HasSubstr;

std::string trace_text(const Evaluation& evaluation) {
    std::ostringstream out;
    write_chrome_trace(out, evaluation);
    return out.str();
}

class OwnTrace : public testing::TestWithParam<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Seeds, OwnTrace, testing::Range(std::uint64_t{1}, std::uint64_t{13}));

bool drawn_elsewhere(SpanKind kind) {
    return kind == SpanKind::tp || kind == SpanKind::cp || kind == SpanKind::ep;
}

/// Collectives inside passes are drawn at their end in views, at their place in traces; all else is equal.
TEST_P(OwnTrace, ComesBackAsItsRun) {
    const Evaluation e = evaluate(test::any_plan(GetParam()));
    const foreshard::Run simulated = make_run("a", e.job, e.graph, e.timeline, e.report);
    const foreshard::Run read = parse_trace("b", trace_text(e));
    EXPECT_EQ(read.step_time, simulated.step_time);
    EXPECT_EQ(read.spans.window_begin, simulated.spans.window_begin);
    EXPECT_EQ(read.spans.ranks.size(), simulated.spans.ranks.size());
    const Comparison c = compare(simulated, read);
    EXPECT_TRUE(c.only_a.empty()) << span_name(simulated.spans, c.only_a.front());
    EXPECT_TRUE(c.only_b.empty()) << span_name(read.spans, c.only_b.front());
    EXPECT_EQ(c.matched[static_cast<std::size_t>(MatchLevel::exact)], c.pairs.size());
    for (const SpanPair& pair : c.pairs) {
        EXPECT_EQ(pair.level, MatchLevel::exact)
            << span_name(simulated.spans, pair.a) << " is " << span_name(read.spans, pair.b);
        if (drawn_elsewhere(simulated.spans.kind[pair.a])) continue;
        EXPECT_EQ(pair.late, 0) << span_name(simulated.spans, pair.a);
        EXPECT_EQ(pair.longer, 0) << span_name(simulated.spans, pair.a);
    }
}

/// Host work and awaited copies inside passes: in a trace they are part of the pass.
bool spends_on_others(const Timeline& timeline) {
    return std::any_of(timeline.works.begin(), timeline.works.end(), [](const WorkDuration& work) {
        const auto spent = [&](Spent s) { return work.spent[static_cast<std::size_t>(s)]; };
        return spent(Spent::host) + spent(Spent::exposed_dp) + spent(Spent::offload) > 0;
    });
}

bool is_waiting(Account account) {
    return account == Account::exposed_pp || account == Account::exposed_dp || account == Account::exposed_offload ||
           account == Account::bubble;
}

/// Work is told exactly, to the rounding of parts of passes; waiting as a whole, since a trace does not say which of
/// the messages in flight a rank waits for.
TEST_P(OwnTrace, HasTheAccountsOfItsRun) {
    const Evaluation e = evaluate(test::any_plan(GetParam()));
    const foreshard::Run read = parse_trace("b", trace_text(e));
    ASSERT_EQ(read.accounts.size(), e.report.ranks.size());
    for (std::size_t r = 0; r < read.accounts.size(); ++r) {
        const RankAccount& account = read.accounts[r];
        EXPECT_EQ(std::accumulate(account.begin(), account.end(), Picoseconds{0}), read.step_time);
        if (spends_on_others(e.timeline)) continue;
        Picoseconds waiting = 0;
        for (std::size_t i = 0; i < account.size(); ++i) {
            const Picoseconds difference = account[i] - e.report.ranks[r].account[i];
            const auto part = static_cast<Account>(i);
            if (is_waiting(part)) {
                waiting += difference;
            } else {
                EXPECT_LE(std::abs(difference), 100'000) << to_string(part) << " of rank " << r;
            }
        }
        EXPECT_LE(std::abs(waiting), 100'000) << "rank " << r;
    }
}

/// One message at a time: what a rank waits for is then known.
TEST(OwnTraces, OfPlainPipelinesTellWaitingForMessagesFromBubbles) {
    for (const Picoseconds hop : {0, 3, 50}) {
        const Evaluation e =
            evaluate(test::timed_job(ScheduleKind::one_f_one_b, 4, 8, 1, 10'000, 20'000, 0, hop * 1000));
        const foreshard::Run read = parse_trace("b", trace_text(e));
        ASSERT_EQ(read.accounts.size(), 4U);
        for (std::size_t r = 0; r < 4; ++r) EXPECT_EQ(read.accounts[r], e.report.ranks[r].account) << hop << " " << r;
    }
}

TEST_P(OwnTrace, KeepsItsMemoryOverTime) {
    const Evaluation e = evaluate(test::any_plan(GetParam()));
    const foreshard::Run read = parse_trace("b", trace_text(e));
    ASSERT_EQ(read.memory.size(), e.report.ranks.size());
    for (std::size_t r = 0; r < read.memory.size(); ++r) {
        EXPECT_EQ(read.memory[r].peak, e.report.ranks[r].memory.peak);
        EXPECT_EQ(read.memory[r].states.total(), e.report.ranks[r].memory.states.total());
    }
}

std::string with_events(const std::string& events) {
    return R"({"traceEvents":[)" + events + "]}";
}

foreshard::Run parse(const std::string& events) {
    return parse_trace("t", with_events(events));
}

TEST(ReadTrace, TakesBeginAndEndEventsAndTextIds) {
    const foreshard::Run run = parse(R"(
        {"ph":"B","name":"F0","pid":"host a","tid":"main","ts":1.5},
        {"ph":"E","pid":"host a","tid":"main","ts":"4"},
        {"ph":"X","name":"B0","pid":"host a","tid":"main","ts":5,"dur":2e1},
        {"ph":"B","name":"W0","pid":"host a","tid":"main","ts":30},
        {"ph":"E","pid":"host a","tid":"other","ts":31})");
    ASSERT_EQ(run.spans.size(), 3U);
    EXPECT_EQ(run.spans.kind[0], SpanKind::forward);
    EXPECT_EQ(run.spans.end[0] - run.spans.start[0], 2'500'000);
    EXPECT_EQ(run.spans.end[1] - run.spans.start[1], 20'000'000);
    EXPECT_THAT(run.notes, Contains(HasSubstr("1 event end without a begin")));
    EXPECT_THAT(run.notes, Contains(HasSubstr("1 event begin without an end")));
    EXPECT_EQ(run.spans.start[0], 0);
}

TEST(ReadTrace, KeepsOverlappingEventsInFurtherRows) {
    const foreshard::Run run = parse(R"({"ph":"X","name":"F0","pid":0,"tid":0,"ts":0,"dur":10},
        {"ph":"X","name":"F1","pid":0,"tid":0,"ts":5,"dur":10},{"ph":"X","name":"F2","pid":0,"tid":0,"ts":12,"dur":1})");
    EXPECT_EQ(run.spans.size(), 3U);
    ASSERT_EQ(run.spans.rows.size(), 2U);
    EXPECT_EQ(run.spans.rows[1].overflow, 1);
    EXPECT_THAT(run.notes, Contains(HasSubstr("1 event overlap others")));
}

TEST(ReadTrace, TellsEveryEventThatItLeavesOutOrMends) {
    const foreshard::Run run = parse(R"({"ph":"X","name":"F0","pid":0,"tid":0,"ts":0,"dur":10},
        {"ph":"X","name":"F1","pid":0,"tid":0,"dur":10},{"ph":"X","name":"F2","pid":0,"tid":0,"ts":12},
        {"ph":"X","name":"F3","pid":0,"tid":0,"ts":13,"dur":-1},{"ph":"s","id":1,"ts":1},
        {"ph":"X","name":"F"4","pid":0},{"ph":"X","name":"F5","pid":0,"tid":0,"ts":20,"dur":1})");
    EXPECT_EQ(run.spans.size(), 4U);
    for (const char* note : {"1 event without a usable time", "1 event without a duration", "1 event end before",
                             "1 event are instants, counters or arrows", "1 event are no JSON"}) {
        EXPECT_THAT(run.notes, Contains(HasSubstr(note)));
    }
}

TEST(ReadTrace, BearsControlCharactersAndMissingEnd) {
    const foreshard::Run run = parse_trace("t",
                                           "[{\"ph\":\"X\",\"name\":\"F0\",\"cat\":\"a\x01\xff\n\",\"pid\":0,\"tid\":0,"
                                           "\"ts\":1,\"dur\":2},{\"ph\":\"X\",");
    EXPECT_EQ(run.spans.size(), 1U);
    EXPECT_THAT(run.notes, Contains(HasSubstr("cut short")));
}

TEST(ReadTrace, KeepsNanosecondsOfClocksSince1970) {
    const foreshard::Run run = parse(R"({"ph":"X","name":"F0","pid":0,"tid":0,"ts":1753700000123456.001,"dur":0.002},
        {"ph":"X","name":"F1","pid":0,"tid":0,"ts":1753700000123456.004,"dur":0.001})");
    EXPECT_EQ(run.spans.start[1] - run.spans.end[0], 1000);
}

TEST(ReadTrace, RefusesWhatIsNoTrace) {
    for (const char* text : {"", "{}", "nonsense", R"({"schema":"foreshard.job"})", "{\"traceEvents\":3}"}) {
        EXPECT_THROW(parse_trace("t", text), UnreadableFile) << text;
    }
    EXPECT_THROW(read_trace("/nowhere/trace.json"), UnreadableFile);
    EXPECT_THROW(parse_trace("t", with_events(R"({"ph":"X","ts":0,"dur":1},{"ph":"X","ts":1,"dur":1})"), {1, 1000}),
                 UnreadableFile);
}

TEST(ReadTrace, StopsWhenAsked) {
    std::stop_source stop;
    TraceLimits limits;
    limits.stop = stop.get_token();
    const std::string text = with_events(R"({"ph":"X","ts":0,"dur":1,"name":"F0"})");
    EXPECT_EQ(parse_trace("t", text, limits).spans.size(), 1U);
    stop.request_stop();
    EXPECT_THROW(parse_trace("t", text, limits), Stopped);
}

TEST(ReadTrace, OpensCompressedFiles) {
    const Evaluation e = evaluate(test::timed_job(ScheduleKind::one_f_one_b, 2, 4, 1, 10, 20, 0));
    const auto path = std::filesystem::temp_directory_path() / "foreshard_read_trace_test.json.gz";
    write_chrome_trace(path.string(), e);
    EXPECT_EQ(read_trace(path.string()).step_time, e.timeline.step_time());
    std::ofstream(path, std::ios::binary | std::ios::in | std::ios::ate) << "tail";
    EXPECT_NO_THROW(read_trace(path.string()));
    std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
    EXPECT_NO_THROW(read_trace(path.string()));  // what came before the damage is kept, or the error is ours
    std::filesystem::remove(path);
}

}  // namespace
}  // namespace foreshard
