#include "sim/spec/data_parallel.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/error.hpp"
#include "sim/spec/catalogue.hpp"
#include "sim/spec/job_request.hpp"
#include "tests/support/jobs.hpp"

/// Options of data parallelism: defaults, and what excludes what.
namespace foreshard {
namespace {

using test::expect_refused;
using ::testing::Contains;
using ::testing::HasSubstr;

JobRequest replicated_llama(const std::string& kind = "ddp") {
    JobRequest request;
    request.model = "llama2-7b";
    request.cluster = "dgx-a100-80g";
    request.data_parallel = kind;
    request.gpus = 8;
    request.gbs = 32;
    return request;
}

void expect_broken(const JobRequest& request, const std::string& field) {
    const std::vector<BrokenRule> broken = check(resolve(request));
    ASSERT_FALSE(broken.empty()) << field;
    EXPECT_THAT(broken.front().fields, HasSubstr(field));
    EXPECT_FALSE(broken.front().nearest.empty()) << field;
}

TEST(DataParallelOptions, FsdpIsStageThreeOrTwo) {
    EXPECT_EQ(resolve(replicated_llama("fsdp2")).plan.zero_stage, 3);
    EXPECT_TRUE(resolve(replicated_llama("fsdp2")).plan.sync_every_microbatch);
    JobRequest kept = replicated_llama("fsdp1");
    kept.zero = 2;
    EXPECT_FALSE(resolve(kept).plan.reshard_after_forward);
    JobRequest flag = replicated_llama("fsdp1");
    flag.reshard_after_forward = false;
    EXPECT_EQ(resolve(flag).plan.zero_stage, 2);
    flag.zero = 3;
    expect_refused(flag, "--zero", "leave one of the two");
    kept.zero = 1;
    expect_refused(kept, "--zero", "contradicts FSDP");
    JobRequest both = replicated_llama("fsdp2");
    both.use_distributed_optimizer = true;
    expect_refused(both, "--use-distributed-optimizer", "leave it out");
}

/// torchtitan: with a pipeline, parameters are kept over micro-batches and gradients reduced once.
TEST(DataParallelOptions, FsdpInAPipelineKeepsParameters) {
    JobRequest request = replicated_llama("fsdp2");
    request.pp = 2;
    const Job job = resolve(request);
    EXPECT_TRUE(check(job).empty());
    EXPECT_FALSE(job.plan.reshard_after_forward);
    EXPECT_FALSE(job.plan.sync_every_microbatch);
}

TEST(DataParallelOptions, ZeroTwoAndThreeDoNotGoWithAPipeline) {
    for (const int stage : {2, 3}) {
        JobRequest request = replicated_llama();
        request.pp = 2;
        request.zero = stage;
        expect_broken(request, "zero, pp");
    }
}

TEST(DataParallelOptions, ShardsDivideTheReplicas) {
    JobRequest request = replicated_llama("hsdp");
    EXPECT_EQ(shard_size(resolve(request).plan), 8);
    request.fsdp_shard_size = 3;
    expect_broken(request, "fsdp_shard_size");
    request.fsdp_shard_size = 4;
    EXPECT_TRUE(check(resolve(request)).empty());
    JobRequest zero = replicated_llama();
    zero.zero = 1;
    zero.zero_shard_size = 5;
    expect_broken(zero, "zero_shard_size");
}

/// InternLM's hybrid ZeRO keeps optimizer shards in a node.
TEST(DataParallelOptions, AProfileMayKeepShardsInANode) {
    JobRequest request = replicated_llama();
    request.software = "internlm";
    request.gpus = 64;
    request.gbs = 64;
    request.zero = 1;
    EXPECT_EQ(shard_size(resolve(request).plan), 8);
    request.zero_shard_size = 64;
    EXPECT_EQ(shard_size(resolve(request).plan), 64);
}

TEST(DataParallelOptions, OneProcessStaysOnOneHost) {
    for (const char* kind : {"dp", "mirrored"}) {
        JobRequest request = replicated_llama(kind);
        EXPECT_TRUE(check(resolve(request)).empty()) << kind;
        request.gpus = 16;
        expect_broken(request, "data_parallel, gpus");
        request.gpus = 8;
        request.tp = 2;
        expect_broken(request, "data_parallel, tp");
    }
}

TEST(DataParallelOptions, OptionsBelongToTheirKind) {
    JobRequest request = replicated_llama();
    request.cycle_time_ms = 5.0;
    expect_refused(request, "--cycle-time-ms", "belongs to horovod");
    request = replicated_llama();
    request.fsdp_shard_size = 4;
    expect_refused(request, "--fsdp-shard-size", "belongs to");
    request = replicated_llama("local-sgd");
    request.softsync = 2;
    expect_refused(request, "--softsync", "async-sgd");
    request = replicated_llama("async-sgd");
    request.softsync = 9;
    expect_broken(request, "softsync");
    request = replicated_llama("horovod");
    request.zero = 1;
    expect_broken(request, "zero, data_parallel");
    request = replicated_llama("mirrored");
    request.overlap_grad_reduce = true;
    expect_refused(request, "--overlap-grad-reduce", "after backward");
}

TEST(DataParallelOptions, EveryDefaultIsNamed) {
    EXPECT_THAT(resolve(replicated_llama("horovod")).assumptions, Contains(HasSubstr("cycle_time_ms not given: 1")));
    EXPECT_THAT(resolve(replicated_llama("hsdp")).assumptions,
                Contains(HasSubstr("fsdp_shard_size not given: 8, one node")));
    EXPECT_THAT(resolve(replicated_llama("local-sgd")).assumptions, Contains(HasSubstr("local_steps not given: 100")));
    JobRequest request = replicated_llama();
    request.software = "torch-ddp";
    EXPECT_THAT(resolve(request).assumptions, Contains(HasSubstr("bucket_mb not given: 1 MiB, then 25 MiB")));
}

TEST(DataParallelRules, TwoDirectionsNeedWholeParameters) {
    for (const char* schedule : {"dualpipe", "chimera"}) {
        JobRequest request = test::tiny_request(4, 16);
        request.schedule = schedule;
        request.gpus = 8;
        request.data_parallel = "fsdp2";
        request.overlap_grad_reduce = false;
        const std::vector<BrokenRule> broken = check(resolve(request));
        ASSERT_FALSE(broken.empty()) << schedule;
        EXPECT_EQ(broken.front().fields, "data_parallel, schedule");
    }
}

}  // namespace
}  // namespace foreshard
