#include "sim/engine/task_detail.hpp"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/plan/op_graph.hpp"
#include "tests/support/jobs.hpp"

namespace foreshard {
namespace {

/// A picosecond for every rounded share of a work, and what sums of doubles lose.
double tolerance(Seconds predicted) {
    return 8e-12 + 1e-12 * predicted.value;
}

class TaskDetailOfAnyPlan : public testing::TestWithParam<std::uint64_t> {};

void expect_parts_sum(const Evaluation& evaluation) {
    std::set<std::int32_t> works;
    std::set<std::int32_t> comms;
    for (std::size_t i = 0; i < evaluation.graph.tasks.size(); ++i) {
        const Task& task = evaluation.graph.tasks[i];
        const bool seen = task.work >= 0 ? !works.insert(task.work).second : !comms.insert(task.comm).second;
        if (seen || comms.size() > 50) continue;
        const TaskDetail detail = task_detail(evaluation, static_cast<std::int32_t>(i));
        Seconds sum;
        for (const TaskPart& part : detail.parts) {
            sum += part.time;
            EXPECT_FALSE(part.bound.empty()) << detail.name << " " << part.name;
            EXPECT_FALSE(part.formula.empty()) << detail.name << " " << part.name;
        }
        EXPECT_NEAR(sum.value, detail.predicted.value, tolerance(detail.predicted)) << detail.name;
    }
}

TEST_P(TaskDetailOfAnyPlan, PartsSumToTheTask) {
    expect_parts_sum(evaluate(test::any_plan(GetParam())));
}

TEST(TaskDetail, PartsOfVocabularyParallelPlansSumToTheTask) {
    for (const char* schedule : {"1f1b-vocab-1", "1f1b-interlaced", "v-half-vocab-1"}) {
        JobRequest request = load_job_request("gpt-tiny-pp4");
        request.software = "megatron-fork-2024";
        request.schedule = schedule;
        request.vpp.reset();
        request.num_layers = 8;
        const Evaluation evaluation = evaluate(test::valid_job(request));
        expect_parts_sum(evaluation);
        const TaskDetail first = task_detail(evaluation, evaluation.graph.streams.front().first);
        const auto slow = [](const TaskPart& part) { return part.name == "beside collectives of the vocabulary"; };
        EXPECT_EQ(std::count_if(first.parts.begin(), first.parts.end(), slow), 1) << schedule;
    }
}

INSTANTIATE_TEST_SUITE_P(Seeds, TaskDetailOfAnyPlan, testing::Range<std::uint64_t>(0, 40));

TEST(TaskDetail, FormulaOfAGemmIsItsFlops) {
    const Evaluation evaluation = evaluate(resolve(load_job_request("gpt3-175b-selene-64")));
    for (const StageOps& stage : evaluation.graph.stages) {
        for (const OpBlock& block : stage.blocks) {
            for (const Op& op : block.forward) {
                if (op.kind != OpKind::gemm) continue;
                const auto products = static_cast<double>(op.m * op.n) * static_cast<double>(op.k * op.batch);
                EXPECT_DOUBLE_EQ(op.flops.value, 2.0 * products) << op.name;
            }
        }
    }
}

TEST(TaskDetail, NamesNumbersAndBounds) {
    const Evaluation evaluation = evaluate(resolve(load_job_request("gpt3-175b-selene-64")));
    const TaskDetail detail = task_detail(evaluation, evaluation.graph.streams.front().first);
    EXPECT_EQ(detail.name, "0F0");
    const auto qkv = std::find_if(detail.parts.begin(), detail.parts.end(),
                                  [](const TaskPart& part) { return part.name.find("qkv") == 0; });
    ASSERT_NE(qkv, detail.parts.end());
    EXPECT_EQ(qkv->times, 4);
    EXPECT_THAT(qkv->formula, testing::HasSubstr("2 m n k = 2 x 2048 x 4608 x 12288 = 232 GFLOP at "));
    EXPECT_EQ(qkv->bound, "compute");
    EXPECT_TRUE(detail.notes.empty());
}

TEST(TaskDetail, SaysWhenTheTimelineDiffers) {
    JobRequest request = load_job_request("gpt-tiny-pp4");
    request.speed_factor = "pp1:0.5";
    const Evaluation evaluation = evaluate(test::valid_job(request));
    const auto slow = std::find_if(evaluation.graph.streams.begin(), evaluation.graph.streams.end(),
                                   [](const Stream& stream) { return stream.rank == 1; });
    const TaskDetail detail = task_detail(evaluation, slow->first);
    ASSERT_EQ(detail.notes.size(), 1U);
    EXPECT_THAT(detail.notes.front(), testing::HasSubstr("speed factors"));
}

}  // namespace
}  // namespace foreshard
