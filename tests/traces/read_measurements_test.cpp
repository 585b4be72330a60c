#include "traces/read_measurements.hpp"

#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "sim/error.hpp"
#include "sim/fit/calibration_fit.hpp"
#include "sim/spec/catalogue.hpp"
#include "sim/spec/json_specs.hpp"
#include "tests/support/mutate.hpp"

/// Every published form of nccl-tests' output, micro-benchmarks and measured reports.
namespace foreshard {
namespace {

std::string write_file(const std::string& name, const std::string& text) {
    const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / "measurements";
    std::filesystem::create_directories(folder);
    const std::string path = (folder / name).string();
    std::ofstream(path, std::ios::binary) << text;
    return path;
}

Measurements read(const std::string& name, const std::string& text) {
    Measurements measured;
    read_measurements(write_file(name, text), measured);
    return measured;
}

void expect_refused(const std::string& name, const std::string& text, const std::string& place,
                    const std::string& reason) {
    try {
        read(name, text);
        ADD_FAILURE() << name << " was accepted";
    } catch (const InputError& error) {
        EXPECT_NE(error.source().find(name), std::string::npos) << error.source();
        EXPECT_EQ(error.path(), place);
        EXPECT_NE(std::string(error.what()).find(reason), std::string::npos) << error.what();
    }
}

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
    const Measurements measured = read("all_reduce_8.txt", new_text(new_table(eight_reduce)));
    expect_fit(measured, CollectiveKind::all_reduce, 8);
    EXPECT_EQ(measured.inputs.front().kind, "nccl-tests");
    EXPECT_EQ(measured.inputs.front().rows, 7);
    EXPECT_EQ(measured.communication.front().origin.row, 16);  // the line of the text
    expect_fit(read("all_gather.log", new_text(new_table(eight_share, "none"))), CollectiveKind::all_gather, 8);
}

TEST(NcclTests, NewestTextNamesTheCollective) {
    const std::string head =
        "# Collective test starting: reduce_scatter_perf\n# nccl-tests version 2.17.6 "
        "nccl-headers=22809 nccl-library=22809\n";
    expect_fit(read("out.txt", head + new_text(new_table(eight_share))), CollectiveKind::reduce_scatter, 8);
}

TEST(NcclTests, CommandLineNamesTheCollective) {
    expect_fit(read("out.txt", "$ mpirun -np 8 ./build/alltoall_perf -b 1K -e 1G -f 8\n" +
                                   new_text(new_table(eight_share, "none"))),
               CollectiveKind::all_to_all, 8);
}

/// The reduction and the ratio of the bandwidths tell an all-reduce from a reduce-scatter.
TEST(NcclTests, RatioOfBandwidthsTellsReductionsApart) {
    expect_fit(read("a.txt", new_text(new_table(eight_reduce))), CollectiveKind::all_reduce, 8);
    expect_fit(read("b.txt", new_text(new_table(eight_share))), CollectiveKind::reduce_scatter, 8);
    expect_refused("c.txt", new_text(new_table(eight_share, "none")), "", "which collective was measured?");
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
    expect_fit(read("a.txt", old_text(old_table(eight_reduce, true))), CollectiveKind::all_reduce, 8);
    expect_fit(read("allgather.txt", old_text(old_table(eight_share, false))), CollectiveKind::all_gather, 8);
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
    expect_fit(read("a.txt", new_text(table)), CollectiveKind::all_reduce, 8);
}

/// Large times lose decimals, larger ones are in scientific notation.
TEST(NcclTests, ScientificNotation) {
    const std::string table =
        "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw "
        "#wrong\n"
        "  17179869184  4294967296     float     sum      -1   1.5e+05  114.53  200.43      0    150321  114.29  "
        "200.01      0\n";
    const Measurements measured = read("all_reduce.txt", new_text(table));
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
    const Measurements measured = read("log.txt", "Loading modules ...\n" + reduce + "\n" + gather);
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
        expect_fit(read("all_reduce.txt", tagged), CollectiveKind::all_reduce, 8);
    }
}

