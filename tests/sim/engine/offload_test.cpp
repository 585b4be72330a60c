#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

#include "tests/support/jobs.hpp"

/// Saved tensors that wait on the host from forward to backward.
namespace foreshard {
namespace {

/// Llama 3 8B cut to `layers`, on one node; plain data parallelism without a pipeline.
JobRequest one_stage(int layers, int microbatches) {
    JobRequest request;
    request.model = "llama3-8b";
    request.num_layers = layers;
    request.cluster = "dgx-h100";
    request.software = "megatron-core-te";
    request.precision = "bf16";
    request.gpus = 8;
    request.mbs = 1;
    request.gbs = 8 * microbatches;
    return request;
}

Evaluation with_layers(JobRequest request, int layers) {
    request.offload_activation_layers = layers;
    return evaluate(test::valid_job(request));
}

Job with_link(Job job, double bytes_per_second) {
    job.cluster.device.host_link = BytesPerSecond(bytes_per_second);
    return job;
}

ByteCount layer_bytes(const Evaluation& e) {
    for (const OpBlock& block : e.graph.stages.front().blocks) {
        if (block.kind == BlockKind::layer) return block.saved;
    }
    return 0;
}

Picoseconds account(const Evaluation& e, Account kind) {
    Picoseconds sum = 0;
    for (const RankReport& rank : e.report.ranks) sum += rank.account[static_cast<std::size_t>(kind)];
    return sum;
}

/// With a link so fast that copies take no time, what is away is away at once: of L layers n leave, and at the end of
/// forward L - n are left and the two that are reloaded ahead.
TEST(ActivationOffload, LowersThePeakByExactlyWhatIsAway) {
    constexpr int layers = 12;
    JobRequest request = one_stage(layers, 1);
    const Evaluation whole = with_layers(request, 0);
    for (const int n : {1, 2, 3, 6, 11, 12}) {
        request.offload_activation_layers = n;
        const Evaluation e = evaluate(with_link(test::valid_job(request), 1e18));
        const ByteCount away = (n - std::min(n, 2)) * layer_bytes(e);
        EXPECT_EQ(e.report.ranks.front().memory.peak, whole.report.ranks.front().memory.peak - away) << n;
        EXPECT_NEAR(static_cast<double>(e.timeline.step_time()), static_cast<double>(whole.timeline.step_time()),
                    static_cast<double>(e.graph.tasks.size()) * spent_count)
            << n;
    }
}

/// A link so slow that copies decide: n layers cross it out, one after the other, behind the first forward; then the
/// same back, and the last backward follows. F and B of a layer hide under the copies of others.
TEST(ActivationOffload, ASlowLinkTakesItsCopiesOneAfterTheOther) {
    constexpr int layers = 8;
    JobRequest request = one_stage(layers, 1);
    request.offload_activation_layers = layers;
    request.dp = 1;
    request.gpus = 1;
    request.gbs = 1;
    const Evaluation e = evaluate(with_link(test::valid_job(request), 1e8));
    const auto copy = static_cast<double>(layer_bytes(e)) / 1e8;
    const double step = e.report.summary.step_time_ms / 1e3;
    EXPECT_GT(step, 2 * layers * copy);
    const Evaluation whole = with_layers(request, 0);
    EXPECT_LT(step, 2 * layers * copy + whole.report.summary.step_time_ms / 1e3);
    // The two reloaded last are among those that left last: one copy may run in each direction at a time.
    const auto exposed = static_cast<double>(account(e, Account::exposed_offload)) / picoseconds_per_second;
    EXPECT_GT(exposed, 0.9 * 2 * layers * copy);
    EXPECT_LT(exposed, 2 * layers * copy);
}

TEST(ActivationOffload, AMicroBatchLaterMoreIsAwayInAPipeline) {
    JobRequest request = one_stage(16, 1);
    request.gpus = 4;
    request.pp = 4;
    request.gbs = 16;
    const Evaluation whole = with_layers(request, 0);
    request.offload_activation_layers = 3;
    const Evaluation e = evaluate(with_link(test::valid_job(request), 1e18));
    // 1F1B: rank r holds 4 - r micro-batches of 4 layers; all but the two copies at hand are away, of 3 layers each.
    const ByteCount layer = layer_bytes(e);
    for (int rank = 0; rank < 4; ++rank) {
        const auto r = static_cast<std::size_t>(rank);
        const RankMemory& memory = e.report.ranks[r].memory;
        EXPECT_LE(memory.activations, whole.report.ranks[r].memory.activations) << rank;
        EXPECT_LE(memory.offloaded, (4 - rank) * 3 * layer);
        EXPECT_GE(memory.offloaded, ((4 - rank) * 3 - 2) * layer);
    }
}

TEST(ActivationOffload, IsRefusedBeyondTheLargestStageAndForGivenTimes) {
    JobRequest request = one_stage(12, 1);
    request.offload_activation_layers = 13;
    const std::vector<BrokenRule> broken = check(resolve(request));
    ASSERT_EQ(broken.size(), 1U);
    EXPECT_EQ(broken.front().nearest, "0 to 12");
    request.offload_activation_layers = -1;
    EXPECT_FALSE(check(resolve(request)).empty());
}

/// Shards cross the link to the host in front of their gathers: with a slow one, their sum is what the step takes.
TEST(ParameterOffload, MovesEveryGatheredShardOverTheLink) {
    for (const char* kind : {"ddp", "fsdp2"}) {
        JobRequest request = one_stage(8, 1);
        request.data_parallel = kind;
        request.zero = 3;
        request.offload_optimizer = true;
        const Evaluation on_device = evaluate(test::valid_job(request));
        request.offload_parameters = true;
        const Job job = with_link(test::valid_job(request), 1e9);
        const Evaluation e = evaluate(job);
        EXPECT_EQ(e.report.ranks.front().memory.states.weights, 0) << kind;
        EXPECT_GT(on_device.report.ranks.front().memory.states.weights, 0) << kind;
        double gathered = 0.0;
        for (const GatheredParameters& use : e.graph.gathered) gathered += use.elements;
        const double copies = 2.0 * gathered / 8 / 1e9;
        const auto parameters = static_cast<double>(e.graph.stages.front().parameters());
        const double optimizer = gradient_bytes(job) * parameters / 8 / 1e9;  // gradients out
        EXPECT_GT(e.report.summary.step_time_ms / 1e3, copies + optimizer) << kind;
        EXPECT_LT(e.report.summary.step_time_ms / 1e3, copies + optimizer + on_device.report.summary.step_time_ms / 1e3)
            << kind;
    }
}

TEST(ParameterOffload, NeedsShardedParametersAndAnOptimizerOnTheHost) {
    JobRequest request = one_stage(8, 1);
    request.offload_parameters = true;
    EXPECT_EQ(check(resolve(request)).size(), 2U);
    request.zero = 3;
    EXPECT_EQ(check(resolve(request)).size(), 1U);
    request.offload_optimizer = true;
    EXPECT_TRUE(check(resolve(request)).empty());
}

class OffloadedPlan : public testing::TestWithParam<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Seeds, OffloadedPlan, testing::Range(std::uint64_t{1}, std::uint64_t{101}));

/// Every schedule and data-parallel scheme that go together.
TEST_P(OffloadedPlan, NeverShortensTheStepAndAddsUp) {
    Job job = test::any_plan(GetParam());
    const bool several = GetParam() % 2 == 1;
    if (several) job.model.num_layers *= 3;
    const Evaluation whole = evaluate(job);
    job.plan.offload_activation_layers = several ? 2 : 1;
    const Evaluation e = evaluate(job);
    const std::string plan = std::string(to_string(job.plan.schedule)) + " " +
                             std::string(to_string(job.plan.data_parallel)) + " zero " +
                             std::to_string(job.plan.zero_stage);
    const auto rounding = static_cast<Picoseconds>(e.graph.tasks.size()) * spent_count;
    // A fused Horovod buffer may get ready at another cycle; a queue of learners has its own order.
    const bool by_times = job.plan.data_parallel == DataParallelKind::horovod;
    if (!by_times) {
        EXPECT_GE(e.timeline.step_time() + rounding, whole.timeline.step_time()) << plan;
    }
    EXPECT_TRUE(!e.report.estimate || e.report.estimate->gap_ratio >= 0.0) << plan << " " << e.report.estimate->form;
    EXPECT_FALSE(e.graph.offloaded.empty()) << plan;
    for (std::size_t r = 0; r < e.report.ranks.size(); ++r) {
        const RankReport& rank = e.report.ranks[r];
        EXPECT_EQ(std::accumulate(rank.account.begin(), rank.account.end(), Picoseconds{0}), e.timeline.step_time());
        for (const Picoseconds part : rank.account) EXPECT_GE(part, 0) << plan;
        const RankMemory& m = rank.memory;
        EXPECT_EQ(m.states.total() + m.activations + m.buffers, m.peak) << plan;
        for (const MemoryPoint& point : m.points) EXPECT_GE(point.activations, 0) << plan;
        EXPECT_TRUE(e.graph.asynchronous || m.points.back().activations == 0) << plan;
        for (const LiveSet& set : m.live) EXPECT_GE(set.bytes, 0) << plan;
        EXPECT_GT(m.offloaded, 0) << plan;
    }
}

}  // namespace
}  // namespace foreshard
