#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/spec/catalogue.hpp"
#include "sim/spec/job.hpp"
#include "sim/spec/schedule_kinds.hpp"

// Plans that people reported as wrongly accepted, wrongly refused, or refused with a message that nobody understood:
// the cases VAL-01 ... VAL-13 of the collection of planning problems. A refusal names the rule and the nearest values.

namespace foreshard {

namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

/// A job that keeps every rule; tests change what they are about.
Job sound_job() {
    Job job;
    job.model = load_model("llama2-7b").spec;
    job.cluster = load_cluster("dgx-a100-80g");
    job.software = load_software("megatron-core-te");
    job.plan.dp = 1;
    job.plan.precision = Precision::bf16;
    job.gpus = 1;
    job.global_batch = 8;
    job.seq_length = 4096;
    return job;
}

/// A pipeline of `pp` ranks with `vpp` chunks each and `microbatches` micro-batches.
Job pipeline_job(int layers, int pp, int vpp, int microbatches) {
    Job job = sound_job();
    job.model.num_layers = layers;
    job.plan.pp = pp;
    job.plan.vpp = vpp;
    job.plan.schedule = vpp > 1 ? ScheduleKind::interleaved : ScheduleKind::one_f_one_b;
    job.gpus = pp;
    job.global_batch = microbatches;
    return job;
}

Job tensor_parallel_job(int heads, int kv_heads, int tp) {
    Job job = sound_job();
    job.model.heads = heads;
    job.model.kv_heads = kv_heads;
    job.model.ffn_hidden = 128 * tp;
    job.plan.tp = tp;
    job.gpus = tp;
    return job;
}

Job expert_job(int experts) {
    Job job = sound_job();
    job.model = load_model("mixtral-8x7b").spec;
    job.model.moe->num_experts = experts;
    return job;
}

auto rule_says(const std::string& text) {
    return Field("rule", &BrokenRule::rule, HasSubstr(text));
}

auto nearest_is(const std::string& text) {
    return Field("nearest", &BrokenRule::nearest, HasSubstr(text));
}

auto refusal(const std::string& rule, const std::string& nearest) {
    return Contains(AllOf(rule_says(rule), nearest_is(nearest)));
}

}  // namespace

void PrintTo(const BrokenRule& rule, std::ostream* out) {
    *out << rule.fields << ": " << rule.rule << "; nearest valid: " << rule.nearest;
}

TEST(PlanRules, ASoundJobBreaksNone) {
    EXPECT_THAT(check(sound_job()), IsEmpty());
}

TEST(PlanRules, VAL_01_EightyLayersOn16StagesOf2ChunksAreRefusedNotCutTo64) {
    EXPECT_THAT(check(pipeline_job(80, 16, 2, 32)),
                refusal("80 layers cannot be divided over 16 stages x 2 chunks (= 32)", "valid vpp for pp=16: 1 or 5"));
    EXPECT_THAT(check(pipeline_job(80, 16, 5, 32)), IsEmpty());
    EXPECT_THAT(check(pipeline_job(80, 16, 1, 32)), IsEmpty());
}

TEST(PlanRules, VAL_02_ThirtyLayersOn4StagesAreRefusedWithAnUnevenSplitToTry) {
    const Job job = pipeline_job(30, 4, 1, 8);
    EXPECT_THAT(check(job), refusal("30 mod 4 = 2", "7,8,8,7"));
    Job uneven = job;
    uneven.plan.layout = "7,8,8,7";
    EXPECT_THAT(check(uneven), IsEmpty());
    Job short_of_two = job;
    short_of_two.plan.layout = "7,7,7,7";
    EXPECT_THAT(check(short_of_two), refusal("the layout has 28 transformer layers, the model 30", "30 layers"));
}

TEST(PlanRules, VAL_03_InterleavingNeedsAsManyMicrobatchesAsRanks) {
    const auto rules = check(pipeline_job(24, 6, 2, 3));
    EXPECT_THAT(rules, refusal("at least pp micro-batches: 3 < pp 6", "a global batch of 6 or more"));
    EXPECT_THAT(rules, Contains(nearest_is("a smaller micro-batch or dp, or vpp 1")));
    EXPECT_THAT(check(pipeline_job(24, 6, 2, 6)), IsEmpty());
    EXPECT_THAT(check(pipeline_job(24, 6, 1, 3)), IsEmpty());
}

