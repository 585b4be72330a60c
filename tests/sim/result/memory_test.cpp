#include <gtest/gtest.h>

#include "sim/plan/op_graph.hpp"
#include "tests/support/jobs.hpp"

/// Peak memory against figures measured by torch.cuda.max_memory_allocated, and monotonicities that users rely on.
namespace foreshard {
namespace {

/// Vocabulary-parallel artifact (arXiv 2411.05288, artifact/exp_one_host.csv): GPT, 32 layers, hidden 3072, 24 heads,
/// 8 pipeline ranks of one A100 host, 1F1B, 128 micro-batches of one sequence.
Job vocabulary_parallel_job(std::int64_t vocab, std::int64_t seq) {
    JobRequest request;
    request.model = "gpt3-6.7b";
    request.num_layers = 32;
    request.hidden_size = 3072;
    request.ffn_hidden_size = 12288;
    request.num_attention_heads = 24;
    request.num_query_groups = 24;
    request.kv_channels = 128;
    request.vocab_size = vocab;
    request.max_position_embeddings = seq;
    request.seq_length = seq;
    request.untie_embeddings_and_output_weights = true;
    request.cluster = "dgx-a100-80g";
    request.software = "megatron-fork-2024";
    request.precision = "fp16";
    request.gpus = 8;
    request.pp = 8;
    request.gbs = 128;
    return test::valid_job(request);
}

struct Measured {
    std::int64_t vocab;
    std::int64_t seq;
    double bytes;
};

TEST(PeakMemory, EqualsMeasuredAllocations) {
    // Worked examples of the formula: the first row fixed one constant, the others are predictions.
    for (const Measured& row : {Measured{32000, 2048, 15'954'552'323.0}, Measured{64000, 4096, 24'535'311'875.0},
                                Measured{256000, 2048, 27'532'284'930.0}}) {
        const Report report = evaluate(vocabulary_parallel_job(row.vocab, row.seq)).report;
        EXPECT_NEAR(static_cast<double>(report.summary.peak_memory) / row.bytes, 1.0, 1e-4)
            << "vocabulary " << row.vocab << " sequence " << row.seq << ": " << report.summary.peak_memory;
        EXPECT_EQ(report.summary.peak_memory_rank, 0);
    }
}

TEST(PeakMemory, AtTheFirstBackwardThePipelineHoldsItsInFlightSets) {
    const Report report = evaluate(vocabulary_parallel_job(32000, 2048)).report;
    // Later ranks hold so few sets that the optimizer's fp32 gradients decide.
    for (int rank = 0; rank < 5; ++rank) {
        ASSERT_EQ(report.ranks[static_cast<std::size_t>(rank)].memory.live.size(), 1U) << rank;
        EXPECT_EQ(report.ranks[static_cast<std::size_t>(rank)].memory.live.front().microbatches, 8 - rank);
    }
}

TEST(PeakMemory, StatesFollowTheSchemeOfThePrecision) {
    JobRequest request = test::tiny_request(1, 8);
    request.gpus = 4;
    request.software = "megatron-core-te";
    const auto states = [&](const char* precision, bool sharded) {
        request.precision = precision;
        request.use_distributed_optimizer = sharded;
        const Evaluation e = evaluate(test::valid_job(request));
        const auto parameters = static_cast<double>(e.graph.stages.front().parameters());
        return static_cast<double>(e.report.ranks.front().memory.states.total()) / parameters;
    };
    EXPECT_NEAR(states("fp32", false), 16.0, 1e-9);  // weight, gradient, two moments in fp32
    EXPECT_NEAR(states("fp16", false), 16.0, 1e-9);  // 2 + 2 + 4 + 8
    EXPECT_NEAR(states("bf16", false), 18.0, 1e-9);  // fp32 gradients
    EXPECT_NEAR(states("bf16", true), 6.0 + 12.0 / 4.0, 1e-4);
}

/// Saved tensors of one Llama layer in units of s b h bytes (2-byte activations): Llama 3 8B (f = 3.5 h, g = a / 4)
/// fused 2+2+3+2+2+2+14+7 = 34 sbh; unfused RMSNorm adds 4 sbh a norm, unfused SwiGLU 2 s b f.
TEST(SavedTensors, OfFusedAndUnfusedLlamaLayers) {
    const auto in_sbh = [](const std::string& model, const std::string& software) {
        JobRequest request = test::tiny_request(1, 1);
        request.model = model;
        request.software = software;
        request.precision = "bf16";
        const Job job = test::valid_job(request);
        const OpShapes shapes = op_shapes(job);
        const ByteCount statistics = 2 * 8 * shapes.tokens + 4 * shapes.heads * shapes.tokens;  // means, rstd, LSE
        const ByteCount saved = layer_block(job, shapes, false).saved - statistics;
        return static_cast<double>(saved) / static_cast<double>(shapes.tokens * shapes.hidden);
    };
    EXPECT_DOUBLE_EQ(in_sbh("llama3-8b", "megatron-core-te"), 34.0);
    EXPECT_DOUBLE_EQ(in_sbh("llama3-8b", "paddle"), 34.0 + 8.0 + 7.0);
    const double gate = 2.0 * 11008.0 / 4096.0;  // Llama 2 7B: f = 11008, h = 4096, no grouped queries
    EXPECT_DOUBLE_EQ(in_sbh("llama2-7b", "megatron-core-te"), 16.0 + 3.0 * gate);
    EXPECT_DOUBLE_EQ(in_sbh("llama2-7b", "deepspeed"), 16.0 + 8.0 + 4.0 * gate);
}

/// memory_allocated between steps of NeMo Llama 3.1 8B on 8 GPUs, DP 4 CP 2: bf16 gradients, optimizer over 8 ranks:
/// N (4 + 12 / 8).
TEST(PeakMemory, StatesOfNemoBetweenSteps) {
    JobRequest request = test::tiny_request(1, 32);
    request.model = "llama3-8b";
    request.cluster = "dgx-h100";
    request.software = "nemo-te";
    request.precision = "bf16";
    request.gpus = 8;
    request.cp = 2;
    request.use_distributed_optimizer = true;
    const Evaluation e = evaluate(test::valid_job(request));
    EXPECT_EQ(e.graph.stages.front().parameters(), 8'030'261'248);
    EXPECT_EQ(e.report.ranks.front().memory.states.total(), 44'166'436'864);
    EXPECT_NEAR(static_cast<double>(e.report.ranks.front().memory.states.total()) / 44'271'689'728.0, 1.0, 0.0025);
}

TEST(PeakMemory, GPipeGrowsWithMicroBatchesAnd1F1BDoesNot) {
    const auto peak = [](const char* schedule, int m) {
        JobRequest request = test::tiny_request(4, m);
        request.schedule = schedule;
        return evaluate(test::valid_job(request)).report.ranks.front().memory.activations;
    };
    EXPECT_EQ(peak("1f1b", 4), peak("1f1b", 16));
    EXPECT_EQ(4 * peak("gpipe", 4), peak("gpipe", 16));
}

TEST(PeakMemory, SequenceParallelismNeverRaisesIt) {
    for (const char* recompute : {"none", "selective", "full"}) {
        for (const char* software : {"megatron-2022", "megatron-core-te"}) {
            JobRequest request;
            request.model = "gpt3-6.7b";
            request.cluster = "dgx-a100-80g";
            request.software = software;
            request.recompute = recompute;
            request.gpus = 8;
            request.tp = 4;
            request.pp = 2;
            request.gbs = 8;
            const ByteCount plain = evaluate(test::valid_job(request)).report.summary.peak_memory;
            request.sp = true;
            EXPECT_LE(evaluate(test::valid_job(request)).report.summary.peak_memory, plain);
        }
    }
}

TEST(Verdict, ThreeLevels) {
    RankMemory memory;
    memory.runtime = 5;
    memory.peak = 70;
    memory.reserved = 78;
    EXPECT_EQ(memory_verdict(memory, 90), MemoryVerdict::fits);
    EXPECT_EQ(memory_verdict(memory, 80), MemoryVerdict::tight);
    EXPECT_EQ(memory_verdict(memory, 74), MemoryVerdict::does_not_fit);
}

}  // namespace
}  // namespace foreshard
