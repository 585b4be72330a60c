#include <tuple>

#include <gtest/gtest.h>

#include "sim/plan/buffer_plan.hpp"
#include "sim/plan/schedules.hpp"
#include "tests/runtime/local_run.hpp"
#include "tests/support/jobs.hpp"

/// What passes really allocate is what the buffer plan counts, byte by byte.
namespace foreshard::runtime::test {
namespace {

struct Layout {
    int tp = 1;
    bool sequence_parallel = false;
    int pp = 1;
    const char* schedule = "none";
};

class CountedBuffers : public testing::TestWithParam<std::tuple<const char*, Layout, const char*>> {};
INSTANTIATE_TEST_SUITE_P(Plans, CountedBuffers,
                         testing::Combine(testing::Values("gpt-tiny", "llama-tiny", "bert-tiny"),
                                          testing::Values(Layout{}, Layout{2, false}, Layout{2, true}, Layout{4, true},
                                                          Layout{1, false, 2, "1f1b"}, Layout{1, false, 2, "zb-h1"}),
                                          testing::Values("none", "selective", "full")));

TEST_P(CountedBuffers, AreTheMeasuredOnes) {
    const auto& [model, layout, recompute] = GetParam();
    JobRequest request = small_request(model, layout.tp);
    request.gpus = layout.tp * layout.pp;
    request.sp = layout.sequence_parallel;
    request.pp = layout.pp;
    request.schedule = layout.schedule;
    request.recompute = recompute;
    const Job job = foreshard::test::valid_job(request);
    RunOptions options;
    options.type = ElementType::fp32;
    const StepResult result = run_steps(job, options);
    const TaskGraph graph = lower(job, schedule_of(job));
    const BufferPlan plan = plan_buffers(job, graph);
    ASSERT_FALSE(result.passes.empty());
    for (std::size_t i = 0; i < result.passes.size(); ++i) {
        const Work& work = result.works[i];
        const PassBuffers* planned = nullptr;
        for (std::size_t w = 0; w < graph.works.size(); ++w) {
            const Work& known = graph.works[w];
            const bool same = known.kind == work.kind && known.stage == work.stage && known.pass == work.pass &&
                              known.first_unit == work.first_unit && known.units == work.units;
            if (same) planned = &plan.works[w];
        }
        ASSERT_NE(planned, nullptr);
        EXPECT_EQ(result.passes[i].change, planned->acquired - planned->released) << i << letter(work.pass);
        EXPECT_EQ(result.passes[i].most, planned->acquired + planned->transient) << i << letter(work.pass);
    }
    EXPECT_EQ(result.left.of(MemoryKind::weights), plan.states.front().weights);
    EXPECT_EQ(result.left.of(MemoryKind::gradients), plan.states.front().gradients);
    EXPECT_EQ(result.left.of(MemoryKind::optimizer), plan.states.front().optimizer);
}

/// What is saved from forward to backward is what the ops say.
TEST_P(CountedBuffers, HoldWhatOpsSave) {
    const auto& [model, layout, recompute] = GetParam();
    if (layout.pp > 1) GTEST_SKIP() << "messages are held apart";
    JobRequest request = small_request(model, layout.tp);
    request.sp = layout.sequence_parallel;
    request.recompute = recompute;
    const Job job = foreshard::test::valid_job(request);
    const TaskGraph graph = lower(job, schedule_of(job));
    const BufferPlan plan = plan_buffers(job, graph);
    for (std::size_t w = 0; w < graph.works.size(); ++w) {
        if (graph.works[w].kind != TaskKind::pass || graph.works[w].pass != Pass::forward) continue;
        ByteCount saved = 0;
        for (const OpBlock& block : graph.stages.front().blocks) {
            for (const Op& op : block.forward) saved += block.repeat * op.saved;
        }
        EXPECT_EQ(plan.works[w].acquired, saved);
        EXPECT_EQ(saved, graph.stages.front().saved());
    }
}

}  // namespace
}  // namespace foreshard::runtime::test