TEST(PlanRules, VAL_04_GroupSizeLiesBetweenRanksAndMicrobatchesAndLeavesNoSmallRemainder) {
    Job job = pipeline_job(32, 4, 2, 10);
    job.plan.microbatch_group_size = 4;
    EXPECT_THAT(check(job), refusal("group size 4 with 10 micro-batches and pp 4: it must lie in 4 .. 10, and the "
                                    "remainder 2 must be 0 or at least 4",
                                    "microbatch_group_size 5, 6 or 10; or 8 or 12 micro-batches"));
    job.global_batch = 12;
    EXPECT_THAT(check(job), IsEmpty());
    job.plan.microbatch_group_size = 3;
    EXPECT_THAT(check(job), refusal("it must lie in 4 .. 12", "microbatch_group_size 4"));
    job.plan.microbatch_group_size = 13;
    EXPECT_THAT(check(job), refusal("group size 13 with 12 micro-batches", "microbatch_group_size 4"));
}

TEST(PlanRules, VAL_05_InterleavingOnTwoRanksNeedsOverlappedMessages) {
    Job job = pipeline_job(32, 2, 2, 8);
    job.plan.overlap_p2p = true;
    EXPECT_THAT(check(job), IsEmpty());
    job.plan.overlap_p2p = false;
    EXPECT_THAT(check(job), refusal("the previous and the next rank are the same", "--overlap-p2p, pp > 2, or vpp 1"));
}

TEST(PlanRules, VAL_06_VScheduleNeedsAnEvenNumberOfLayersAStage) {
    Job job = pipeline_job(46, 16, 2, 64);
    job.plan.schedule = ScheduleKind::zb_v;
    EXPECT_THAT(check(job),
                refusal("46 layers cannot be divided over 16 stages x 2 chunks (= 32)", "or 32 or 64 layers"));
    job.model.num_layers = 64;
    EXPECT_THAT(check(job), IsEmpty());
}

Job schedule_job(ScheduleKind kind, int pp, int microbatches) {
    Job job = pipeline_job(pp * 4, pp, traits_of(kind).chunks, microbatches);
    job.plan.schedule = kind;
    return job;
}

TEST(PlanRules, SchedulesSayWhichShapesTheyAdmit) {
    EXPECT_THAT(check(schedule_job(ScheduleKind::dualpipe, 3, 8)), refusal("but pp 3 is odd", "pp 2 or 4"));
    EXPECT_THAT(check(schedule_job(ScheduleKind::dualpipe, 4, 9)), refusal("but 9 are odd", "8 or 10 micro-batches"));
    EXPECT_THAT(check(schedule_job(ScheduleKind::dualpipe, 4, 6)),
                refusal("dualpipe needs at least 8 micro-batches with pp 4, but there are 6", "a global batch of 8"));
    EXPECT_THAT(check(schedule_job(ScheduleKind::dualpipe_v, 3, 5)), refusal("needs at least 6", "batch of 6 or more"));
    EXPECT_THAT(check(schedule_job(ScheduleKind::dualpipe_v, 3, 6)), IsEmpty());
    EXPECT_THAT(check(schedule_job(ScheduleKind::chimera, 5, 5)), refusal("pp 5 is odd", "pp 4 or 6"));
    EXPECT_THAT(check(schedule_job(ScheduleKind::chimera, 4, 5)), IsEmpty());
    EXPECT_THAT(check(schedule_job(ScheduleKind::pipedream_2bw, 8, 4)), refusal("needs at least 7", "schedule 1f1b"));
    EXPECT_THAT(check(schedule_job(ScheduleKind::interleaved_zb, 4, 9)),
                refusal("whole groups of at least 4, but 9 are not divided by 4", "microbatch_group_size 9"));
    Job grouped = schedule_job(ScheduleKind::interleaved_zb, 4, 9);
    grouped.plan.microbatch_group_size = 9;
    EXPECT_THAT(check(grouped), IsEmpty());
    Job replicated = schedule_job(ScheduleKind::pipedream, 4, 8);
    replicated.plan.dp = 2;
    replicated.gpus = 8;
    EXPECT_THAT(check(replicated), refusal("replicated stages (dp 2 x cp 1) are not simulated", "dp 1"));
}

