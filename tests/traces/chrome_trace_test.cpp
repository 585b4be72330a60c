#include "traces/chrome_trace.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <zlib.h>

#include "sim/error.hpp"
#include "tests/traces/trace_jobs.hpp"
#include "tests/traces/trace_reader.hpp"

namespace foreshard {
namespace {

using nlohmann::json;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

TEST(ChromeTrace, GivesMessagesInFlightTogetherLanesOfTheirOwn) {
    const Trace trace(evaluate_request(long_hop()));
    const std::set<std::string> names = trace.thread_names();
    EXPECT_THAT(names, Contains("send activation to 1"));
    EXPECT_THAT(names, Contains("send activation to 1 (2)"));
    // A hop is ten passes long and a message leaves every pass, so eleven cannot share a lane.
    EXPECT_THAT(names, Contains("send activation to 1 (10)"));
    EXPECT_THAT(names, Not(Contains("send activation to 1 (11)")));
}

TEST(ChromeTrace, KeepsMessagesOfZeroLengthAsInstants) {
    const Evaluation evaluation = evaluate_request(no_hop());
    const Trace trace(evaluation);
    const std::vector<json> instants = trace.events("i");
    // 12 micro-batches over 3 boundaries, both directions, both ends.
    EXPECT_THAT(instants, SizeIs(12 * 3 * 2 * 2));
    for (const json& event : instants) EXPECT_EQ(event["s"], "t");
    EXPECT_THAT(trace.thread_names(), Not(Contains("send activation to 1 (2)")));
}

TEST(ChromeTrace, NamesRanksAndPasses) {
    const Trace trace(evaluate_request(interleaved()));
    std::vector<std::string> processes;
    for (const json& event : trace.events("M")) {
        if (event["name"] == "process_name") processes.push_back(event["args"]["name"]);
    }
    ASSERT_THAT(processes, SizeIs(4));
    EXPECT_EQ(processes[3], "pp rank 3 (stages 3, 7)");
    const auto second_chunk = [](const Span& span) {
        return span.pid == 3 && span.tid == 0 && span.event["args"].value("key", "") == "7F5";
    };
    const auto found = std::find_if(trace.spans.begin(), trace.spans.end(), second_chunk);
    ASSERT_NE(found, trace.spans.end());
    EXPECT_EQ(found->event["name"], "F mb5 c1");
    EXPECT_EQ(found->event["args"]["chunk"], 1);
}

TEST(ChromeTrace, ExplainsTheLaneOfCollectives) {
    const Trace with(evaluate_request(tensor_parallel()));
    EXPECT_THAT(with.thread_names(), Contains("collectives inside passes"));
    EXPECT_THAT(with.root["otherData"]["notes"].dump(), HasSubstr("drawn behind its compute"));
    const Trace without(evaluate_request(one_f_one_b()));
    EXPECT_THAT(without.thread_names(), Not(Contains("collectives inside passes")));
    EXPECT_THAT(without.root["otherData"]["notes"], IsEmpty());
}

TEST(ChromeTrace, LeavesArrowsOutOfAHugeTraceAndSaysSo) {
    const Evaluation evaluation = evaluate_request(one_f_one_b());
    const Trace whole(evaluation);
    const auto events = static_cast<std::int64_t>(whole.root["traceEvents"].size());
    const auto arrows = static_cast<std::int64_t>(whole.events("s").size() + whole.events("f").size());
    EXPECT_THAT(Trace(evaluation, {.most_events = events}).warnings, IsEmpty());

    const Trace cut(evaluation, {.most_events = events - 1});
    EXPECT_THAT(cut.events("s"), IsEmpty());
    EXPECT_THAT(cut.events("f"), IsEmpty());
    EXPECT_THAT(cut.root["traceEvents"], SizeIs(events - arrows));
    ASSERT_THAT(cut.warnings, SizeIs(1));
    EXPECT_EQ(cut.root["otherData"]["notes"][0], cut.warnings[0]);

    EXPECT_THAT(Trace(evaluation, {.most_events = 10}).warnings, SizeIs(2));
}

TEST(ChromeTrace, EscapesNames) {
    Evaluation evaluation = evaluate_request(one_f_one_b());
    evaluation.job.model.id = "a \"quoted\\\" name\n\x01 with \xff";
    const Trace trace(evaluation);
    EXPECT_EQ(trace.root["otherData"]["model"], "a \"quoted\\\" name\n\x01 with \xef\xbf\xbd");
}

class ChromeTraceFile : public testing::Test {
protected:
    /// Tests run in parallel, each in a process of its own.
    std::string path(const std::string& name) const {
        return (folder_ / (testing::UnitTest::GetInstance()->current_test_info()->name() + name)).string();
    }

    std::string read(const std::string& file) {
        written_.push_back(file);
        std::ifstream in(file, std::ios::binary);
        std::ostringstream text;
        text << in.rdbuf();
        return text.str();
    }

    void TearDown() override {
        for (const std::string& file : written_) std::filesystem::remove(file);
    }

    const Evaluation evaluation = evaluate_request(one_f_one_b());

private:
    std::filesystem::path folder_ = testing::TempDir();
    std::vector<std::string> written_;
};

std::string unzip(const std::string& path) {
    const gzFile file = gzopen(path.c_str(), "rb");
    std::string text;
    std::vector<char> piece(1U << 16);
    for (int got = 1; got > 0;) {
        got = gzread(file, piece.data(), static_cast<unsigned>(piece.size()));
        if (got > 0) text.append(piece.data(), static_cast<std::size_t>(got));
    }
    EXPECT_EQ(gzclose(file), Z_OK);
    return text;
}

TEST_F(ChromeTraceFile, HoldsWhatTheStreamGets) {
    write_chrome_trace(path(".json"), evaluation);
    EXPECT_EQ(read(path(".json")), Trace(evaluation).text);
}

TEST_F(ChromeTraceFile, IsCompressedWhenItsNameEndsInGz) {
    write_chrome_trace(path(".json.gz"), evaluation);
    const std::string packed = read(path(".json.gz"));
    const std::string text = Trace(evaluation).text;
    EXPECT_EQ(packed.substr(0, 2), "\x1f\x8b");
    EXPECT_LT(packed.size(), text.size() / 5);
    EXPECT_EQ(unzip(path(".json.gz")), text);
    write_chrome_trace(path(".json.gz"), evaluation);
    EXPECT_EQ(read(path(".json.gz")), packed);
}

TEST_F(ChromeTraceFile, IsNamedWhenItCannotBeOpened) {
    for (const char* name : {"/nonexistent/trace.json", "/nonexistent/trace.json.gz", "/"}) {
        try {
            write_chrome_trace(std::string(name), evaluation);
            ADD_FAILURE() << name;
        } catch (const InputError& error) {
            EXPECT_EQ(error.source(), name);
            EXPECT_THAT(error.what(), HasSubstr("cannot be opened: "));
        }
    }
}

TEST_F(ChromeTraceFile, IsNamedWhenTheDiskIsFull) {
    for (const char* name : {"/dev/full"}) {
        if (!std::filesystem::exists(name)) GTEST_SKIP() << "no " << name;
        EXPECT_THROW(write_chrome_trace(std::string(name), evaluation), InputError);
    }
}

}  // namespace
}  // namespace foreshard
