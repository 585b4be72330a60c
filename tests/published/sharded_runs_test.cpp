#include <cmath>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "sim/validate/validate.hpp"
#include "tests/support/jobs.hpp"

/// Step times of published runs with sharded states. Bounds are those that were promised, not what happens to pass.
namespace foreshard {
namespace {

bool holds(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

/// Rows whose id has all parts and none of the others.
std::vector<PublishedRun> runs_with(const std::vector<std::string>& parts, const std::vector<std::string>& without) {
    std::vector<PublishedRun> runs;
    for (PublishedRun& run : read_dataset(test::data_folder() + "/published/training.jsonl")) {
        bool wanted = run.doubted.empty();
        for (const std::string& part : parts) wanted = wanted && holds(run.id, part);
        for (const std::string& part : without) wanted = wanted && !holds(run.id, part);
        if (wanted) runs.push_back(std::move(run));
    }
    return runs;
}

ErrorSummary step_errors(const std::vector<PublishedRun>& runs, const JobChange& change = {}) {
    std::vector<double> errors;
    for (const ValidationRow& row : validate(runs, change).rows) {
        if (const auto error = row.step_error_pct()) errors.push_back(*error);
    }
    return summarise(errors);
}

void print_sharded(const char* name, const ErrorSummary& s) {
    fmt::print("{:<44} rows {:>3}  median {:.2f}  P90 {:.2f}  bias {:+.2f} %\n", name, s.rows, s.median_abs_pct,
               s.p90_abs_pct, s.bias_pct);
}

class ShardedRuns : public testing::Test {
protected:
    void SetUp() override {
        if (test::data_folder().empty()) GTEST_SKIP() << "FORESHARD_DATA is not set: no published runs";
    }
};

TEST_F(ShardedRuns, FsdpOnA100) {
    const ErrorSummary s = step_errors(runs_with({"mosaic-", "a100"}, {}));
    print_sharded("llm-foundry FSDP, A100", s);
    EXPECT_GE(s.rows, 80);
    EXPECT_LE(s.median_abs_pct, 5.0);
    EXPECT_LE(s.p90_abs_pct, 15.0);
}

TEST_F(ShardedRuns, FsdpOnH100) {
    const ErrorSummary s = step_errors(runs_with({"mosaic-", "h100"}, {"fp8"}));
    print_sharded("llm-foundry FSDP, H100", s);
    EXPECT_GE(s.rows, 50);
    EXPECT_LE(s.median_abs_pct, 4.0);
    EXPECT_LE(s.p90_abs_pct, 10.0);
}

TEST_F(ShardedRuns, InternLmScaling) {
    const ErrorSummary s = step_errors(runs_with({"internlm-"}, {}));
    print_sharded("InternLM, as listed", s);
    EXPECT_EQ(s.rows, 54);
    EXPECT_LE(s.median_abs_pct, 8.0);
    const ErrorSummary node = step_errors(runs_with({"internlm-"}, {"zero1_-1"}));
    print_sharded("InternLM, optimizer sharded in a node", node);
    EXPECT_LE(node.median_abs_pct, 4.0);
    EXPECT_LE(node.p90_abs_pct, 8.0);
}

/// The rows' numbers do not say that these shard the optimizer over all ranks; told so, they are foreseen as well.
TEST_F(ShardedRuns, InternLmOverAllRanks) {
    const JobChange everywhere = [](Job& job) { job.plan.zero_shard_size = 0; };
    const ErrorSummary s = step_errors(runs_with({"internlm-", "zero1_-1"}, {}), everywhere);
    print_sharded("InternLM, optimizer sharded over all ranks", s);
    EXPECT_EQ(s.rows, 16);
    EXPECT_LE(s.median_abs_pct, 8.0);
}

TEST_F(ShardedRuns, ZeroThreeOfDeepSpeed) {
    const ErrorSummary s = step_errors(runs_with({"narayanan21-t2-zero3"}, {}));
    print_sharded("DeepSpeed ZeRO-3, 175B and 530B, A100", s);
    EXPECT_EQ(s.rows, 6);
    EXPECT_LE(s.median_abs_pct, 15.0);
}

}  // namespace
}  // namespace foreshard