TEST(PlanRules, SchedulesSayHowManyChunksTheyHave) {
    const auto with_chunks = [](ScheduleKind kind, int vpp) {
        Job job = pipeline_job(48, 4, vpp, 16);
        job.plan.schedule = kind;
        return check(job);
    };
    EXPECT_THAT(with_chunks(ScheduleKind::hanayo, 3), refusal("an even number of chunks a rank", "vpp 2 or 4"));
    EXPECT_THAT(with_chunks(ScheduleKind::hanayo, 4), IsEmpty());
    EXPECT_THAT(with_chunks(ScheduleKind::zb_v, 1), refusal("zb-v has two chunks a rank, but vpp is 1", "vpp 2"));
    EXPECT_THAT(with_chunks(ScheduleKind::dualpipe, 3), refusal("two chunks a rank, but vpp is 3", "vpp 2"));
    EXPECT_THAT(with_chunks(ScheduleKind::zb_h1, 2), refusal("one chunk a rank, but vpp is 2", "vpp 1"));
    EXPECT_THAT(with_chunks(ScheduleKind::breadth_first, 1), IsEmpty());
    Job single = schedule_job(ScheduleKind::zb_v, 1, 4);
    single.plan.vpp = 1;
    EXPECT_THAT(check(single), refusal("schedule zb-v needs a pipeline, but pp is 1", "pp > 1"));
}

TEST(PlanRules, SchedulesPlaceTheirStages) {
    Job job = schedule_job(ScheduleKind::zb_v, 4, 16);
    job.plan.placement = Placement::loop;
    EXPECT_THAT(check(job), refusal("schedule zb-v places stages v, not loop", "leave --placement out"));
    job.plan.placement = Placement::v;
    EXPECT_THAT(check(job), IsEmpty());
    Job wave = schedule_job(ScheduleKind::hanayo, 4, 16);
    wave.plan.placement = Placement::v;
    EXPECT_THAT(check(wave), IsEmpty());
}

TEST(PlanRules, ASkewTakesAtLeastTwoSteps) {
    Job job = schedule_job(ScheduleKind::zb_2p, 4, 16);
    job.plan.skew_steps = 1;
    EXPECT_THAT(check(job), refusal("a skew of ranks over 1 steps is none", "2 and more"));
    job.plan.skew_steps = 3;
    EXPECT_THAT(check(job), IsEmpty());
}

TEST(PlanRules, VAL_07_HeadsMustDivideByTensorParallelSize) {
    EXPECT_THAT(check(tensor_parallel_job(28, 4, 8)),
                refusal("28 attention heads cannot be divided over tp 8",
                        "tp 1, 2, 4, 7, 14 or 28 (inside a node of 8: 1, 2 or 4)"));
    EXPECT_THAT(check(tensor_parallel_job(52, 52, 8)),
                refusal("52 attention heads cannot be divided over tp 8", "tp 1, 2, 4, 13, 26 or 52"));
    EXPECT_THAT(check(tensor_parallel_job(52, 52, 3)),
                refusal("52 attention heads cannot be divided over tp 3", "tp 1, 2, 4, 13, 26 or 52"));
    EXPECT_THAT(check(tensor_parallel_job(28, 4, 4)), IsEmpty());
}

TEST(PlanRules, VAL_08_TensorParallelSizeMayExceedKvHeadsAsAMultiple) {
    EXPECT_THAT(check(tensor_parallel_job(40, 8, 8)), IsEmpty());
    EXPECT_THAT(check(tensor_parallel_job(40, 8, 40)), IsEmpty());
    EXPECT_THAT(check(tensor_parallel_job(40, 8, 16)), refusal("40 attention heads cannot be divided over tp 16", "8"));
    EXPECT_THAT(check(tensor_parallel_job(40, 8, 5)),
                refusal("8 KV heads and tp 5: one must be a multiple of the other", "tp 1, 2, 4 or 8"));
}

