#include <tuple>

#include <gtest/gtest.h>

#include "tests/runtime/local_run.hpp"
#include "tests/support/jobs.hpp"

/// The same model, data and parameters under another layout give the same loss, gradients and weights.
namespace foreshard::runtime::test {
namespace {

constexpr double tolerance = 1e-10;

RunOptions two_steps() {
    RunOptions options;
    options.steps = 2;
    options.model.optimizer = OptimizerKind::sgd;
    options.model.update.learning_rate = 0.1;
    return options;
}

void expect_equal(const StepResult& result, const StepResult& reference) {
    EXPECT_NEAR(result.loss, reference.loss, tolerance * reference.loss);
    EXPECT_LT(largest_difference(result.gradients, reference.gradients), tolerance);
    EXPECT_LT(largest_difference(result.weights, reference.weights), tolerance);
}

StepResult reference_of(JobRequest request) {
    request.gpus = 1;
    request.tp = 1;
    request.pp = 1;
    request.vpp = 1;
    request.sp = false;
    request.schedule.reset();
    request.recompute.reset();
    request.recompute_num_layers.reset();
    return run_steps(foreshard::test::valid_job(request), two_steps());
}

class TensorParallel : public testing::TestWithParam<std::tuple<const char*, int, bool>> {};
INSTANTIATE_TEST_SUITE_P(Models, TensorParallel,
                         testing::Combine(testing::Values("gpt-tiny", "llama-tiny", "bert-tiny"), testing::Values(2, 4),
                                          testing::Bool()));

/// Vocabulary 30 is padded to 32 or so by TP; llama-tiny has 2 KV heads, so that TP 4 copies them.
TEST_P(TensorParallel, GivesTheGradientsOfOneRank) {
    const auto& [model, tp, sequence_parallel] = GetParam();
    JobRequest request = small_request(model, tp);
    request.sp = sequence_parallel;
    expect_equal(run_steps(foreshard::test::valid_job(request), two_steps()), reference_of(request));
}

class Recomputation : public testing::TestWithParam<std::tuple<const char*, const char*>> {};
INSTANTIATE_TEST_SUITE_P(Models, Recomputation,
                         testing::Combine(testing::Values("gpt-tiny", "llama-tiny", "bert-tiny"),
                                          testing::Values("selective", "full")));

/// Recomputed tensors are the same bit by bit.
TEST_P(Recomputation, ChangesNothing) {
    const auto& [model, mode] = GetParam();
    JobRequest request = small_request(model);
    request.recompute = mode;
    const StepResult result = run_steps(foreshard::test::valid_job(request), two_steps());
    const StepResult reference = reference_of(request);
    EXPECT_EQ(result.loss, reference.loss);
    EXPECT_EQ(result.gradients, reference.gradients);
    EXPECT_GT(result.ops.size(), reference.ops.size());
}

class Pipeline : public testing::TestWithParam<std::tuple<const char*, const char*, const char*>> {};
INSTANTIATE_TEST_SUITE_P(Schedules, Pipeline,
                         testing::Combine(testing::Values("gpt-tiny", "llama-tiny", "bert-tiny"),
                                          testing::Values("1f1b", "interleaved-1f1b", "zb-h1", "zb-v"),
                                          testing::Values("none", "full")));

/// zb-h1 and zb-v cut backward into I and W, which together are B.
TEST_P(Pipeline, GivesTheGradientsOfOneRank) {
    const auto& [model, schedule, recompute] = GetParam();
    JobRequest request = small_request(model);
    request.gpus = 2;
    request.pp = 2;
    request.gbs = 8;
    request.recompute = recompute;
    request.schedule = schedule;
    const bool chunks = std::string(schedule) == "zb-v" || std::string(schedule) == "interleaved-1f1b";
    request.vpp = chunks ? 2 : 1;
    request.overlap_p2p = true;
    request.num_layers = 4;
    expect_equal(run_steps(foreshard::test::valid_job(request), two_steps()), reference_of(request));
}

/// Layers rebuilt in groups, of which the last of a stage is smaller.
TEST(GroupedRecomputation, OfSeveralLayersAtATimeGivesTheGradientsOfOneRank) {
    for (const char* model : {"gpt-tiny", "llama-tiny", "bert-tiny"}) {
        for (const char* schedule : {"1f1b", "zb-h1"}) {
            JobRequest request = small_request(model);
            request.gpus = 2;
            request.pp = 2;
            request.schedule = schedule;
            request.overlap_p2p = true;
            request.num_layers = 10;
            request.recompute = "full";
            request.recompute_num_layers = 3;
            expect_equal(run_steps(foreshard::test::valid_job(request), two_steps()), reference_of(request));
        }
    }
}

/// In fp32 the same within what rounding allows.
TEST(Precision, SinglePrecisionFollowsDouble) {
    for (const char* model : {"gpt-tiny", "llama-tiny", "bert-tiny"}) {
        const Job job = foreshard::test::valid_job(small_request(model));
        RunOptions options = two_steps();
        const StepResult reference = run_steps(job, options);
        options.type = ElementType::fp32;
        const StepResult result = run_steps(job, options);
        EXPECT_NEAR(result.loss, reference.loss, 1e-6 * reference.loss) << model;
        EXPECT_LT(largest_difference(result.gradients, reference.gradients), 1e-4) << model;
    }
}

/// After a step nothing but the model is held.
TEST(Memory, ActivationsAreGoneAfterAStep) {
    for (const char* recompute : {"none", "selective", "full"}) {
        JobRequest request = small_request("gpt-tiny");
        request.recompute = recompute;
        const StepResult result = run_steps(foreshard::test::valid_job(request), {});
        EXPECT_EQ(result.left.of(MemoryKind::activations), 0) << recompute;
        EXPECT_EQ(result.left.of(MemoryKind::messages), 0) << recompute;
    }
}

}  // namespace
}  // namespace foreshard::runtime::test
