#include "sim/plan/data_parallel/gradient_buckets.hpp"

#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/plan/data_parallel/horovod.hpp"
#include "sim/plan/op_graph.hpp"
#include "sim/plan/task_graph.hpp"
#include "tests/support/conv_nets.hpp"
#include "tests/support/jobs.hpp"

namespace foreshard {
namespace {

using ::testing::ElementsAre;

constexpr std::int64_t mib = 1 << 20;

/// Case DP-02 (pytorch/pytorch issue 48880): all-reduces that DDP launches for the ImageNet example's ResNet-18.
TEST(GradientBuckets, Dp02BytesOfResNet18) {
    const std::vector<GradientTensor> tensors = test::in_ready_order(test::resnet18());
    EXPECT_EQ(test::total_elements(tensors), 11'689'512);
    EXPECT_THAT(ddp_bucket_bytes(tensors, 4, mib, 25 * mib), ElementsAre(2'052'000, 28'852'224, 15'853'824));
    EXPECT_THAT(ddp_bucket_bytes(tensors, 4, mib, 35 * mib), ElementsAre(2'052'000, 38'297'600, 6'408'448));
}

/// ResNet-50 in fp32 after DDP has rebuilt its buckets: 8.20 (fc) | 31.50 | 26.26 | 26.55 | 9.72 MB.
TEST(GradientBuckets, ResNet50HasFiveBuckets) {
    const std::vector<GradientTensor> tensors = test::in_ready_order(test::resnet50());
    EXPECT_EQ(tensors.size(), 161U);
    EXPECT_EQ(test::total_elements(tensors), 25'557'032);
    const std::vector<std::int64_t> bytes = ddp_bucket_bytes(tensors, 4, mib, 25 * mib);
    ASSERT_EQ(bytes.size(), 5U);
    const double expected[] = {8.20, 31.50, 26.26, 26.55, 9.72};
    for (std::size_t i = 0; i < 5; ++i) EXPECT_NEAR(static_cast<double>(bytes[i]) / 1e6, expected[i], 0.01) << i;
}

TEST(GradientBuckets, TensorsAreNeverSplitAndNothingIsLost) {
    const std::vector<GradientTensor> tensors = {{"a", 10, 3}, {"b", 100, 2}, {"c", 1, 1}, {"d", 5, 0}};
    for (const double limit : {1.0, 7.0, 50.0, 1000.0}) {
        const std::vector<GradientBucket> buckets = fill_buckets(tensors, limit, limit);
        std::int64_t sum = 0;
        int count = 0;
        for (const GradientBucket& bucket : buckets) {
            sum += bucket.elements;
            count += bucket.tensors;
            EXPECT_TRUE(&bucket == &buckets.back() || static_cast<double>(bucket.elements) >= limit);
        }
        EXPECT_EQ(sum, 116);
        EXPECT_EQ(count, 4);
    }
    EXPECT_EQ(fill_buckets(tensors, 0.0, 0.0).size(), 1U);
}

TEST(GradientBuckets, MirroredPacksAreEqual) {
    EXPECT_THAT(mirrored_pack_bytes(100, 1), ElementsAre(100));
    EXPECT_THAT(mirrored_pack_bytes(101, 4), ElementsAre(25, 25, 25, 26));
}

TEST(GradientBuckets, TensorListsAddUpToTheParametersOfEveryBlock) {
    for (const char* model : {"gpt-tiny", "llama2-7b", "bloom-176b", "bert-large", "qwen2.5-7b", "mixtral-8x7b"}) {
        JobRequest request;
        request.model = model;
        request.cluster = "dgx-a100-80g";
        request.tp = 2;
        const Job job = test::valid_job(request);
        for (const StageOps& stage : build_stage_ops(job, stage_layout(job))) {
            const std::vector<GradientTensor> tensors = gradients_in_ready_order(job, stage);
            EXPECT_EQ(test::total_elements(tensors), stage.parameters()) << model;
            if (!job.model.moe) {
                for (const GradientTensor& tensor : tensors) EXPECT_NE(tensor.name, "other") << model;
            }
        }
    }
}

/// Megatron: max(40e6, 1e6 dp) parameters on the first stage, one bucket elsewhere.
TEST(GradientBuckets, MegatronBucketsOnlyTheFirstStage) {
    JobRequest request;
    request.model = "gpt3-6.7b";
    request.cluster = "selene";
    request.software = "megatron-core-te";
    request.dp = 4;
    request.pp = 2;
    request.gbs = 8;
    request.overlap_grad_reduce = true;
    const auto reductions = [](const Job& job) {
        const Evaluation e = evaluate(job);
        std::vector<int> count(2, 0);
        for (std::size_t t = 0; t < e.graph.tasks.size(); ++t) {
            if (e.graph.tasks[t].kind != TaskKind::grad_reduce) continue;
            ++count[static_cast<std::size_t>(e.graph.rank_of(static_cast<std::int32_t>(t)))];
        }
        return count;
    };
    const std::vector<int> few = reductions(test::valid_job(request));
    EXPECT_GT(few[0], 16);  // 16 layers of 201 million parameters
    EXPECT_EQ(few[1], 1);
    request.dp = 256;
    request.gbs = 512;
    EXPECT_LT(reductions(test::valid_job(request))[0], few[0]);
}

TEST(Horovod, ACycleTakesWhatIsReady) {
    const std::vector<ReadyTensor> tensors = {
        {Seconds(0.0002), 4}, {Seconds(0.0009), 4}, {Seconds(0.0015), 8}, {Seconds(0.0052), 1}};
    const HorovodOptions options{Seconds(1e-3), 100, Seconds(0.0), Seconds(0.0)};
    const auto rounds = horovod_rounds(tensors, options, [](std::int64_t) { return Seconds(0.5e-3); });
    ASSERT_EQ(rounds.size(), 3U);
    EXPECT_EQ(rounds[0].tensors, 2);
    EXPECT_NEAR(rounds[0].start.value, 1e-3, 1e-9);
    EXPECT_NEAR(rounds[1].start.value, 2e-3, 1e-9);
    EXPECT_NEAR(rounds[2].start.value, 6e-3, 1e-9);
}

TEST(Horovod, TheBufferLimitsFusionAndReductionsQueue) {
    const std::vector<ReadyTensor> tensors = {{Seconds(0.0), 60}, {Seconds(0.0), 60}, {Seconds(0.0), 30}};
    const HorovodOptions options{Seconds(1e-3), 100, Seconds(1e-4), Seconds(0.0)};
    const auto rounds =
        horovod_rounds(tensors, options, [](std::int64_t bytes) { return Seconds(1e-5 * static_cast<double>(bytes)); });
    ASSERT_EQ(rounds.size(), 2U);
    EXPECT_EQ(rounds[0].bytes, 60);
    EXPECT_EQ(rounds[1].bytes, 90);
    EXPECT_NEAR(rounds[0].start.value, 1e-4, 1e-9);
    EXPECT_NEAR(rounds[1].start.value, rounds[0].end.value, 1e-12);
}

}  // namespace
}  // namespace foreshard