TEST(PlanRules, VAL_08_UlyssesDegreeMayExceedKvHeadsAsAMultiple) {
    GTEST_SKIP() << "Ulysses context parallelism does not exist yet";
}

TEST(PlanRules, VAL_09_VocabularyIsPaddedToAMultipleOfDivisorTimesTp) {
    ModelSpec bloom;
    bloom.vocab_size = 250680;
    EXPECT_EQ(padded_vocab(bloom, 8), 250880);
    EXPECT_EQ(padded_vocab(bloom, 4), 250880);
    ModelSpec gpt2;
    gpt2.vocab_size = 50257;
    EXPECT_EQ(padded_vocab(gpt2, 1), 50304);
    EXPECT_EQ(padded_vocab(gpt2, 8), 51200);
    gpt2.vocab_divisor = 1;
    EXPECT_EQ(padded_vocab(gpt2, 2), 50258);
}

TEST(PlanRules, VAL_09_AVocabularyThatTpDoesNotDivideIsRefused) {
    Job job = sound_job();
    job.model.vocab_size = 50257;
    job.model.vocab_divisor = 0;
    job.plan.tp = 2;
    job.gpus = 2;
    EXPECT_THAT(check(job), refusal("50257 without padding cannot be divided over tp 2", "50258"));
    job.model.vocab_divisor = 1;
    EXPECT_THAT(check(job), IsEmpty());
}

TEST(PlanRules, VAL_10_SequenceIsAMultipleOfTheJointFactorOfCpAndTp) {
    Job job = tensor_parallel_job(24, 24, 8);
    job.plan.cp = 4;
    job.gpus = 32;
    job.plan.sequence_parallel = true;
    job.seq_length = 4080;
    EXPECT_THAT(check(job), refusal("4080 must be a multiple of 32 = lcm(8, 32)", "4064 or 4096"));
    job.seq_length = 4064;
    EXPECT_THAT(check(job), IsEmpty());

    job.plan.tp = 3;
    job.gpus = 12;
    job.model.ffn_hidden = 3 * 128;
    job.seq_length = 4084;
    EXPECT_THAT(check(job), refusal("4084 must be a multiple of 24 = lcm(8, 12)", "4080 or 4104"));
    job.seq_length = 4104;
    EXPECT_THAT(check(job), IsEmpty());
}

TEST(PlanRules, VAL_11_PipelineWithZero2And3) {
    Job job = pipeline_job(32, 2, 1, 8);
    job.plan.zero_stage = 1;
    job.plan.distributed_optimizer = true;
    EXPECT_THAT(check(job), IsEmpty());
    for (const int stage : {2, 3}) {
        job.plan.zero_stage = stage;
        EXPECT_THAT(check(job), refusal("accumulates over micro-batches", "zero 1, pp 1"));
    }
}

TEST(PlanRules, VAL_12_ExpertParallelSizesHaveTheirOwnProduct) {
    Job first = expert_job(8);
    first.gpus = 4;
    first.plan.tp = 4;
    first.plan.ep = 4;
    first.plan.etp = 1;
    EXPECT_THAT(check(first), IsEmpty());
    first.plan.etp = 0;  // Megatron's default: equal to tp
    EXPECT_THAT(check(first),
                refusal("4 GPUs cannot be divided by etp 4 x ep 4 x pp 1 = 16 (etp defaults to tp 4)", "--etp 1"));

    Job second = expert_job(8);
    second.gpus = 4;
    second.plan.dp = 2;
    second.plan.pp = 2;
    second.plan.ep = 2;
    second.plan.etp = 1;
    second.plan.schedule = ScheduleKind::one_f_one_b;
    EXPECT_THAT(check(second), IsEmpty());
}