/// Without lines of ranks their number follows from the ratio of the bandwidths.
TEST(NcclTests, RanksFromTheBandwidths) {
    expect_fit(read("all_reduce.txt", new_table(eight_reduce)), CollectiveKind::all_reduce, 8);
    const std::string quick =
        "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw "
        "#wrong\n"
        "        1024           256     float     sum      -1    12.00    0.09    0.15      0    12.00    0.09    0.15 "
        "     0\n";
    expect_refused("all_reduce.txt", quick, "line 2", "there must be two or more");
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
    const Measurements measured = read("all_reduce.txt", text);
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
    const Measurements measured = read("all_reduce.txt", text);
    EXPECT_TRUE(measured.communication.empty());
    ASSERT_EQ(measured.rejected.size(), 7U);
    EXPECT_NE(measured.rejected.front().reason.find("over 2 hosts"), std::string::npos);
}

TEST(NcclTests, OperationsThatNoPlanUsesAreRejected) {
    const Measurements measured = read("hypercube.txt", new_text(new_table(1.0, "none")));
    EXPECT_TRUE(measured.communication.empty());
    EXPECT_EQ(measured.rejected.size(), 7U);
}

TEST(NcclTests, RowsBeforeTheColumnsAreRefused) {
    expect_refused("all_reduce.txt", "#busbw\n 1024 256 float sum -1 12.0 0.1 0.1 0 12.0 0.1 0.1 0\n", "line 2",
                   "before the line that names columns");
    expect_refused("empty.txt", "# size time algbw busbw #wrong\n", "", "holds no table");
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
        expect_fit(read("out.json", nccl_document(version).dump(2)), CollectiveKind::all_reduce, 8);
    }
}

TEST(NcclTests, JsonWithoutHalvesAndTimes) {
    nlohmann::json document = nccl_document(3);
    document["results"][0]["out_of_place"] = nullptr;  // in place counts
    document["results"][1]["out_of_place"] = nullptr;
    document["results"][1]["in_place"] = nullptr;
    document["results"][2]["out_of_place"]["time"] = "nan";
    document["results"][3]["out_of_place"]["nwrong"] = 4;
    const Measurements measured = read("out.json", document.dump());
    EXPECT_EQ(measured.communication.size(), 4U);
    ASSERT_EQ(measured.rejected.size(), 3U);
    document["results"] = "none";
    expect_refused("out.json", document.dump(), "/results", "must be an array");
}

nlohmann::json microbench() {
    return {{"schema", "foreshard.microbench"},
            {"schema_version", "1.0"},
            {"command", "foreshard-run"},
            {"backend", "cpu"},
            {"comm", "threads"},
            {"dtype", "fp32"},
            {"ranks", 2},
            {"environment", {{"processor", "AMD EPYC"}, {"cores", 2}}},
            {"results", nlohmann::json::array()}};
}

nlohmann::json timed(nlohmann::json row, double us) {
    row["time_us"] = {{"samples", 9}, {"median", us}, {"min", us}, {"p90", us}};
    return row;
}

const OpPoint* point_of(const Measurements& measured, const std::string& op) {
    for (const OpPoint& point : measured.ops) {
        if (point.op == op) return &point;
    }
    return nullptr;
}

