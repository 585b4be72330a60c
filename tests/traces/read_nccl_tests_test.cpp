#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "sim/fit/calibration_fit.hpp"
#include "tests/traces/measurement_files.hpp"
#include "traces/read_measurements.hpp"

/// Every published form of nccl-tests' output.
namespace foreshard {
namespace {

using test::expect_refused_measurement;
using test::measurements_of;

/// t = 12 us + f S / 200 GB/s of eight ranks, as a table prints it.
double time_us(double bytes, double factor) {
    return 12.0 + factor * bytes / 200e3;
}

struct Line {
    double bytes;
    double time;
    double algbw;
    double busbw;
};

std::vector<Line> lines_of(double factor, double first = 1024.0) {
    std::vector<Line> lines;
    for (double bytes = first; bytes <= 1024.0 * 1024 * 1024; bytes *= 8.0) {
        const double time = time_us(bytes, factor);
        lines.push_back({bytes, time, bytes / time / 1e3, factor * bytes / time / 1e3});
    }
    return lines;
}

std::string rank_lines(int ranks, const std::string& form, const std::string& host = "node1") {
    std::string text = "#\n# Using devices\n";
    for (int r = 0; r < ranks; ++r) text += fmt::format(fmt::runtime(form), r, host) + "\n";
    return text + "#\n";
}

constexpr const char* new_ranks =
    "#  Rank {0:2} Group  0 Pid   4711 on {1:>10} device {0:2} [0000:{0:02x}:00] NVIDIA H100 80GB HBM3";
constexpr const char* old_ranks = "#   Rank {0:2} Pid   4711 on {1:>10} device {0:2} [0x{0:02x}] A100-SXM4-40GB";

constexpr double eight_reduce = 2.0 * 7.0 / 8.0;
constexpr double eight_share = 7.0 / 8.0;

/// As printed since 2022: 13 columns, #wrong.
std::string new_table(double factor, const std::string& redop = "sum", const std::string& root = "-1") {
    std::string text =
        "#                                                              out-of-place                       in-place    "
        "      \n"
        "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw "
        "#wrong\n"
        "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s) "
        "      \n";
    for (const Line& line : lines_of(factor)) {
        text += fmt::format("{:12.0f}{:14.0f}{:>10}{:>8}{:>8}{:9.2f}{:8.2f}{:8.2f}{:>7}{:9.2f}{:8.2f}{:8.2f}{:>7}\n",
                            line.bytes, line.bytes / 4, "float", redop, root, line.time, line.algbw, line.busbw, 0,
                            line.time * 1.01, line.algbw, line.busbw, "N/A");
    }
    return text + "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 101.2 \n#\n";
}

std::string new_text(const std::string& table) {
    return "# nThread 1 nGpus 8 minBytes 1024 maxBytes 1073741824 step: 8(factor) warmup iters: 5 iters: 20 agg iters: "
           "1 "
           "validation: 1 graph: 0\n" +
           rank_lines(8, new_ranks) + table;
}

void expect_fit(const Measurements& measured, CollectiveKind kind, int ranks, double first = 1024.0) {
    const double factor = kind == CollectiveKind::all_reduce ? eight_reduce : eight_share;
    ASSERT_EQ(measured.communication.size(), lines_of(1.0, first).size());
    for (const CommPoint& point : measured.communication) {
        EXPECT_EQ(point.kind, kind);
        EXPECT_EQ(point.ranks, ranks);
        EXPECT_NEAR(point.time_us / time_us(point.bytes, factor), 1.0, 1e-3) << point.bytes;
    }
    const Calibration found = fit_calibration(measured, "x");
    ASSERT_EQ(found.collectives.size(), 1U);
    EXPECT_NEAR(found.collectives.front().base.value, 12e-6, 0.05e-6);
    EXPECT_NEAR(found.collectives.front().bandwidth.value / 200e9, 1.0, 2e-3);
}

TEST(NcclTests, NewTextNamedByItsFile) {
    const Measurements measured = measurements_of("all_reduce_8.txt", new_text(new_table(eight_reduce)));
    expect_fit(measured, CollectiveKind::all_reduce, 8);
    EXPECT_EQ(measured.inputs.front().kind, "nccl-tests");
    EXPECT_EQ(measured.inputs.front().rows, 7);
    EXPECT_EQ(measured.communication.front().origin.row, 16);  // the line of the text
    expect_fit(measurements_of("all_gather.log", new_text(new_table(eight_share, "none"))), CollectiveKind::all_gather,
               8);
}

TEST(NcclTests, NewestTextNamesTheCollective) {
    const std::string head =
        "# Collective test starting: reduce_scatter_perf\n# nccl-tests version 2.17.6 "
        "nccl-headers=22809 nccl-library=22809\n";
    expect_fit(measurements_of("out.txt", head + new_text(new_table(eight_share))), CollectiveKind::reduce_scatter, 8);
}

TEST(NcclTests, CommandLineNamesTheCollective) {
    expect_fit(measurements_of("out.txt", "$ mpirun -np 8 ./build/alltoall_perf -b 1K -e 1G -f 8\n" +
                                              new_text(new_table(eight_share, "none"))),
               CollectiveKind::all_to_all, 8);
}

/// The reduction and the ratio of the bandwidths tell an all-reduce from a reduce-scatter.
TEST(NcclTests, RatioOfBandwidthsTellsReductionsApart) {
    expect_fit(measurements_of("a.txt", new_text(new_table(eight_reduce))), CollectiveKind::all_reduce, 8);
    expect_fit(measurements_of("b.txt", new_text(new_table(eight_share))), CollectiveKind::reduce_scatter, 8);
    expect_refused_measurement("c.txt", new_text(new_table(eight_share, "none")), "", "which collective was measured?");
}

/// Before 2022: an "error" column and no root; gathers without redop in their rows.
std::string old_table(double factor, bool redop) {
    std::string text =
        "#                                                     out-of-place                       in-place          \n"
        "#       size         count    type   redop     time   algbw   busbw  error     time   algbw   busbw  error\n"
        "#        (B)    (elements)                     (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)       \n";
    for (const Line& line : lines_of(factor)) {
        text += fmt::format(
            "{:12.0f}  {:12.0f}   float  {}  {:7.2f}  {:6.2f}  {:6.2f}  2e-07  {:7.2f}  {:6.2f}  {:6.2f}  1e-07\n",
            line.bytes, line.bytes / 4, redop ? "   sum" : "      ", line.time, line.algbw, line.busbw, line.time,
            line.algbw, line.busbw);
    }
    return text + " Out of bounds values : 0 OK\n Avg bus bandwidth    : 13.7 \n";
}

std::string old_text(const std::string& table) {
    return "# nThread: 1 nGpus: 8 minBytes: 1024 maxBytes: 1073741824 step: 8(factor) warmup iters: 5 iters: 20 "
           "validation: 1 \n" +
           rank_lines(8, old_ranks) + table;
}

TEST(NcclTests, OldText) {
    expect_fit(measurements_of("a.txt", old_text(old_table(eight_reduce, true))), CollectiveKind::all_reduce, 8);
    expect_fit(measurements_of("allgather.txt", old_text(old_table(eight_share, false))), CollectiveKind::all_gather,
               8);
}

/// -I: four columns more behind each half; -T: the time of day at the end.
TEST(NcclTests, PerIterationColumnsAndTimeOfDay) {
    std::string table =
        "#       size         count      type   redop    root     time   algbw   busbw #wrong   i_min   i_max   i_p99  "
        "i_cv%"
        "     time   algbw   busbw #wrong   i_min   i_max   i_p99  i_cv%\n";
    for (const Line& line : lines_of(eight_reduce)) {
        const std::string half =
            fmt::format(" {:.2f} {:.2f} {:.2f} 0 1.0 2.0 1.9 3.1", line.time, line.algbw, line.busbw);
        table += fmt::format(" {:.0f} {:.0f} float sum -1{}{} 2025-11-04 12:33:10\n", line.bytes, line.bytes / 4, half,
                             half);
    }
    expect_fit(measurements_of("a.txt", new_text(table)), CollectiveKind::all_reduce, 8);
}

/// Large times lose decimals, larger ones are in scientific notation.
TEST(NcclTests, ScientificNotation) {
    const std::string table =
        "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw "
        "#wrong\n"
        "  17179869184  4294967296     float     sum      -1   1.5e+05  114.53  200.43      0    150321  114.29  "
        "200.01      0\n";
    const Measurements measured = measurements_of("all_reduce.txt", new_text(table));
    ASSERT_EQ(measured.communication.size(), 1U);
    EXPECT_DOUBLE_EQ(measured.communication.front().time_us, 1.5e5);
    EXPECT_DOUBLE_EQ(measured.communication.front().bytes, 17179869184.0);
}

/// Logs of several programs in one file, with what NCCL and launchers say in between.
TEST(NcclTests, SeveralTablesBetweenLogLines) {
    std::string reduce = "# Collective test starting: all_reduce_perf\n" + new_text(new_table(eight_reduce));
    const std::size_t row = reduce.find("\n", reduce.find("(elements)")) + 1;
    reduce.insert(row, "node1:4711:4790 [0] NCCL INFO Channel 00/24 : 0 1 2 3\n2025-11-04 12:00:00 warning\n\n");
    const std::string gather =
        "# Collective test starting: all_gather_perf\n" + new_text(new_table(eight_share, "none"));
    const Measurements measured = measurements_of("log.txt", "Loading modules ...\n" + reduce + "\n" + gather);
    EXPECT_TRUE(measured.rejected.empty());
    const Calibration found = fit_calibration(measured, "x");
    ASSERT_EQ(found.collectives.size(), 2U);
    for (const CollectiveFit& fit : found.collectives) EXPECT_NEAR(fit.bandwidth.value / 200e9, 1.0, 2e-3);
}

TEST(NcclTests, TagsOfLaunchersAreDropped) {
    for (const std::string tag : {"[1,0]<stdout>:", "0: "}) {
        std::string tagged;
        std::istringstream in(new_text(new_table(eight_reduce)));
        for (std::string line; std::getline(in, line);) tagged += tag + line + "\n";
        expect_fit(measurements_of("all_reduce.txt", tagged), CollectiveKind::all_reduce, 8);
    }
}

/// Without lines of ranks their number follows from the ratio of the bandwidths.
TEST(NcclTests, RanksFromTheBandwidths) {
    expect_fit(measurements_of("all_reduce.txt", new_table(eight_reduce)), CollectiveKind::all_reduce, 8);
    const std::string quick =
        "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw "
        "#wrong\n"
        "        1024           256     float     sum      -1    12.00    0.09    0.15      0    12.00    0.09    0.15 "
        "     0\n";
    expect_refused_measurement("all_reduce.txt", quick, "line 2", "there must be two or more");
}

TEST(NcclTests, WhatCannotBeUsedIsRejectedWithItsLine) {
    std::string text = new_text(
        "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw "
        "#wrong\n"
        "        1024           256     float     sum      -1    12.00    0.09    0.15      3    12.00    0.09    0.15 "
        "     0\n"
        "           0             0     float     sum      -1     0.10    0.00    0.00      0     0.10    0.00    0.00 "
        "     0\n"
        "        2048           512     float     sum      -1    12.00    0.09\n"
        "        4096          1024     float     sum      -1    12.50    0.33    0.57      0    12.00    0.09    0.15 "
        "     0\n");
    const Measurements measured = measurements_of("all_reduce.txt", text);
    ASSERT_EQ(measured.communication.size(), 1U);
    ASSERT_EQ(measured.rejected.size(), 3U);
    const int header = measured.communication.front().origin.row - 4;
    for (const RejectedPoint& point : measured.rejected) {
        const std::string wanted = point.row == header + 1   ? "3 wrong results"
                                   : point.row == header + 2 ? "no bytes"
                                                             : "does not have the columns";
        EXPECT_NE(point.reason.find(wanted), std::string::npos) << point.row << ": " << point.reason;
    }
}

TEST(NcclTests, SeveralHostsAreRejected) {
    const std::string text =
        rank_lines(4, new_ranks, "node1") + rank_lines(4, new_ranks, "node2") + new_table(eight_reduce);
    const Measurements measured = measurements_of("all_reduce.txt", text);
    EXPECT_TRUE(measured.communication.empty());
    ASSERT_EQ(measured.rejected.size(), 7U);
    EXPECT_NE(measured.rejected.front().reason.find("over 2 hosts"), std::string::npos);
}

TEST(NcclTests, OperationsThatNoPlanUsesAreRejected) {
    const Measurements measured = measurements_of("hypercube.txt", new_text(new_table(1.0, "none")));
    EXPECT_TRUE(measured.communication.empty());
    EXPECT_EQ(measured.rejected.size(), 7U);
}

TEST(NcclTests, RowsBeforeTheColumnsAreRefused) {
    expect_refused_measurement("all_reduce.txt", "#busbw\n 1024 256 float sum -1 12.0 0.1 0.1 0 12.0 0.1 0.1 0\n",
                               "line 2", "before the line that names columns");
    expect_refused_measurement("empty.txt", "# size time algbw busbw #wrong\n", "", "holds no table");
}

nlohmann::json nccl_document(int version) {
    nlohmann::json out = {{"version", version},
                          {"start_time", "2025-11-04 12:00:00"},
                          {"args", {"./build/all_reduce_perf", "-J", "out.json"}},
                          {"nccl_version", "2.28.9"}};
    out["config"] = {{"nthreads", 1}, {"ngpus", 8}, {"graph", "false"}, {"devices", nlohmann::json::array()}};
    for (int r = 0; r < 8; ++r) {
        out["config"]["devices"].push_back({{"rank", r}, {"hostname", "node1"}, {"device", r}});
    }
    out["results"] = nlohmann::json::array();
    for (const Line& line : lines_of(eight_reduce)) {
        const nlohmann::json half = {
            {"time", line.time}, {"alg_bw", line.algbw}, {"bus_bw", line.busbw}, {"nwrong", "nan"}};
        out["results"].push_back({{"size", line.bytes},
                                  {"count", line.bytes / 4},
                                  {"type", "float"},
                                  {"redop", "sum"},
                                  {"root", "      -1"},
                                  {"out_of_place", half},
                                  {"in_place", half}});
    }
    out["out_of_bounds"] = {{"count", 0}, {"okay", "true"}};
    return out;
}

TEST(NcclTests, JsonOfEveryVersion) {
    for (const int version : {1, 2, 3}) {
        expect_fit(measurements_of("out.json", nccl_document(version).dump(2)), CollectiveKind::all_reduce, 8);
    }
}

TEST(NcclTests, JsonWithoutHalvesAndTimes) {
    nlohmann::json document = nccl_document(3);
    document["results"][0]["out_of_place"] = nullptr;  // in place counts
    document["results"][1]["out_of_place"] = nullptr;
    document["results"][1]["in_place"] = nullptr;
    document["results"][2]["out_of_place"]["time"] = "nan";
    document["results"][3]["out_of_place"]["nwrong"] = 4;
    const Measurements measured = measurements_of("out.json", document.dump());
    EXPECT_EQ(measured.communication.size(), 4U);
    ASSERT_EQ(measured.rejected.size(), 3U);
    document["results"] = "none";
    expect_refused_measurement("out.json", document.dump(), "/results", "must be an array");
}

TEST(NcclTests, DamagedFilesAreReadOrRefused) {
    test::read_damaged("all_reduce.txt", new_text(new_table(eight_reduce)));
    test::read_damaged("out.json", nccl_document(3).dump());
}

}  // namespace
}  // namespace foreshard
