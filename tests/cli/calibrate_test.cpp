#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/program.hpp"
#include "tests/support/schema.hpp"

/// `foreshard calibrate`, from measurements to a prediction.
namespace foreshard::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

/// Micro-benchmarks of a processor: GEMM 20 GFLOP/s behind 5 us, copies 4 GB/s behind 1 us.
json microbench() {
    json out = {{"schema", "foreshard.microbench"},
                {"schema_version", "1.0"},
                {"backend", "cpu"},
                {"comm", "threads"},
                {"dtype", "fp32"},
                {"ranks", 1},
                {"results", json::array()}};
    const auto add = [&](json row, double us) {
        row["time_us"] = {{"samples", 9}, {"median", us}, {"min", us}, {"p90", us}};
        out["results"].push_back(row);
    };
    for (double size = 1e4; size < 1e9; size *= 3.0) {
        for (const char* op : {"forward", "input_grad", "weight_grad"}) {
            add({{"group", "gemm"}, {"op", op}, {"flops", size}}, 5.0 + size / 20e3);
        }
        add({{"group", "memory"}, {"op", "copy"}, {"bytes", size}}, 1.0 + size / 4e3);
    }
    add({{"group", "memory"}, {"op", "copy"}, {"bytes", 1e6}}, 2500.0);  // an outlier
    return out;
}

std::string nccl_text() {
    std::string text =
        "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw "
        "#wrong\n";
    for (double bytes = 1024.0; bytes < 1e9; bytes *= 4.0) {
        const double time = 10.0 + 1.75 * bytes / 100e3;
        const double algbw = bytes / time / 1e3;
        text += fmt::format(" {:.0f} {:.0f} float sum -1 {:.2f} {:.2f} {:.2f} 0 {:.2f} {:.2f} {:.2f} 0\n", bytes,
                            bytes / 4, time, algbw, 1.75 * algbw, time, algbw, 1.75 * algbw);
    }
    return text;
}

class Calibrate : public ProgramTest {
protected:
    Calibrate() : ProgramTest(FORESHARD_PROGRAM) {}
    void SetUp() override {
        ProgramTest::SetUp();
        std::ofstream(folder_ / "bench.json") << microbench();
        std::ofstream(folder_ / "all_reduce.txt") << nccl_text();
    }
    /// Beside its files.
    Outcome here(const std::string& arguments) const { return run(arguments, "cd '" + folder_.string() + "' && "); }
    json read(const char* name) const { return json::parse(read_file(folder_ / name)); }
};

TEST_F(Calibrate, PrintsGroupsAndRejectedPointsAndWritesTheFile) {
    const Outcome made = here("calibrate bench.json all_reduce.txt --cluster dgx-a100-80g -o mine.json --holdout");
    ASSERT_EQ(made.code, 0) << made.err;
    EXPECT_THAT(made.out, HasSubstr("gemm.forward"));
    EXPECT_THAT(made.out, HasSubstr("all-reduce of 8 ranks"));
    EXPECT_THAT(made.out, HasSubstr("1 values were rejected\nbench.json:"));
    EXPECT_THAT(made.out, HasSubstr("times what the other points say"));
    EXPECT_THAT(made.out, HasSubstr("held out, not fitted"));
    const json file = read("mine.json");
    EXPECT_EQ(violations("calibration", file), "");
    EXPECT_EQ(file.at("id"), "mine");
    EXPECT_EQ(file.at("inputs").size(), 2U);
    EXPECT_EQ(file.at("inputs")[0].at("sha256").get<std::string>().size(), 64U);
    EXPECT_EQ(file.at("rejected").size(), 1U);
}

TEST_F(Calibrate, StandardOutputIsTheFileAlone) {
    const Outcome made = here("calibrate bench.json --json -");
    ASSERT_EQ(made.code, 0) << made.err;
    EXPECT_EQ(violations("calibration", json::parse(made.out)), "");
}

TEST_F(Calibrate, APredictionNamesItAndNeedsNoCluster) {
    ASSERT_EQ(here("calibrate bench.json all_reduce.txt --cluster dgx-a100-80g -o mine.json").code, 0);
    const Outcome made =
        here("simulate --calibration mine.json --model gpt-tiny --precision fp32 --tp 4 --gbs 4 --json report.json");
    ASSERT_EQ(made.code, 0) << made.err;
    EXPECT_THAT(made.out, HasSubstr("P10 to P90"));
    const json report = read("report.json");
    EXPECT_EQ(violations("report", report), "");
    EXPECT_EQ(report.at("provenance").at("calibration"), "mine");
    EXPECT_EQ(report.at("provenance").at("inputs")[0].at("file"), "mine.json");
    EXPECT_EQ(report.at("job").at("cluster").at("id"), "dgx-a100-80g");
    const std::string assumptions = report.at("provenance").at("assumptions").dump();
    EXPECT_THAT(assumptions, HasSubstr("calibration mine: laws of like ops for: "));
    EXPECT_THAT(assumptions, HasSubstr("calibration mine: times of 1 collectives"));
}

TEST_F(Calibrate, KernelTimesNeedTheirDevice) {
    std::ofstream csv(folder_ / "gemm.csv");
    csv << "# made up\nm,n,k,time_us\n";
    for (const double m : {64, 512, 4096}) {
        for (const double n : {64, 512, 4096}) {
            for (const double k : {64, 512, 4096}) csv << fmt::format("{},{},{},{}\n", m, n, k, 2.0 + m * n * k / 1e8);
        }
    }
    csv.close();
    const Outcome refused = here("calibrate gemm.csv -o mine.json");
    EXPECT_EQ(refused.code, 2);
    EXPECT_THAT(refused.err, HasSubstr("--device: needed for gemm.csv"));
    ASSERT_EQ(here("calibrate gemm.csv --device h100-sxm-80gb -o mine.json").code, 0);
    const json file = read("mine.json");
    EXPECT_EQ(violations("calibration", file), "");
    EXPECT_EQ(violations("kernels", file.at("kernels")), "");
    const Outcome made =
        here("simulate --calibration mine.json --cluster dgx-h100 --model gpt-tiny --json report.json");
    ASSERT_EQ(made.code, 0) << made.err;
    EXPECT_THAT(read("report.json").at("provenance").at("assumptions").dump(),
                HasSubstr("calibration mine: measured kernel rates of: "));
}

TEST_F(Calibrate, BadInputExitsWithItsCode) {
    EXPECT_EQ(here("calibrate bench.json").code, 2);
    EXPECT_EQ(here("calibrate missing.json -o mine.json").code, 4);
    std::ofstream(folder_ / "empty.json") << R"({"schema": "foreshard.microbench", "dtype": "fp32", "backend": "cpu",
                                                 "comm": "threads", "results": []})";
    const Outcome empty = here("calibrate empty.json -o mine.json");
    EXPECT_EQ(empty.code, 2);
    EXPECT_THAT(empty.err, HasSubstr("no measured time"));
}

}  // namespace
}  // namespace foreshard::test
