#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/error.hpp"
#include "sim/spec/catalogue.hpp"
#include "sim/spec/job_request.hpp"
#include "sim/spec/schedule_kinds.hpp"
#include "tests/support/jobs.hpp"

namespace foreshard {

namespace {

using test::expect_refused;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

JobRequest request_of(const std::string& model, const std::string& cluster) {
    JobRequest request;
    request.model = model;
    request.cluster = cluster;
    return request;
}

JobRequest llama() {
    return request_of("llama2-7b", "dgx-a100-80g");
}

/// What `change` does to a request that is sound without it.
template <class Change>
void expect_change_refused(Change change, const std::string& flag, const std::string& reason) {
    JobRequest request = llama();
    change(request);
    expect_refused(request, flag, reason);
}

}  // namespace

TEST(Resolve, EveryDefaultIsNamed) {
    const Job job = resolve(llama());
    EXPECT_THAT(check(job), IsEmpty());
    for (const char* name : {"tp not given: 1",
                             "pp not given: 1",
                             "vpp not given: 1",
                             "cp not given: 1",
                             "ep not given: 1",
                             "dp not given: 1",
                             "gpus not given: 1",
                             "mbs not given: 1",
                             "gbs not given: 1",
                             "seq_length not given: 4096",
                             "schedule not given: none",
                             "recompute not given: none",
                             "zero not given: 0",
                             "sp not given: off",
                             "precision not given: bf16",
                             "software not given: megatron-core-te",
                             "overlap_p2p not given",
                             "order not given: tp-cp-ep-dp-pp",
                             "data_parallel not given: ddp",
                             "contention not given: off"}) {
        EXPECT_THAT(job.assumptions, Contains(HasSubstr(name)));
    }
}

TEST(Resolve, WhatIsGivenIsNoAssumption) {
    JobRequest request = llama();
    request.tp = 2;
    request.gpus = 8;
    request.gbs = 16;
    const Job job = resolve(request);
    EXPECT_EQ(job.plan.dp, 4);
    EXPECT_EQ(job.global_batch, 16);
    EXPECT_THAT(job.assumptions, Not(Contains(HasSubstr("tp not given"))));
    EXPECT_THAT(job.assumptions, Contains(HasSubstr("dp not given: 4")));
}

TEST(Resolve, GpusFollowFromTheDegrees) {
    JobRequest request = llama();
    request.tp = 2;
    request.pp = 4;
    request.dp = 3;
    EXPECT_EQ(resolve(request).gpus, 24);
    request.dp.reset();
    EXPECT_EQ(resolve(request).gpus, 8);
    EXPECT_EQ(resolve(request).plan.dp, 1);
}

TEST(Resolve, DegreesThatDoNotDivideAreLeftToCheck) {
    JobRequest request = llama();
    request.tp = 3;
    request.gpus = 8;
    const Job job = resolve(request);
    EXPECT_EQ(job.plan.dp, 0);
    EXPECT_THAT(check(job), Contains(::testing::Field(&BrokenRule::rule, HasSubstr("8 GPUs"))));
}

/// Transformer Engine multiplies fp32 tensors in TF32, where there is TF32; others do not.
TEST(Resolve, ProductsOfFp32RunInTf32WithTransformerEngine) {
    const auto resolved = [](const char* cluster, const char* software) {
        JobRequest request = llama();
        request.cluster = cluster;
        request.software = software;
        request.precision = "fp32";
        return resolve(request);
    };
    const auto peak = [](const Job& job, Precision precision) {
        const auto& known = job.cluster.device.peak[static_cast<std::size_t>(precision)];
        return known ? known->value : 0.0;
    };
    const Job engine = resolved("dgx-h100", "megatron-core-te");
    EXPECT_EQ(engine.plan.precision, Precision::fp32);
    EXPECT_EQ(peak(engine, Precision::fp32), peak(engine, Precision::tf32));
    EXPECT_THAT(engine.assumptions, Contains(HasSubstr("fp32: products run in TF32 (494.5 TFLOP/s)")));
    const Job torch = resolved("dgx-h100", "torchtitan");
    EXPECT_LT(peak(torch, Precision::fp32), 0.2 * peak(torch, Precision::tf32));
    const Job volta = resolved("dgx-1-v100", "megatron-core-te");
    EXPECT_EQ(peak(volta, Precision::tf32), 0.0);
    EXPECT_THAT(volta.assumptions, Not(Contains(HasSubstr("TF32"))));
}

TEST(Resolve, ScheduleFollowsFromRanksAndChunks) {
    JobRequest request = llama();
    EXPECT_EQ(resolve(request).plan.schedule, ScheduleKind::none);
    request.pp = 4;
    EXPECT_EQ(resolve(request).plan.schedule, ScheduleKind::one_f_one_b);
    request.vpp = 2;
    EXPECT_EQ(resolve(request).plan.schedule, ScheduleKind::interleaved);
    request.vpp.reset();
    request.schedule = "interleaved-1f1b";
    EXPECT_EQ(resolve(request).plan.vpp, 2);
    request.schedule.reset();
    request.num_layers_per_virtual_pipeline_stage = 2;
    EXPECT_EQ(resolve(request).plan.vpp, 4);
    request.num_layers_per_virtual_pipeline_stage.reset();
    request.layout = "Et*4|(t*4|)*6,t*4,L";
    EXPECT_EQ(resolve(request).plan.vpp, 2);
}

TEST(Resolve, GlobalBatchDefaultsToOneMicrobatchWithAWarning) {
    JobRequest request = llama();
    request.pp = 4;
    request.dp = 2;
    request.mbs = 3;
    const Job job = resolve(request);
    EXPECT_EQ(job.global_batch, 6);
    EXPECT_THAT(job.warnings, Contains(HasSubstr("--gbs")));
}

TEST(Resolve, StageTimesGiveTheStagesAndNeedNoModel) {
    JobRequest request;
    request.stage_times = StageTimes{.stages = std::vector<StageTimes::Stage>(6)};
    Job job = resolve(request);
    EXPECT_EQ(job.plan.pp, 6);
    EXPECT_EQ(job.model.id, "gpt-tiny");
    EXPECT_EQ(job.cluster.id, "dgx-a100-80g");
    EXPECT_THAT(job.assumptions, Contains(HasSubstr("model not given: gpt-tiny")));
    EXPECT_THAT(check(job), IsEmpty());
    request.pp = 3;
    request.gbs = 3;
    job = resolve(request);
    EXPECT_EQ(job.plan.vpp, 2);
    EXPECT_EQ(job.plan.schedule, ScheduleKind::interleaved);
    request.pp.reset();
    request.vpp = 3;
    EXPECT_EQ(resolve(request).plan.pp, 2);
}

TEST(Resolve, CountsOfAScheduleFileGiveRanksChunksAndBatch) {
    JobRequest request = llama();
    request.schedule_file = ScheduleFile{.name = "s.csv", .text = "0F0,0B0"};
    request.schedule_counts = ScheduleCounts{.ranks = 4, .stages = 8, .microbatches = 6};
    const Job job = resolve(request);
    EXPECT_EQ(job.plan.pp, 4);
    EXPECT_EQ(job.plan.vpp, 2);
    EXPECT_EQ(job.global_batch, 6);
    EXPECT_FALSE(job.schedule_file->vpp_given);
    request.schedule = "1f1b";
    expect_refused(request, "--schedule", "cannot be combined with --schedule-file");
}

TEST(Resolve, FlagsWinOverTheFile) {
    const JobRequest file = load_job_request("gpt3-175b-selene-64");
    JobRequest flags;
    flags.vpp = 1;
    flags.gbs = 128;
    flags.model = "megatron-22b";
    const Job job = resolve(merge(file, flags));
    EXPECT_EQ(job.plan.tp, 8);
    EXPECT_EQ(job.plan.vpp, 1);
    EXPECT_EQ(job.global_batch, 128);
    EXPECT_EQ(job.model.id, "megatron-22b");
    EXPECT_EQ(job.software.id, "megatron-2022");
}

TEST(Resolve, ModelChangesCarryTheirConsequences) {
    JobRequest request = llama();
    request.hidden_size = 2048;
    request.num_attention_heads = 16;
    request.num_layers = 8;
    const Job job = resolve(request);
    EXPECT_EQ(job.model.num_layers, 8);
    EXPECT_EQ(job.model.kv_heads, 16);
    EXPECT_EQ(job.model.head_dim, 128);
    EXPECT_EQ(job.model.ffn_hidden, 5440);  // 2048 * 8 / 3 in multiples of 64, for a gated MLP
    EXPECT_FALSE(job.model.published_parameters);
    EXPECT_THAT(job.assumptions, Contains(HasSubstr("ffn_hidden_size not given: 5440")));
    EXPECT_THAT(job.assumptions, Contains(HasSubstr("llama2-7b with changed num_layers, hidden_size")));
}

TEST(Resolve, ExpertsCanBeAdded) {
    JobRequest request = llama();
    request.num_experts = 8;
    const Job job = resolve(request);
    ASSERT_TRUE(job.model.moe);
    EXPECT_EQ(job.model.moe->topk, 2);
    EXPECT_EQ(job.model.moe->ffn_hidden, job.model.ffn_hidden);
    expect_change_refused([](JobRequest& r) { r.moe_router_topk = 2; }, "--num-experts", "needed");
}

TEST(Resolve, DistributedOptimizerIsZeroOne) {
    JobRequest request = llama();
    request.use_distributed_optimizer = true;
    EXPECT_EQ(resolve(request).plan.zero_stage, 1);
    request.use_distributed_optimizer.reset();
    request.zero = 1;
    EXPECT_TRUE(resolve(request).plan.distributed_optimizer);
    request.zero = 0;
    request.use_distributed_optimizer = true;
    expect_refused(request, "--zero", "contradicts");
}

TEST(Resolve, PrecisionFallsBackToWhatTheGpuHas) {
    const Job job = resolve(request_of("gpt2-xl", "dgx-1-v100"));
    EXPECT_EQ(job.plan.precision, Precision::fp16);
    EXPECT_THAT(job.assumptions, Contains(HasSubstr("has no bf16")));
}

TEST(Resolve, FullRecomputeIsUniformWithOneLayer) {
    JobRequest request = llama();
    request.recompute = "full";
    const Job job = resolve(request);
    EXPECT_EQ(job.plan.recompute_num_layers, 1);
    EXPECT_EQ(job.plan.recompute_method, RecomputeMethod::uniform);
}

TEST(Resolve, ModelAndClusterAreRequired) {
    expect_refused({}, "--model", "required");
    JobRequest request;
    request.model = "llama2-7b";
    expect_refused(request, "--cluster", "required");
}

TEST(Resolve, NamesThatAreNotKnownAreRefusedWithTheList) {
    expect_change_refused([](JobRequest& r) { r.schedule = "1fb1"; }, "--schedule",
                          "did you mean 1f1b?); valid: none, naive, gpipe, 1f1b, interleaved-1f1b");
    expect_change_refused([](JobRequest& r) { r.precision = "fp61"; }, "--precision", "valid: fp32, tf32");
    expect_change_refused([](JobRequest& r) { r.data_parallel = "ddpp"; }, "--data-parallel", "did you mean ddp?");
    expect_change_refused([](JobRequest& r) { r.recompute = "all"; }, "--recompute", "none, selective, full");
    expect_change_refused([](JobRequest& r) { r.placement = "zigzag"; }, "--placement", "linear, loop");
    expect_change_refused([](JobRequest& r) { r.layout = "Ettx"; }, "--layout", "unknown letter");
}

TEST(Resolve, SchedulesHaveTheNamesOfOtherPrograms) {
    const auto kind = [](const std::string& name) {
        JobRequest request = llama();
        request.pp = 4;
        request.gpus = 8;
        request.schedule = name;
        return resolve(request).plan.schedule;
    };
    for (const char* name : {"GPipe", "ScheduleGPipe", "gpipe"}) EXPECT_EQ(kind(name), ScheduleKind::gpipe) << name;
    for (const char* name : {"1F1B", "Schedule1F1B", "PipeDream-Flush", "dapple", "DeepSpeed"}) {
        EXPECT_EQ(kind(name), ScheduleKind::one_f_one_b) << name;
    }
    EXPECT_EQ(kind("Interleaved1F1B"), ScheduleKind::interleaved);
    EXPECT_EQ(kind("ScheduleInterleaved1F1B"), ScheduleKind::interleaved);
    EXPECT_EQ(kind("LoopedBFS"), ScheduleKind::breadth_first);
    EXPECT_EQ(kind("InterleavedZeroBubble"), ScheduleKind::interleaved_zb);
    EXPECT_EQ(kind("ScheduleZBVZeroBubble"), ScheduleKind::zb_v);
    EXPECT_EQ(kind("ZB-V"), ScheduleKind::zb_v);
    EXPECT_EQ(kind("DualPipeV"), ScheduleKind::dualpipe_v);
    EXPECT_EQ(kind("zb_h1"), ScheduleKind::zb_h1);
    for (const ScheduleTraits& traits : schedule_kinds()) EXPECT_EQ(kind(std::string(traits.id)), traits.kind);
}

TEST(Resolve, ChunksAreWhatTheScheduleNeeds) {
    for (const ScheduleTraits& traits : schedule_kinds()) {
        JobRequest request = llama();
        request.pp = 4;
        request.gpus = 4;
        request.schedule = std::string(traits.id);
        EXPECT_EQ(resolve(request).plan.vpp, traits.chunks) << traits.id;
        request.pp = 1;
        EXPECT_EQ(resolve(request).plan.vpp, 1) << traits.id;
    }
}

TEST(Resolve, NeutralValuesAreAccepted) {
    JobRequest neutral = llama();
    neutral.speed_factor = "1";
    neutral.jitter_pct = 0.0;
    neutral.seed = 7;
    neutral.contention = "off";
    EXPECT_NO_THROW(resolve(neutral));
}

TEST(Resolve, AbsurdValuesAreRefusedBeforeArithmeticOverflows) {
    static constexpr int huge = 2'000'000'000;
    expect_change_refused([](JobRequest& r) { r.tp = huge; }, "--gpus", "out of range");
    expect_change_refused([](JobRequest& r) { r.pp = 60'000, r.vpp = 60'000, r.gpus = 1; }, "pp x vpp", "out of range");
    expect_change_refused([](JobRequest& r) { r.gbs = 1'000'000'000'000; }, "--gbs", "out of range");
    expect_change_refused([](JobRequest& r) { r.bucket_mb = -1.0; }, "--bucket-mb", "must be");
    expect_change_refused([](JobRequest& r) { r.num_layers = huge; }, "--num-layers", "out of range");
}

}  // namespace foreshard