TEST(Microbench, RowsBecomeOpsOfPlans) {
    nlohmann::json document = microbench();
    document["results"] = {
        timed({{"group", "gemm"}, {"op", "input_grad"}, {"flops", 2e6}, {"bytes", 3e4}}, 50.0),
        timed({{"group", "attention"}, {"op", "scores"}, {"causal", 1}, {"flops", 1e6}}, 30.0),
        timed({{"group", "memory"}, {"op", "gelu_grad"}, {"bytes", 3e5}}, 20.0),
        timed({{"group", "memory"}, {"op", "rms_norm"}, {"bytes", 3e5}}, 21.0),
        timed({{"group", "optimizer"}, {"op", "adamw"}, {"elements", 4096}, {"bytes", 1e5}}, 22.0),
        timed({{"group", "launch"}, {"op", "fill_one"}, {"elements", 1}}, 0.4),
        timed({{"group", "collective"}, {"op", "all_gather"}, {"group_size", 2}, {"message_bytes", 8192}}, 25.0),
        timed({{"group", "message"}, {"op", "send_recv"}, {"group_size", 2}, {"message_bytes", 4096}}, 9.0),
        timed({{"group", "overlap"}, {"op", "compute_alone"}}, 100.0),
        timed({{"group", "overlap"}, {"op", "communication_alone"}}, 40.0),
        timed({{"group", "overlap"}, {"op", "compute_beside_communication"}}, 120.0),
        timed({{"group", "overlap"}, {"op", "communication_beside_compute"}}, 90.0),
        timed({{"group", "memory"}, {"op", "magic"}, {"bytes", 3e5}}, 21.0),
        timed({{"group", "gemm"}, {"op", "forward"}, {"flops", 2e6}}, 0.0)};
    const Measurements measured = read("bench.json", document.dump());
    const OpPoint* gemm = point_of(measured, "gemm.input_grad");
    ASSERT_NE(gemm, nullptr);
    EXPECT_DOUBLE_EQ(gemm->flops, 2e6);
    EXPECT_DOUBLE_EQ(gemm->bytes, 3e4);
    EXPECT_DOUBLE_EQ(point_of(measured, "attention_scores")->flops, 2e6);  // op lists count masked products too
    EXPECT_DOUBLE_EQ(point_of(measured, "activation_grad")->bytes, 5e5);
    EXPECT_DOUBLE_EQ(point_of(measured, "norm")->bytes, 2e5);
    ASSERT_EQ(measured.optimizer.size(), 1U);
    EXPECT_DOUBLE_EQ(measured.optimizer.front().parameters, 4096.0);
    EXPECT_EQ(measured.launch_us, std::vector<double>{0.4});
    ASSERT_EQ(measured.communication.size(), 2U);
    EXPECT_EQ(measured.communication.back().kind, CollectiveKind::send_recv);
    ASSERT_EQ(measured.overlap.size(), 1U);
    EXPECT_DOUBLE_EQ(*fit_calibration(measured, "x").overlap_contention_ratio, 0.5);  // 20 of the shorter 40
    ASSERT_EQ(measured.rejected.size(), 2U);
    EXPECT_EQ(measured.rejected[0].row, 12);
    EXPECT_EQ(measured.rejected[1].row, 13);
}

/// Tensors of fp64 are twice as wide as those of the plan in fp32 that they execute.
TEST(Microbench, Fp64CountsAsThePlanDoes) {
    nlohmann::json document = microbench();
    document["dtype"] = "fp64";
    document["results"] = {
        timed({{"group", "memory"}, {"op", "copy"}, {"bytes", 8e5}}, 20.0),
        timed({{"group", "message"}, {"op", "send_recv"}, {"group_size", 2}, {"message_bytes", 4096}}, 9.0)};
    const Measurements measured = read("bench.json", document.dump());
    EXPECT_DOUBLE_EQ(point_of(measured, "memory.any")->bytes, 4e5);
    EXPECT_DOUBLE_EQ(measured.communication.front().bytes, 2048.0);
}

nlohmann::json spread(int samples, double median) {
    return {{"samples", samples}, {"median", median}, {"min", median}, {"p10", median}, {"p90", median}};
}

nlohmann::json report() {
    nlohmann::json out = {{"schema", "foreshard.report"}, {"schema_version", "1.0"}};
    out["job"] = {{"cluster", nlohmann::json::parse(to_json(load_cluster("dgx-a100-80g")).dump())},
                  {"software", {{"id", "foreshard"}}}};
    out["measured"] = {{"backend", "cpu"}, {"comm", "threads"}, {"dtype", "fp32"}};
    out["measured"]["environment"] = {{"processor", "AMD EPYC"}, {"cores", 2}};
    out["measured"]["ops"] = {{{"op", "fc1"},
                               {"pass", "forward"},
                               {"flops", 2e6},
                               {"bytes", 3e4},
                               {"calls", 40},
                               {"others_computing", 0.6},
                               {"time_us", spread(40, 55.0)},
                               {"alone_time_us", spread(16, 50.0)},
                               {"beside_time_us", spread(24, 60.0)}},
                              {{"op", "norm"},
                               {"pass", "forward"},
                               {"bytes", 3e4},
                               {"calls", 6},
                               {"others_computing", 0.4},
                               {"time_us", spread(6, 7.0)},
                               {"alone_time_us", spread(3, 5.0)},
                               {"beside_time_us", spread(3, 9.0)}},
                              {{"op", "optimizer"},
                               {"pass", "optimizer"},
                               {"elements", 1000},
                               {"calls", 6},
                               {"others_computing", 0.0},
                               {"time_us", spread(6, 70.0)}},
                              {{"op", "tp_gather"},
                               {"pass", "forward"},
                               {"calls", 6},
                               {"others_computing", 0.0},
                               {"time_us", spread(6, 1.0)}}};
    out["measured"]["communication"] = {{{"axis", "pp"},
                                         {"kind", "send-recv"},
                                         {"ranks", 2},
                                         {"message_bytes", 4096},
                                         {"in_pass", false},
                                         {"calls", 9},
                                         {"transfer_us", spread(9, 8.0)},
                                         {"waiting_us", spread(9, 100.0)}}};
    out["measured"]["overheads"] = {{"pass_us", spread(9, 11.0)},
                                    {"task_us", spread(9, 4.0)},
                                    {"wakeup_us", spread(9, 6.0)},
                                    {"start_us", spread(9, 100.0)},
                                    {"end_us", spread(9, 30.0)}};
    return out;
}

