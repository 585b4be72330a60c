#include "sim/cost/roofline.hpp"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "sim/fit/kernel_csv.hpp"
#include "sim/plan/op_builders.hpp"
#include "sim/spec/catalogue.hpp"
#include "tests/support/jobs.hpp"

/// The roofline's properties, and tiles and waves where no table reaches.
namespace foreshard {
namespace {

Seconds time_of(const DeviceSpec& device, const Op& op, Precision precision = Precision::fp16) {
    return RooflineCost(device, SoftwareProfile{}, precision).time(op).seconds;
}

TEST(Roofline, TimeIsAtLeastFlopsAtThePeakAndBytesAtTheBandwidth) {
    const DeviceSpec device = load_device("v100-sxm2-32gb");
    for (const std::int64_t m : {1, 130, 2048, 50000}) {
        for (const std::int64_t k : {16, 1000, 12288}) {
            const Op op = gemm("fc1", m, 4096, k, 2);
            const Seconds time = time_of(device, op);
            EXPECT_GE(time.value, (op.flops / *device.peak[static_cast<int>(Precision::fp16)]).value);
            EXPECT_GE(time.value, ((op.read + op.written) / device.memory_bandwidth).value);
        }
    }
}

TEST(Roofline, LargeGemmsReachTheDevicesRatio) {
    const DeviceSpec device = load_device("v100-sxm2-32gb");
    const Op op = gemm("fc1", 32768, 16384, 8192, 2);
    const double ideal = op.flops.value / (device.peak[static_cast<int>(Precision::fp16)]->value * device.gemm_ratio);
    EXPECT_NEAR(time_of(device, op).value / ideal, 1.0, 0.01);
}

/// 80 SMs: 81 tiles take two waves, as 160 do. With k too short to split, both take twice the time of one wave.
TEST(Roofline, APartlyFilledWaveCostsAWholeOne) {
    const DeviceSpec device = load_device("v100-sxm2-32gb");
    const std::int64_t tile = 128;
    const auto compute = [&](std::int64_t tiles) {
        const Op op = gemm("fc1", tiles * tile, tile, 256, 2);
        return RooflineCost(device, SoftwareProfile{}, Precision::fp16).time(op).terms[0].seconds.value;
    };
    EXPECT_NEAR(compute(160) / compute(80), 2.0, 1e-9);
    EXPECT_GT(compute(84) / compute(80), 1.3);
    EXPECT_LE(compute(84), compute(160));
}

TEST(Roofline, DevicesWithATableHaveNoWaves) {
    DeviceSpec device = load_device("a100-sxm-80gb");
    const Op one_tile = gemm("fc1", 128, 128, 256, 2);
    const auto compute = [&] {
        return RooflineCost(device, SoftwareProfile{}, Precision::fp16).time(one_tile).terms[0].seconds.value;
    };
    const double with_table = compute();
    device.kernels.reset();
    EXPECT_NEAR(compute() / with_table, 108.0 / 4.0 / 0.65, 0.01) << "four small tiles on 108 SMs";
}

/// The rule against the measured tables of devices that do not need it: it must help.
TEST(Roofline, WavesBringItCloserToMeasuredTables) {
    if (test::data_folder().empty()) GTEST_SKIP() << "FORESHARD_DATA is not set";
    const std::pair<const char*, const char*> devices[] = {{"a100-sxm-80gb", "A100-SXM4-80GB"},
                                                           {"h100-sxm-80gb", "H100-SXM"},
                                                           {"b200-180gb", "B200-SXM"},
                                                           {"l40s", "L40S"}};
    for (const auto& [id, file] : devices) {
        DeviceSpec device = load_device(id);
        std::vector<double> plain;
        std::vector<double> waves;
        const auto errors = [&](const std::vector<RatePoint>& points) {
            const RooflineCost cost(device, SoftwareProfile{}, Precision::bf16);
            std::vector<double> out;
            for (const RatePoint& p : points) {
                if (p.at[0] < 512 || p.at[1] < 512 || p.at[2] < 512) continue;
                const Op op = gemm("fc1", static_cast<std::int64_t>(p.at[0]), static_cast<std::int64_t>(p.at[1]),
                                   static_cast<std::int64_t>(p.at[2]), 2);
                out.push_back(std::abs(cost.time(op).seconds.value * p.tflops * 1e12 / op.flops.value - 1.0));
            }
            std::sort(out.begin(), out.end());
            return out;
        };
        const auto points = read_gemm_csv(test::data_folder() + "/measured/gemm_bf16_" + file + ".csv").points;
        plain = errors(points);
        device.kernels.reset();
        waves = errors(points);
        const std::size_t p90 = plain.size() * 9 / 10;
        EXPECT_LT(waves[p90], plain[p90]) << id;
        EXPECT_LT(waves[p90], 0.27) << id;
    }
}

}  // namespace
}  // namespace foreshard
