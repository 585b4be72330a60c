#include <gtest/gtest.h>

#include "sim/plan/data_parallel/zero_estimates.hpp"
#include "sim/spec/data_parallel.hpp"
#include "tests/support/jobs.hpp"

/// Bytes per parameter of model states, against the cases of public threads (ids in the names).
namespace foreshard {
namespace {

constexpr double gib = 1024.0 * 1024.0 * 1024.0;
constexpr double mib = 1024.0 * 1024.0;

JobRequest request_with(const std::string& software, int dp) {
    JobRequest request;
    request.model = "llama2-7b";
    request.cluster = "dgx-a100-80g";
    request.software = software;
    request.precision = "bf16";
    request.dp = dp;
    request.gbs = dp;
    return request;
}

double bytes_per_parameter(const JobRequest& request) {
    constexpr std::int64_t parameters = 1'000'000'000;
    return static_cast<double>(state_bytes(test::valid_job(request), parameters, 0).total()) / 1e9;
}

/// NVIDIA/Megatron-LM issue 654: 18 bytes, 6 + 12 / d with the distributed optimizer; 16 and 4 + 12 / d with 16-bit
/// gradients.
TEST(States, MEM_03_MegatronKeepsEighteenBytes) {
    for (const int d : {1, 2, 8, 64}) {
        JobRequest request = request_with("megatron-core-te", d);
        EXPECT_DOUBLE_EQ(bytes_per_parameter(request), 18.0);
        request.use_distributed_optimizer = true;
        EXPECT_NEAR(bytes_per_parameter(request), 6.0 + 12.0 / d, 1e-6) << d;
        request.software = "nemo-te";
        EXPECT_NEAR(bytes_per_parameter(request), 4.0 + 12.0 / d, 1e-6) << d;
    }
}

/// EleutherAI/gpt-neox issue 892, epfLLM/Megatron-LLM issue 6: Falcon-40B with TP 8 on 80 GB holds 50 GB after load;
/// the moments come with the first step, and then nothing fits.
TEST(States, FIT_01_MomentsComeWithTheFirstStep) {
    const Job job = test::valid_job(request_with("megatron-core-te", 1));
    const StateBytes states = state_bytes(job, 40'000'000'000 / 8, 0);
    EXPECT_EQ(states.after_load(), 50'000'000'000);
    EXPECT_EQ(states.total(), 90'000'000'000);
    EXPECT_GT(states.total(), job.cluster.device.usable_memory);
    EXPECT_LT(states.after_load(), job.cluster.device.usable_memory);
}

/// The same model as a whole plan: does not fit at any micro-batch.
TEST(States, FIT_01_FalconDoesNotFit) {
    JobRequest request = request_with("megatron-core-te", 1);
    request.tp = 8;
    request.num_layers = 60;
    request.hidden_size = 8192;
    request.ffn_hidden_size = 32768;
    request.swiglu = false;
    request.num_attention_heads = 128;
    request.num_query_groups = 8;
    request.kv_channels = 64;
    request.vocab_size = 65024;
    const Summary summary = evaluate(test::valid_job(request)).report.summary;
    EXPECT_FALSE(summary.fits);
}

/// FlagOpen/FlagScale issue 454: 4.1055 billion parameters a rank, DP 2 with the distributed optimizer: 12 bytes.
TEST(States, SIM_07_FlagScaleReportIsReproduced) {
    JobRequest request = request_with("megatron-core-te", 2);
    request.use_distributed_optimizer = true;
    const StateBytes states = state_bytes(test::valid_job(request), 4'105'500'000, 0);
    EXPECT_NEAR(static_cast<double>(states.total()) / mib, 46983.28, 46983.28 * 1e-4);
}

/// DeepSpeed's own estimators for T5-3B on 8 GPUs, and what later fixes say.
TEST(States, MEM_06_EveryConventionHasItsName) {
    const ZeroShape t5{2'851'000'000, 32'000'000, 8};
    const auto estimate = [&](int stage, ZeroOffload offload, ZeroConvention convention) {
        return static_cast<double>(zero_estimate(t5, stage, offload, convention)) / gib;
    };
    using C = ZeroConvention;
    EXPECT_NEAR(estimate(2, ZeroOffload::none, C::deepspeed), 15.93, 0.005);
    EXPECT_NEAR(estimate(2, ZeroOffload::optimizer, C::deepspeed), 5.31, 0.005);
    EXPECT_NEAR(estimate(2, ZeroOffload::none, C::sharded_gradients), 9.96, 0.005);
    EXPECT_NEAR(estimate(2, ZeroOffload::none, C::fp32_gradients), 11.28, 0.005);
    EXPECT_NEAR(estimate(3, ZeroOffload::optimizer_and_parameters, C::deepspeed), 0.12, 0.005);
    EXPECT_NEAR(estimate(3, ZeroOffload::optimizer, C::deepspeed), 0.79, 0.01);
}

/// MEM-08: 6.805 billion parameters, largest layer 131 million, 4 GPUs: 29.01 without offload, 0.49 with both.
TEST(States, MEM_08_EstimatesCountStatesOnly) {
    const ZeroShape shape{6'805'000'000, 131'000'000, 4};
    EXPECT_NEAR(static_cast<double>(zero_estimate(shape, 3, ZeroOffload::none, ZeroConvention::deepspeed)) / gib, 29.01,
                0.01);
    EXPECT_NEAR(
        static_cast<double>(zero_estimate(shape, 3, ZeroOffload::optimizer_and_parameters, ZeroConvention::deepspeed)) /
            gib,
        0.49, 0.005);
}

TEST(States, ZeroAndFsdpFollowTheirTables) {
    constexpr double d = 8.0;
    JobRequest request = request_with("paddle", 8);
    request.precision = "fp16";
    request.zero = 2;
    EXPECT_NEAR(bytes_per_parameter(request), 2.0 + 14.0 / d, 1e-6);
    request.zero = 3;
    EXPECT_NEAR(bytes_per_parameter(request), 16.0 / d, 1e-6);
    request.software = "deepspeed";
    EXPECT_NEAR(bytes_per_parameter(request), 20.0 / d, 1e-6);
    JobRequest fsdp = request_with("torchtitan", 8);
    for (const char* kind : {"fsdp1", "fsdp2", "hsdp"}) {
        fsdp.data_parallel = kind;
        EXPECT_NEAR(bytes_per_parameter(fsdp), 16.0 / d, 1e-6) << kind;
    }
    fsdp.fsdp_shard_size = 2;
    EXPECT_NEAR(bytes_per_parameter(fsdp), 16.0 / 2.0, 1e-6);
}

TEST(States, OffloadLeavesTheDeviceTheWeights) {
    JobRequest request = request_with("deepspeed", 8);
    request.zero = 2;
    request.offload_optimizer = true;
    EXPECT_NEAR(bytes_per_parameter(request), 2.0, 1e-6);
}

/// DDP's buckets are a second copy of the gradients (pytorch/pytorch PR 41954).
TEST(States, DdpCopiesGradients) {
    JobRequest request = request_with("torch-ddp", 2);
    const double two = bytes_per_parameter(request);
    request.dp = 1;
    request.gbs = 1;
    EXPECT_DOUBLE_EQ(two - bytes_per_parameter(request), gradient_bytes(test::valid_job(request)));
}

}  // namespace
}  // namespace foreshard