TEST(MeasuredReport, OpsAloneAndBesideOthersArePointsOfTheirOwn) {
    const Measurements measured = read("run.json", report().dump());
    EXPECT_EQ(measured.machine.software, "foreshard");
    EXPECT_EQ(measured.machine.dtype, "fp32");
    ASSERT_TRUE(measured.cluster);
    ASSERT_EQ(measured.ops.size(), 3U);
    EXPECT_DOUBLE_EQ(measured.ops[0].time_us, 50.0);
    EXPECT_DOUBLE_EQ(measured.ops[0].computing_ranks, 1.0);
    EXPECT_DOUBLE_EQ(measured.ops[1].time_us, 60.0);
    EXPECT_DOUBLE_EQ(measured.ops[1].computing_ranks, 2.0);
    EXPECT_DOUBLE_EQ(measured.ops[2].time_us, 7.0);  // too few of each
    EXPECT_DOUBLE_EQ(measured.ops[2].computing_ranks, 1.4);
    ASSERT_EQ(measured.optimizer.size(), 1U);
    ASSERT_EQ(measured.communication.size(), 1U);
    const Calibration found = fit_calibration(measured, "x");
    EXPECT_NEAR(found.pass_overhead->value, 15e-6, 1e-12);
    EXPECT_NEAR(found.wakeup->value, 6e-6, 1e-12);
    EXPECT_NEAR(found.step_overhead->value, 130e-6, 1e-12);
    EXPECT_NEAR(shared_host(found, 2.0).compute_ratio, 1.2, 1e-9);
}

TEST(MeasuredReport, ASimulatedReportIsRefused) {
    nlohmann::json document = report();
    document.erase("measured");
    expect_refused("run.json", document.dump(), "/measured", "a simulated report holds no measured times");
    document = report();
    document["measured"].erase("ops");
    expect_refused("run.json", document.dump(), "/measured/ops", "did not time its ops");
}

TEST(Measurements, InputsOfDifferentKindsOfNumbersDoNotMix) {
    Measurements measured;
    nlohmann::json other = report();
    other["measured"]["dtype"] = "fp64";
    read_measurements(write_file("one.json", report().dump()), measured);
    try {
        read_measurements(write_file("two.json", other.dump()), measured);
        ADD_FAILURE() << "was accepted";
    } catch (const InputError& error) {
        EXPECT_NE(std::string(error.what()).find("is fp64, but an input before it has fp32"), std::string::npos)
            << error.what();
    }
}

TEST(Measurements, OtherFilesAreRefusedByWhatTheyHold) {
    expect_refused("a.json", R"({"schema": "foreshard.job"})", "/schema", "holds no measured times");
    expect_refused("a.txt", "hello\n", "", "neither JSON nor a table of nccl-tests");
    expect_refused("a.bin", std::string("\0\x01\x02", 3), "", "neither JSON");
    expect_refused("a.json", "{\"schema\": ", "", "");
}

/// Random edits are read, or refused as bad input.
TEST(Measurements, DamagedFilesAreReadOrRefused) {
    const std::vector<std::pair<std::string, std::string>> sound = {
        {"all_reduce.txt", new_text(new_table(eight_reduce))},
        {"out.json", nccl_document(3).dump()},
        {"run.json", report().dump()}};
    for (const auto& [name, text] : sound) {
        for (std::uint64_t seed = 1; seed <= 150; ++seed) {
            try {
                const Measurements measured = read(name, test::mutated(text, seed));
                if (!measured.communication.empty()) fit_calibration(measured, "x");
            } catch (const InputError&) {
                continue;
            }
        }
    }
}

}  // namespace
}  // namespace foreshard