TEST(PlanRules, VAL_13_ExpertParallelSizeDividesDataRanksAndExperts) {
    Job job = expert_job(8);
    job.gpus = 4;
    job.plan.dp = 4;
    job.plan.ep = 3;
    const auto rules = check(job);
    EXPECT_THAT(rules, refusal("ep 3 must divide dp x cp x tp = 4", "ep 1, 2 or 4"));
    EXPECT_THAT(rules, refusal("8 experts cannot be divided over ep 3", "ep 1, 2, 4 or 8"));
    job.plan.ep = 4;
    EXPECT_THAT(check(job), IsEmpty());
}

TEST(PlanRules, AllBrokenRulesAreNamedAtOnce) {
    Job job = pipeline_job(30, 4, 1, 8);
    job.plan.tp = 7;
    job.gpus = 30;
    job.global_batch = 0;
    EXPECT_THAT(check(job), refusal("global_batch_size is 0", "1"));
    job.global_batch = 8;
    const auto rules = check(job);
    EXPECT_THAT(rules, refusal("30 GPUs, but dp 1 x tp 7 x pp 4 x cp 1 = 28", "28 or 56 GPUs"));
    EXPECT_THAT(rules, Contains(rule_says("32 attention heads cannot be divided over tp 7")));
    EXPECT_THAT(rules, Contains(rule_says("30 layers cannot be divided over 4")));
    EXPECT_GE(rules.size(), 4U);
}

TEST(PlanRules, NegativeValuesDoNotPassForDefaults) {
    Job job = pipeline_job(32, 4, 2, 8);
    job.plan.microbatch_group_size = -1;
    job.plan.first_stage_layers = -8;
    job.plan.etp = -1;
    const auto rules = check(job);
    EXPECT_THAT(rules, refusal("microbatch_group_size is -1; it must be at least 0", "0"));
    EXPECT_THAT(rules, refusal("decoder_first_pipeline_num_layers is -8", "0"));
    EXPECT_THAT(rules, refusal("etp is -1", "0"));
}

TEST(PlanRules, BatchesMustDivide) {
    Job job = sound_job();
    job.gpus = 4;
    job.plan.dp = 4;
    job.micro_batch = 2;
    job.global_batch = 12;
    EXPECT_THAT(check(job), refusal("a global batch of 12 cannot be divided by micro-batch 2 x dp 4 = 8", "8 or 16"));
}

TEST(PlanRules, AClusterWithoutNetworkEndsAtItsNode) {
    Job job = sound_job();
    job.cluster.inter_node.reset();
    job.gpus = 16;
    job.plan.dp = 16;
    job.global_batch = 16;
    EXPECT_THAT(check(job), refusal("has no network between nodes", "at most 8 GPUs"));
}

TEST(PlanRules, APrecisionThatTheGpuLacksIsRefusedWithThoseItHas) {
    Job job = sound_job();
    job.cluster = load_cluster("dgx-1-v100");
    const auto rules = check(job);
    EXPECT_THAT(rules, refusal("has no peak rate for bf16", "fp16"));
}

TEST(PlanRules, RecomputeOptionsBelongToFullRecompute) {
    Job job = sound_job();
    job.plan.recompute = Recompute::selective;
    job.plan.recompute_num_layers = 1;
    EXPECT_THAT(check(job), refusal("belongs to full recompute, not to selective", "--recompute full"));
    job.plan.recompute = Recompute::full;
    EXPECT_THAT(check(job), IsEmpty());
    job.plan.recompute_num_layers = 33;
    EXPECT_THAT(check(job), refusal("recompute of 33 layers at a time, but a stage has 32", "1 to 32"));
}

/// The profile of the project's own runtime knows the buffers of what that runs.
TEST(Counted, BuffersNeedAPlanThatTheRuntimeHas) {
    Job job = sound_job();
    job.software = load_software("foreshard");
    EXPECT_THAT(check(job), IsEmpty());
    job.plan.cp = 2;
    job.gpus *= 2;
    EXPECT_THAT(check(job), refusal("a runtime that has no context parallelism, but cp is 2", "cp 1"));
    job = sound_job();
    job.software = load_software("foreshard");
    job.model = load_model("mixtral-8x7b").spec;
    EXPECT_THAT(check(job), refusal("a runtime that has no experts, but mixtral-8x7b has some", "a dense model"));
}

}  // namespace foreshard
