#include "sim/plan/op_graph.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "sim/plan/parameters.hpp"
#include "tests/support/jobs.hpp"

/// Lowering against counts that are published or follow from the layer's definition.
namespace foreshard {
namespace {

JobRequest request_of(const std::string& model) {
    JobRequest request;
    request.model = model;
    request.cluster = "dgx-a100-80g";
    request.software = "megatron-core-te";
    request.gpus = 1;
    request.mbs = 2;
    request.gbs = 2;
    return request;
}

double flops(const std::vector<Op>& ops) {
    double total = 0.0;
    for (const Op& op : ops) total += op.flops.value;
    return total;
}

/// FLOPs of one micro-batch over all ranks of a model replica: forward, and backward without recomputation.
struct Counted {
    double forward = 0.0;
    double backward = 0.0;
};
Counted counted(const Job& job) {
    Counted total;
    for (const StageOps& stage : build_stage_ops(job, stage_layout(job))) {
        for (const OpBlock& block : stage.blocks) {
            total.forward += block.repeat * flops(block.forward);
            total.backward += block.repeat * (flops(block.input_grad) + flops(block.weight_grad));
        }
    }
    const double ranks = job.plan.tp * job.plan.cp;
    return {total.forward * ranks, total.backward * ranks};
}

class ModelFlops : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Catalogue, ModelFlops,
                         testing::Values("gpt2-xl", "gpt3-175b", "llama2-7b", "llama3-8b", "llama3-70b", "mistral-7b",
                                         "qwen2.5-7b"));

/// The uniform formula: 3 x [L(2S(2h^2 + 2h h_kv) + 2S h ffn (2|3) + 4S^2 h (x 0.5 causal)) + 2 S h V].
TEST_P(ModelFlops, OpsSumToTheUniformFormula) {
    JobRequest request = request_of(GetParam());
    request.make_vocab_size_divisible_by = 0;  // the formula has no padding
    const Job job = test::valid_job(request);
    const Counted total = counted(job);
    const double formula = forward_flops_per_sequence(job.model, job.seq_length, true) * 2.0;
    EXPECT_NEAR(total.forward / formula, 1.0, 1e-12);
    // Backward is twice the forward; flash attention recomputes its scores (2.5 instead of 2 times its forward).
    const double scores = 0.5 * (forward_flops_per_sequence(job.model, job.seq_length, false) * 2.0 - formula) * 2.0;
    EXPECT_NEAR(total.backward / (2.0 * formula + 0.5 * scores), 1.0, 1e-12);
}

TEST_P(ModelFlops, TensorAndSequenceParallelismDivideTheWork) {
    JobRequest request = request_of(GetParam());
    request.make_vocab_size_divisible_by = 0;
    if (std::string(GetParam()) == "gpt2-xl") return;  // 25 heads, vocabulary 50257: no TP
    const Job whole = test::valid_job(request);
    for (const int tp : {2, 4}) {
        for (const bool sp : {false, true}) {
            request.gpus = tp;
            request.tp = tp;
            request.sp = sp;
            const Job job = test::valid_job(request);
            EXPECT_NEAR(counted(job).forward / counted(whole).forward, 1.0, 1e-12) << tp << sp;
            EXPECT_NEAR(counted(job).backward / counted(whole).backward, 1.0, 1e-12) << tp << sp;
        }
    }
}

TEST_P(ModelFlops, FullRecomputeAddsOneForwardOfTheLayers) {
    JobRequest request = request_of(GetParam());
    const Counted plain = counted(test::valid_job(request));
    request.recompute = "full";
    const Job job = test::valid_job(request);
    double head = 0.0;
    const std::vector<StageOps> stages = build_stage_ops(job, stage_layout(job));
    for (const OpBlock& block : stages.front().blocks) {
        if (block.kind == BlockKind::head) head += flops(block.forward);
    }
    EXPECT_NEAR(counted(job).backward - plain.backward, plain.forward - head, 1e-9 * plain.forward);
}

TEST(SavedTensors, GptLayerWithFlashIs34sbh) {
    // Korthikanti 2022 (arXiv 2205.05198) eq. 1 without the 5 a s^2 b of unfused attention; 4a + 16 bytes of
    // statistics.
    JobRequest request = request_of("gpt3-6.7b");
    request.software = "megatron-fork-2024";
    const Job job = test::valid_job(request);
    const OpBlock layer = layer_block(job, op_shapes(job), false);
    const ByteCount sb = job.seq_length * job.micro_batch;
    EXPECT_EQ(layer.saved, 34 * sb * job.model.hidden + (4 * job.model.heads + 16) * sb);
}

TEST(SavedTensors, GptLayerUnfusedIs34sbhPlus5ass) {
    JobRequest request = request_of("gpt3-6.7b");
    request.software = "megatron-2022";
    const Job job = test::valid_job(request);
    const OpBlock layer = layer_block(job, op_shapes(job), false);
    const ByteCount sb = job.seq_length * job.micro_batch;
    const ByteCount scores = 5 * job.model.heads * job.seq_length * sb;
    EXPECT_EQ(layer.saved, 34 * sb * job.model.hidden + 16 * sb + scores);
    EXPECT_EQ(recomputed(layer, Recompute::selective, op_shapes(job), 1).saved, layer.saved - scores);
    EXPECT_EQ(recomputed(layer, Recompute::full, op_shapes(job), 1).saved, 2 * sb * job.model.hidden);
}

TEST(SavedTensors, TensorParallelWithoutSequenceParallelIs10Plus24OverT) {
    JobRequest request = request_of("gpt3-6.7b");
    request.software = "megatron-fork-2024";
    request.gpus = 4;
    request.tp = 4;
    const Job job = test::valid_job(request);
    const ByteCount sb = job.seq_length * job.micro_batch;
    const ByteCount statistics = 16 * sb + 4 * job.model.heads / 4 * sb;
    EXPECT_EQ(layer_block(job, op_shapes(job), false).saved, (10 + 24 / 4) * sb * job.model.hidden + statistics);
}

TEST(RankParameters, LayersAndEndsSumToTheModel) {
    for (const char* model : {"gpt3-175b", "llama3-70b", "bert-large", "mixtral-8x7b", "gpt2-xl"}) {
        JobRequest request = request_of(model);
        request.make_vocab_size_divisible_by = 0;
        const Job job = test::valid_job(request);
        std::int64_t total = 0;
        for (const StageOps& stage : build_stage_ops(job, stage_layout(job))) {
            total += stage.parameters() + stage.expert_parameters();
        }
        EXPECT_EQ(total, total_parameters(job.model)) << model;
    }
}

TEST(RankParameters, TensorParallelSharesKeepOnlyNormsAndOutputBiasesWhole) {
    JobRequest request = request_of("gpt3-6.7b");
    request.gpus = 8;
    request.tp = 8;
    const Job job = test::valid_job(request);
    const std::int64_t h = job.model.hidden;
    // 12 h^2 / t + biases: QKV 3h/t, FC1 4h/t, projection and FC2 h each, two norms 4h.
    EXPECT_EQ(rank_layer_parameters(job, false).dense, 12 * h * h / 8 + 7 * h / 8 + 2 * h + 4 * h);
}

TEST(Collectives, SequenceParallelMovesTheSameBytesAsAllReduce) {
    JobRequest request = request_of("llama3-8b");
    request.gpus = 8;
    request.tp = 8;
    const Job plain = test::valid_job(request);
    request.sp = true;
    const Job sequence = test::valid_job(request);
    const auto count = [](const Job& job) {
        const OpBlock layer = layer_block(job, op_shapes(job), false);
        int all = 0;
        for (const std::vector<Op>* ops : {&layer.forward, &layer.input_grad}) {
            for (const Op& op : *ops) all += op.kind == OpKind::collective && op.exposed_share == 1.0 ? 1 : 0;
        }
        return all;
    };
    EXPECT_EQ(count(plain), 4);     // two all-reduces forward, two backward
    EXPECT_EQ(count(sequence), 8);  // an all-gather and a reduce-scatter for each
}

TEST(OpGraph, WideGradientsAreAccumulatedBesideTheirGemms) {
    const auto moved_per_parameter = [](const std::string& software) {
        JobRequest request = test::tiny_request(1, 2);
        request.software = software;
        request.precision = "bf16";
        const Job job = test::valid_job(request);
        const OpBlock block = layer_block(job, op_shapes(job), false);
        double bytes = 0.0;
        for (const Op& op : block.weight_grad) {
            if (op.name == "gradient_accumulation") bytes += op.read.value + op.written.value;
        }
        return bytes / static_cast<double>(block.parameters);
    };
    EXPECT_DOUBLE_EQ(moved_per_parameter("megatron-core-te"), 6.0);  // fp32: 4 read, 4 written instead of 2
    EXPECT_DOUBLE_EQ(moved_per_parameter("nemo-te"), 0.0);           // bf16 gradients
}

}  // namespace
}  // namespace foreshard
