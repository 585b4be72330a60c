#include "sim/cost/calibrated.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "sim/plan/op_builders.hpp"
#include "sim/plan/op_graph.hpp"
#include "sim/prefixes.hpp"
#include "sim/spec/catalogue.hpp"
#include "tests/support/jobs.hpp"

/// CalibratedCost against its table, and properties that hold for every op.
namespace foreshard {
namespace {

SoftwareProfile neutral() {
    SoftwareProfile software;
    software.numbers.flash_backward_ratio = 2.5;
    return software;
}

double rate(const DeviceSpec& device, double m, double n, double k) {
    return RateGrid(device.kernels->gemm).tflops(m, n, k) * tera;
}

Op attention(std::int64_t seq, std::int64_t batch_heads, std::int64_t head_dim, bool backward) {
    Op op;
    op.name = backward ? "flash_attention_grad" : "flash_attention";
    op.kind = OpKind::flash_attention;
    op.backward = backward;
    op.m = seq;
    op.n = seq;
    op.k = head_dim;
    op.batch = batch_heads;
    const double flops = 2.0 * static_cast<double>(batch_heads * seq * seq * head_dim);
    op.flops = Flops(backward ? 2.5 * flops : flops);
    op.read = Bytes(6.0 * static_cast<double>(batch_heads * seq * head_dim));
    op.written = Bytes(2.0 * static_cast<double>(batch_heads * seq * head_dim));
    return op;
}

TEST(CalibratedCost, GemmTimeIsFlopsOverTheMeasuredRate) {
    const DeviceSpec device = load_device("a100-sxm-80gb");
    SoftwareProfile software = neutral();
    software.numbers.gemm_time_factor = 1.1;
    const CalibratedCost cost(device, software, Precision::bf16);
    const Op op = gemm("fc1", 4096, 3072, 6144, 2, 1);
    EXPECT_NEAR(cost.time(op).seconds.value, 1.1 * op.flops.value / rate(device, 4096, 3072, 6144), 1e-12);
    EXPECT_EQ(CalibratedCost(device, software, Precision::fp16).time(op).seconds, cost.time(op).seconds);
}

/// Both m and n of a weight gradient are weight sizes: the smaller is the table's m, whichever stands first.
TEST(CalibratedCost, WeightGradientsLookUpTheSmallerSideAsRows) {
    const DeviceSpec device = load_device("h100-sxm-80gb");
    const CalibratedCost cost(device, neutral(), Precision::bf16);
    const Op wide = gemm("fc1_wgrad", 16384, 2048, 4096, 2, 1);
    const Op tall = gemm("fc1_wgrad", 2048, 16384, 4096, 2, 1);
    EXPECT_EQ(cost.time(wide).seconds, cost.time(tall).seconds);
    EXPECT_NEAR(cost.time(wide).seconds.value, wide.flops.value / rate(device, 2048, 16384, 4096), 1e-12);
}

TEST(CalibratedCost, ExpertsRunProductByProduct) {
    const CalibratedCost cost(load_device("h100-sxm-80gb"), neutral(), Precision::bf16);
    const double one = cost.time(gemm("expert_fc1", 512, 4096, 4096, 2, 1)).seconds.value;
    EXPECT_NEAR(cost.time(gemm("expert_fc1", 512, 4096, 4096, 2, 8)).seconds.value, 8.0 * one, 1e-12);
}

/// max(1, phi (side / 8192)^0.3), and the head in bf16.
TEST(CalibratedCost, LowPrecisionSpeedsUpLargeGemmsOnly) {
    DeviceSpec device = load_device("h100-sxm-80gb");
    device.fp8_gemm_speedup = 1.65;
    const CalibratedCost bf16(device, neutral(), Precision::bf16);
    const CalibratedCost fp8(device, neutral(), Precision::fp8);
    const auto ratio = [&](const Op& op) { return bf16.time(op).seconds / fp8.time(op).seconds; };
    EXPECT_NEAR(ratio(gemm("fc1", 8192, 8192, 8192, 2, 1)), 1.65, 1e-9);
    EXPECT_NEAR(ratio(gemm("fc1", 4096, 4096, 4096, 2, 1)), 1.65 * std::pow(0.5, 0.3), 1e-9);
    EXPECT_NEAR(ratio(gemm("fc1", 512, 512, 512, 2, 1)), 1.0, 1e-9);
    EXPECT_NEAR(ratio(gemm("logits", 8192, 8192, 8192, 2, 1)), 1.0, 1e-9);
    EXPECT_NEAR(ratio(attention(4096, 32, 128, false)), 1.0, 1e-9);
}

TEST(CalibratedCost, AttentionBackwardIsARatioOfForward) {
    SoftwareProfile software = neutral();
    software.numbers.flash_backward_ratio = 2.7;
    software.numbers.flash_time_factor = 0.8;
    const DeviceSpec device = load_device("h100-sxm-80gb");
    const CalibratedCost cost(device, software, Precision::bf16);
    const Op forward = attention(4096, 32, 128, false);
    const double table_rate = RateGrid(device.kernels->attention).tflops(4096, 32, 128) * tera;
    EXPECT_NEAR(cost.time(forward).seconds.value, 0.8 * forward.flops.value / table_rate, 1e-12);
    EXPECT_NEAR(cost.time(attention(4096, 32, 128, true)).seconds / cost.time(forward).seconds, 2.7, 1e-9);
}

TEST(CalibratedCost, FallsBackToTheRooflineWithoutATable) {
    const Op product = gemm("fc1", 4096, 4096, 4096, 2, 1);
    for (const auto& [id, precision] :
         {std::pair{"v100-sxm2-32gb", Precision::fp16}, std::pair{"a100-sxm-80gb", Precision::tf32},
          std::pair{"mi300x-192gb", Precision::bf16}}) {
        const DeviceSpec device = load_device(id);
        const CalibratedCost cost(device, neutral(), precision);
        const RooflineCost roofline(device, neutral(), precision);
        EXPECT_EQ(cost.time(product).seconds, roofline.time(product).seconds) << id;
        EXPECT_EQ(cost.stream(Bytes(1e9)).seconds, roofline.stream(Bytes(1e9)).seconds) << id;
    }
}

TEST(CalibratedCost, LaunchBlockingIsAddedToEveryKernel) {
    SoftwareProfile software = neutral();
    const DeviceSpec device = load_device("a100-sxm-80gb");
    const Op op = gemm("fc1", 4096, 4096, 4096, 2, 1);
    const double before = CalibratedCost(device, software, Precision::bf16).time(op).seconds.value;
    software.numbers.launch_blocking = Seconds(8e-6);
    EXPECT_NEAR(CalibratedCost(device, software, Precision::bf16).time(op).seconds.value - before, 8e-6, 1e-12);
}

/// Below the table (m < 16) the rate is clamped, so only the bytes and the launch keep a product from costing nothing.
TEST(CalibratedCost, BytesBoundProductsBelowTheTable) {
    const DeviceSpec device = load_device("h100-sxm-80gb");
    const CalibratedCost cost(device, neutral(), Precision::bf16);
    const Op vector = gemm("fc1", 1, 8192, 8192, 2, 1);
    EXPECT_GE(cost.time(vector).seconds.value, (vector.read / (device.memory_bandwidth * device.memory_ratio)).value);
    EXPECT_EQ(cost.time(vector).bound, Bound::memory);
    EXPECT_GE(cost.time(gemm("fc1", 1, 1, 1, 2, 1)).seconds.value, device.kernel_launch.value);
}

TEST(CalibratedCost, NothingIsFasterThanThePeak) {
    for (const CatalogueEntry& entry : catalogue("devices")) {
        const DeviceSpec device = load_device(std::string(entry.id));
        for (int p = 0; p < precision_count; ++p) {
            if (!device.peak[p]) continue;
            const CalibratedCost cost(device, neutral(), static_cast<Precision>(p));
            for (const std::int64_t m : {1, 100, 4096, 100000}) {
                for (const std::int64_t k : {64, 3000, 32768}) {
                    const Op op = gemm("fc1", m, 12288, k, 2, 1);
                    EXPECT_GE(cost.time(op).seconds.value, op.flops.value / device.peak[p]->value) << entry.id << p;
                }
            }
        }
    }
}

TEST(CalibratedCost, SiblingsScaleTheTableByTheirPeak) {
    const DeviceSpec measured = load_device("b200-180gb");
    const DeviceSpec sibling = load_device("gb200-186gb");
    EXPECT_NEAR(rate(sibling, 4096, 4096, 4096) / rate(measured, 4096, 4096, 4096), 2500.0 / 2250.0, 1e-9);
}

/// Whole jobs: every op has a time, never below its FLOPs at the peak.
TEST(CalibratedCost, EveryOpOfRandomJobsTakesItsTime) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        const Job job = test::random_job(seed);
        const DeviceSpec& device = job.cluster.device;
        const CalibratedCost cost(device, job.software, job.plan.precision);
        double peak = 0.0;
        for (const auto& value : device.peak) peak = std::max(peak, value ? value->value : 0.0);
        const OpShapes shapes = op_shapes(job);
        for (const OpBlock& block : {embedding_block(job, shapes), layer_block(job, shapes, job.model.moe.has_value()),
                                     head_block(job, shapes)}) {
            for (const auto* ops : {&block.forward, &block.input_grad, &block.weight_grad}) {
                for (const Op& op : *ops) {
                    if (op.kind == OpKind::collective) continue;
                    EXPECT_GE(cost.time(op).seconds.value, op.flops.value / peak) << op.name;
                    EXPECT_GT(cost.time(op).seconds.value, 0.0) << op.name;
                }
            }
        }
    }
}

}  // namespace
}  // namespace foreshard
