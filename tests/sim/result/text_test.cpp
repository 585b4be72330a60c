#include "sim/result/text.hpp"

#include <sstream>

#include <gtest/gtest.h>

#include "tests/support/jobs.hpp"

namespace foreshard {
namespace {

/// Bytes are columns: the texts are ASCII.
void expect_80_columns(const std::string& text, std::uint64_t seed) {
    std::istringstream lines(text);
    std::string line;
    while (std::getline(lines, line)) {
        EXPECT_LE(line.size(), 80U) << "seed " << seed << ": " << line;
        for (const char c : line) ASSERT_TRUE(c >= ' ' && c <= '~') << line;
        EXPECT_FALSE(line.size() > 0 && line.back() == ' ') << line;
    }
}

TEST(Text, FitsIn80Columns) {
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        const Job job = test::random_job(seed);
        const Report report = evaluate(job).report;
        expect_80_columns(simulate_text(job, report), seed);
        expect_80_columns(memory_text(job, report), seed);
        expect_80_columns(explain_text(job, report), seed);
    }
}

TEST(Text, LongPipelinesShowTheirEnds) {
    JobRequest request = test::tiny_request(64, 128);
    request.num_layers = 64;
    const Job job = test::valid_job(request);
    const Report report = evaluate(job).report;
    const std::string text = simulate_text(job, report);
    EXPECT_NE(text.find("..."), std::string::npos);
    EXPECT_NE(text.find("\n    63 "), std::string::npos) << text;
    expect_80_columns(text, 0);
    expect_80_columns(explain_text(job, report), 0);
}

TEST(Text, StalenessStandsBesideThroughput) {
    JobRequest request = test::tiny_request(4, 8);
    request.schedule = "pipedream";
    const Job job = test::valid_job(request);
    const std::string text = simulate_text(job, evaluate(job).report);
    EXPECT_NE(text.find("staleness"), std::string::npos) << text;
    EXPECT_NE(text.find("1.50 mean"), std::string::npos) << text;
    expect_80_columns(text, 0);
}

TEST(Text, DoesNotFitIsSaidWithItsReason) {
    JobRequest request;
    request.model = "gpt3-175b";
    request.cluster = "dgx-a100-80g";
    request.gpus = 8;
    request.tp = 8;
    request.gbs = 8;
    const Job job = test::valid_job(request);
    const std::string text = simulate_text(job, evaluate(job).report);
    EXPECT_NE(text.find("does-not-fit"), std::string::npos);
    EXPECT_NE(text.find("exceed"), std::string::npos);
    expect_80_columns(text, 0);
}

}  // namespace
}  // namespace foreshard
