#include "sim/fit/kernel_fit.hpp"

#include <cmath>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/cost/rate_grid.hpp"
#include "sim/error.hpp"
#include "sim/fit/kernel_csv.hpp"
#include "sim/spec/catalogue.hpp"
#include "tests/support/temporary_file.hpp"

/// A table fitted to synthetic measurements gives back the rates that made them.
namespace foreshard {
namespace {

using ::testing::HasSubstr;
using ::testing::Property;
using ::testing::Throws;
using ::testing::UnorderedElementsAreArray;

/// A saturating rate: 300 TFLOP/s less what short sides cost.
double known_rate(double m, double n, double k) {
    return 300.0 / ((1.0 + 100.0 / m) * (1.0 + 50.0 / n) * (1.0 + 200.0 / k));
}

double known_attention(double s, double products, double d) {
    return 200.0 * d / 128.0 / ((1.0 + 500.0 / s) * (1.0 + 8.0 / products));
}

std::string gemm_csv() {
    std::string text = "# synthetic device\nm,n,k,time_us\n";
    for (const double m : {8, 16, 32, 64, 65, 128, 256, 512, 1024, 2048, 4096}) {
        for (const double n : {64, 128, 512, 1024, 4096, 16384}) {
            for (const double k : {64, 256, 512, 1024, 4096, 16384}) {
                const double rate = m == 65 ? 1.0 : known_rate(m, n, k);  // a probe: must not be used
                text += fmt::format("{},{},{},{}\n", m, n, k, 2.0 * m * n * k / rate / 1e6);
            }
        }
    }
    return text;
}

std::string attention_csv() {
    std::string text = "batch,seq,heads,kv_heads,head_dim,time_us,tflops_causal\n";
    for (const double batch : {1, 4, 16}) {
        for (const double s : {16, 128, 256, 512, 1024, 2048, 4096, 8192}) {
            for (const double d : {64, 128}) {
                const double rate = known_attention(s, 16.0 * batch, d);
                text += fmt::format("{},{},16,4,{},{},{}\n", batch, s, d, 32.0 * batch * s * s * d / rate / 1e6, rate);
            }
        }
    }
    return text;
}

KernelTable fitted(int max_points) {
    return fit_kernels({.id = "kernels-test",
                        .gemm_file = test::write_file("fit_gemm.csv", gemm_csv()),
                        .attention_file = test::write_file("fit_attention.csv", attention_csv()),
                        .max_points = max_points},
                       load_device("a100-sxm-80gb"));
}

TEST(KernelFit, RecoversKnownRates) {
    const KernelTable table = fitted(400);
    EXPECT_LE(table.gemm.nodes() + table.attention.nodes(), 400U);
    EXPECT_EQ(table.gemm_residual.points, 9 * 36);
    EXPECT_LT(table.gemm_residual.p90_abs_pct, 2.0);
    const RateGrid gemm(table.gemm);
    for (const double m : {16.0, 128.0, 4096.0}) {
        for (const double k : {64.0, 1024.0, 16384.0}) {
            EXPECT_NEAR(gemm.tflops(m, 1024, k) / known_rate(m, 1024, k), 1.0, 0.02) << m << " " << k;
        }
    }
    const RateGrid attention(table.attention);
    for (const double s : {128.0, 1024.0, 8192.0}) {
        EXPECT_NEAR(attention.tflops(s, 64, 128) / known_attention(s, 64, 128), 1.0, 0.02) << s;
    }
}

TEST(KernelFit, FewerPointsFitWorse) {
    EXPECT_LT(fitted(400).gemm_residual.median_abs_pct, fitted(80).gemm_residual.median_abs_pct);
}

TEST(KernelFit, RoundTripsThroughItsFile) {
    const KernelTable table = fitted(100);
    const std::string text = kernels_text(table);
    const KernelTable again = load_kernels(test::write_file("kernels-test.json", text));
    EXPECT_EQ(again.gemm.tflops, table.gemm.tflops);
    EXPECT_EQ(again.attention.axes, table.attention.axes);
    EXPECT_EQ(again.gemm_residual.points, table.gemm_residual.points);
    EXPECT_THAT(again.sources, UnorderedElementsAreArray(table.sources));
    EXPECT_THAT(text, HasSubstr("synthetic device; 324 measured points thinned to"));
}

/// A place that was never measured takes a rate near its neighbours'.
TEST(KernelFit, FillsMissingCombinations) {
    std::vector<RatePoint> points;
    for (const double m : {64, 256, 1024}) {
        for (const double n : {64, 256, 1024}) {
            if (m < 1024 || n < 1024) points.push_back({{m, n, 512}, 100.0});
        }
    }
    const RateTable table = fit_rates(points, {{{64, 256, 1024}, {64, 256, 1024}, {512}}});
    for (const double rate : table.tflops) EXPECT_NEAR(rate, 100.0, 1.0);
}

TEST(KernelFit, BadFilesAreRefusedWithTheirPlace) {
    const auto expect_error = [](const std::string& text, const std::string& message) {
        const std::string path = test::write_file("bad.csv", text);
        EXPECT_THAT([&] { read_gemm_csv(path); }, Throws<InputError>(Property(&InputError::what, HasSubstr(message))));
    };
    expect_error("m,n,time_us\n1,2,3\n", "needs a column 'k'; it has: m, n, time_us");
    expect_error("m,n,k,time_us\n16,32,64,1\n16,32,64\n", "line 3: has 3 cells, the header has 4");
    expect_error("m,n,k,time_us\n16,32,64,fast\n", "line 2: 'fast' must be a number");
    expect_error("# a comment\nm,n,k,time_us\n16,32,64,0\n", "line 3: time_us 0 must be greater than 0");
    EXPECT_THROW(
        fit_kernels(
            {.id = "x", .gemm_file = test::write_file("none.csv", "m,n,k,time_us\n1,2,3,4\n"), .attention_file = {}},
            load_device("a100-sxm-80gb")),
        InputError);
}

}  // namespace
}  // namespace foreshard
