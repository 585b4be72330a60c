#include "sim/plan/data_parallel/shard_plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/jobs.hpp"

namespace foreshard {
namespace {

using ::testing::ElementsAre;

/// `n` layers, a group each.
ShardGroups layers(int n) {
    ShardGroups groups;
    for (int i = 0; i < n; ++i) {
        groups.groups.push_back({1.0, false});
        groups.of_unit.push_back(i);
    }
    return groups;
}

std::vector<std::string> lane_of(const ShardPlan& plan) {
    std::vector<std::string> lane;
    for (const ShardLaneEntry& entry : plan.lane) {
        const auto i = static_cast<std::size_t>(entry.index);
        lane.push_back((entry.reduce ? "R" : "G") +
                       std::to_string(entry.reduce ? plan.reduces[i].group : plan.gathers[i].group));
    }
    return lane;
}

const std::vector<Action>& one_microbatch() {
    static const std::vector<Action> actions = {{0, 0, Pass::forward}, {0, 0, Pass::backward}};
    return actions;
}

/// Forward gathers run one layer ahead; in backward the next gather is issued before the reduction of the layer at
/// hand (BACKWARD_PRE).
TEST(ShardPlan, FullShardGathersTwiceAndReducesInReverse) {
    const ShardPlan plan = plan_shards(one_microbatch(), {layers(3)}, {});
    EXPECT_THAT(lane_of(plan), ElementsAre("G0", "G1", "G2", "G2", "G1", "R2", "G0", "R1", "R0"));
    EXPECT_EQ(plan.items.size(), 6U);
    // At most two gathers are in flight: the third waits for the first layer.
    EXPECT_EQ(plan.gathers[2].after_item, 0);
    EXPECT_EQ(plan.gathers[2].last_item, 2);
}

/// SHARD_GRAD_OP: one gather a layer, freed at the end of its backward.
TEST(ShardPlan, KeptGroupsAreGatheredOnce) {
    ShardGroups groups = layers(3);
    for (ShardGroup& group : groups.groups) group.kept = true;
    const ShardPlan plan = plan_shards(one_microbatch(), {groups}, {});
    EXPECT_THAT(lane_of(plan), ElementsAre("G0", "G1", "G2", "R2", "R1", "R0"));
    EXPECT_EQ(plan.gathers[0].last_item, 5);
    EXPECT_EQ(plan.gathers[2].last_item, 3);
}

/// FSDP1's root holds embedding and head: gathered first, freed and reduced last.
TEST(ShardPlan, ARootSpansTheEnds) {
    ShardGroups groups = layers(2);
    groups.groups.push_back({5.0, true});
    groups.of_unit = {2, 0, 1, 2};
    const ShardPlan plan = plan_shards(one_microbatch(), {groups}, {});
    EXPECT_THAT(lane_of(plan), ElementsAre("G2", "G0", "G1", "G1", "G0", "R1", "R0", "R2"));
    EXPECT_EQ(plan.gathers[0].first_item, 0);
    EXPECT_EQ(plan.gathers[0].last_item, 7);
}

TEST(ShardPlan, EveryMicrobatchReducesUnlessItAccumulates) {
    const std::vector<Action> actions = {
        {0, 0, Pass::forward}, {0, 0, Pass::backward}, {0, 1, Pass::forward}, {0, 1, Pass::backward}};
    EXPECT_EQ(plan_shards(actions, {layers(3)}, {}).reduces.size(), 6U);
    ShardOptions accumulate;
    accumulate.every_microbatch = false;
    EXPECT_EQ(plan_shards(actions, {layers(3)}, accumulate).reduces.size(), 3U);
    // The second forward starts when the first backward's reductions are done, and its gathers after its compute.
    const ShardPlan plan = plan_shards(actions, {layers(3)}, {});
    EXPECT_EQ(plan.items[6].after_reduce, 2);
    EXPECT_GE(plan.gathers[static_cast<std::size_t>(plan.items[6].gather)].after_item, 5);
}

/// In a pipeline kept parameters stay for all micro-batches, and W passes need none.
TEST(ShardPlan, APipelineKeepsParametersOverMicrobatches) {
    ShardGroups groups = layers(2);
    for (ShardGroup& group : groups.groups) group.kept = true;
    const std::vector<Action> actions = {{0, 0, Pass::forward},    {0, 1, Pass::forward},
                                         {0, 0, Pass::input_grad}, {0, 0, Pass::weight_grad},
                                         {0, 1, Pass::input_grad}, {0, 1, Pass::weight_grad}};
    const ShardPlan plan = plan_shards(actions, {groups}, {1, false, false, false});
    EXPECT_THAT(lane_of(plan), ElementsAre("G0", "G1", "R1", "R0"));
    EXPECT_EQ(plan.reduces[0].item, 10);
    EXPECT_EQ(plan.gathers[0].last_item, 9);
}

Job sharded_job(const std::string& kind, int dp, std::optional<int> zero = {}) {
    JobRequest request;
    request.model = "llama2-7b";
    request.cluster = "dgx-a100-80g";
    request.software = "torchtitan";
    request.data_parallel = kind;
    request.zero = zero;
    request.dp = dp;
    request.gbs = 2 * dp;
    return test::valid_job(request);
}

double moved(const Evaluation& e, TaskKind kind) {
    double bytes = 0.0;
    for (const Task& task : e.graph.tasks) {
        if (task.kind != kind) continue;
        const Comm& comm = e.graph.comms[static_cast<std::size_t>(task.comm)];
        bytes += e.graph.comm_classes[static_cast<std::size_t>(comm.comm_class)].message.value;
    }
    return bytes;
}

/// Volume per micro-batch: ZeRO-3 moves 3 P elements, SHARD_GRAD_OP 2 P (arXiv 1910.02054, section 7).
TEST(Sharding, VolumesAreThoseOfThePaper) {
    const Evaluation full = evaluate(sharded_job("fsdp1", 8));
    const Evaluation kept = evaluate(sharded_job("fsdp1", 8, 2));
    const auto parameters = static_cast<double>(full.graph.stages.front().parameters());
    const double root = static_cast<double>(full.graph.stages.front().blocks.front().parameters +
                                            full.graph.stages.front().blocks.back().parameters);
    EXPECT_DOUBLE_EQ(moved(full, TaskKind::param_gather), 2 * 2 * (2 * parameters - root));  // the root is kept
    EXPECT_DOUBLE_EQ(moved(kept, TaskKind::param_gather), 2 * 2 * parameters);
    EXPECT_DOUBLE_EQ(moved(full, TaskKind::grad_reduce), 2 * 4 * parameters);
    EXPECT_LE(kept.report.summary.step_time_ms, full.report.summary.step_time_ms);
    EXPECT_GT(kept.report.summary.peak_memory, full.report.summary.peak_memory);
}

TEST(Sharding, HsdpWithOneGroupIsFsdp2) {
    JobRequest request;
    request.model = "llama2-7b";
    request.cluster = "dgx-a100-80g";
    request.software = "torchtitan";
    request.dp = 16;
    request.gbs = 16;
    request.data_parallel = "fsdp2";
    const Evaluation fsdp = evaluate(test::valid_job(request));
    request.data_parallel = "hsdp";
    request.fsdp_shard_size = 16;
    const Evaluation whole = evaluate(test::valid_job(request));
    EXPECT_EQ(whole.timeline.step_time(), fsdp.timeline.step_time());
    EXPECT_EQ(whole.report.summary.peak_memory, fsdp.report.summary.peak_memory);
    request.fsdp_shard_size = 8;
    const Evaluation hybrid = evaluate(test::valid_job(request));
    EXPECT_GT(hybrid.report.summary.peak_memory, fsdp.report.summary.peak_memory);
    // Gathers stay in the node; only 1/8 of the gradients leaves it. Where nodes are far apart that wins (FSDP-06).
    request.cluster = "gcp-a2-highgpu-8g";
    const double hybrid_ms = evaluate(test::valid_job(request)).report.summary.step_time_ms;
    request.fsdp_shard_size = 16;
    EXPECT_LT(hybrid_ms, 0.8 * evaluate(test::valid_job(request)).report.summary.step_time_ms);
}

TEST(Sharding, StatesShrinkFromZeroOneToThree) {
    JobRequest request;
    request.model = "llama2-7b";
    request.cluster = "dgx-a100-80g";
    request.software = "deepspeed";
    request.dp = 8;
    request.gbs = 8;
    ByteCount before = 0;
    for (const int stage : {0, 1, 2, 3}) {
        request.zero = stage;
        const ByteCount states = evaluate(test::valid_job(request)).buffers.states.front().total();
        EXPECT_TRUE(stage == 0 || states <= before) << stage;
        before = states;
    }
}

/// What is gathered is freed: nothing is held when the optimizer runs.
TEST(Sharding, EverythingGatheredIsFreed) {
    for (const char* kind : {"fsdp1", "fsdp2"}) {
        for (const int zero : {2, 3}) {
            const Evaluation e = evaluate(sharded_job(kind, 8, zero));
            ASSERT_FALSE(e.report.ranks.front().memory.points.empty());
            EXPECT_EQ(e.report.ranks.front().memory.points.back().buffers, e.buffers.workspace_bytes());
            EXPECT_GT(e.report.ranks.front().memory.gathered, 0);
        }
    }
}

}  // namespace
}  // namespace foreshard
