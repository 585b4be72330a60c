#include <algorithm>
#include <stdexcept>
#include <string>
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
                                          testing::Values("none", "selective", "full", "full, 2 at a time")));

JobRequest request_of(const char* model, const Layout& layout, const std::string& recompute) {
    JobRequest request = small_request(model, layout.tp);
    request.gpus = layout.tp * layout.pp;
    request.sp = layout.sequence_parallel;
    request.pp = layout.pp;
    request.schedule = layout.schedule;
    request.recompute = recompute.substr(0, recompute.find(','));
    if (recompute.ends_with("at a time")) {
        request.recompute_num_layers = 2;
        request.num_layers = 3 * layout.pp;
    }
    return request;
}

void expect_measured(const Job& job) {
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

TEST_P(CountedBuffers, AreTheMeasuredOnes) {
    const auto& [model, layout, recompute] = GetParam();
    expect_measured(foreshard::test::valid_job(request_of(model, layout, recompute)));
}

/// The same with attention in one op, whose numbers are those of the ops with a score matrix.
TEST(FlashAttention, GivesTheGradientsAndHoldsTheBuffersThatAreCounted) {
    for (const char* model : {"gpt-tiny", "llama-tiny", "bert-tiny"}) {
        for (const char* recompute : {"none", "full"}) {
            JobRequest request = small_request(model, 2);
            request.sp = true;
            request.recompute = recompute;
            Job job = foreshard::test::valid_job(request);
            const StepResult expected = run_steps(job);
            job.software.structure.attention = AttentionKernel::flash;
            const StepResult found = run_steps(job);
            EXPECT_NE(std::find(found.ops.begin(), found.ops.end(), "flash_attention_grad"), found.ops.end());
            EXPECT_NEAR(found.loss, expected.loss, 1e-12 * expected.loss);
            EXPECT_LT(largest_difference(found.gradients, expected.gradients), 1e-10) << model << " " << recompute;
            expect_measured(job);
        }
    }
}

/// What is saved from forward to backward is what the ops say.
TEST_P(CountedBuffers, HoldWhatOpsSave) {
    const auto& [model, layout, recompute] = GetParam();
    const Job job = foreshard::test::valid_job(request_of(model, layout, recompute));
    const TaskGraph graph = lower(job, schedule_of(job));
    const BufferPlan plan = plan_buffers(job, graph);
    for (std::size_t w = 0; w < graph.works.size(); ++w) {
        if (graph.works[w].kind != TaskKind::pass || graph.works[w].pass != Pass::forward) continue;
        const StageOps& stage = graph.stages[static_cast<std::size_t>(graph.works[w].stage)];
        ByteCount saved = 0;
        for (const OpBlock& block : stage.blocks) {
            for (const Op& op : block.forward) saved += block.repeat * op.saved;
        }
        EXPECT_EQ(plan.works[w].acquired, saved);
        EXPECT_EQ(saved, stage.saved());
    }
}

/// Moves an op in front of another in every layer and runs a step.
void run_with_moved(const char* list, const char* op, const char* before) {
    const Job job = foreshard::test::valid_job(small_request("gpt-tiny"));
    TaskGraph graph = lower(job, schedule_of(job));
    for (StageOps& stage : graph.stages) {
        for (OpBlock& block : stage.blocks) {
            std::vector<Op>& ops = std::string_view(list) == "forward" ? block.forward : block.input_grad;
            const auto named = [&](std::string_view name) {
                return std::find_if(ops.begin(), ops.end(), [&](const Op& o) { return o.name == name; });
            };
            if (named(op) != ops.end()) std::rotate(named(before), named(op), named(op) + 1);
        }
    }
    run_steps(job, graph, {});
}

/// A tensor that is read before it is made, or after it was given up, is found at that op.
TEST(Lifetimes, UsesOutsideThemAreFound) {
    const auto message_of = [](const char* list, const char* op, const char* before) -> std::string {
        try {
            run_with_moved(list, op, before);
        } catch (const std::exception& error) {
            return error.what();
        }
        return "nothing was found";
    };
    EXPECT_NE(message_of("forward", "fc2", "activation").find("op fc2 uses tensor"), std::string::npos);
    EXPECT_NE(message_of("forward", "logits", "final_norm").find("op logits uses tensor"), std::string::npos);
    // It reads what the gradient of the context has not made yet.
    EXPECT_NE(message_of("input_grad", "attention_scores_grad", "attention_context_grad").find("outside its lifetime"),
              std::string::npos);
}

}  // namespace
}  // namespace foreshard::runtime::test
