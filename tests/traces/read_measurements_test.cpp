#include "traces/read_measurements.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "sim/error.hpp"
#include "sim/fit/calibration_fit.hpp"
#include "sim/spec/catalogue.hpp"
#include "sim/spec/json_specs.hpp"
#include "tests/traces/measurement_files.hpp"

/// Micro-benchmarks and measured reports as points of laws.
namespace foreshard {
namespace {

using test::expect_refused_measurement;
using test::measurements_of;
using test::write_measurement;

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

nlohmann::json timed(nlohmann::json row, double time_us) {
    row["time_us"] = {{"samples", 9}, {"median", time_us}, {"min", time_us}, {"p90", time_us}};
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
    const Measurements measured = measurements_of("bench.json", document.dump());
    const OpPoint* gemm = point_of(measured, "gemm.input_grad");
    ASSERT_NE(gemm, nullptr);
    EXPECT_DOUBLE_EQ(gemm->flops, 2e6);
    EXPECT_DOUBLE_EQ(gemm->bytes, 3e4);
    EXPECT_DOUBLE_EQ(point_of(measured, "attention_scores")->flops, 2e6);  // op lists count masked products too
    EXPECT_DOUBLE_EQ(point_of(measured, "attention.matmul")->flops, 2e6);
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
    const Measurements measured = measurements_of("bench.json", document.dump());
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
    const Measurements measured = measurements_of("run.json", report().dump());
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
    expect_refused_measurement("run.json", document.dump(), "/measured", "a simulated report holds no measured times");
    document = report();
    document["measured"].erase("ops");
    expect_refused_measurement("run.json", document.dump(), "/measured/ops", "did not time its ops");
}

TEST(Measurements, InputsOfDifferentKindsOfNumbersDoNotMix) {
    Measurements measured;
    nlohmann::json other = report();
    other["measured"]["dtype"] = "fp64";
    read_measurements(write_measurement("one.json", report().dump()), measured);
    try {
        read_measurements(write_measurement("two.json", other.dump()), measured);
        ADD_FAILURE() << "was accepted";
    } catch (const InputError& error) {
        EXPECT_NE(std::string(error.what()).find("is fp64, but an input before it has fp32"), std::string::npos)
            << error.what();
    }
}

TEST(Measurements, OtherFilesAreRefusedByWhatTheyHold) {
    expect_refused_measurement("a.json", R"({"schema": "foreshard.job"})", "/schema", "holds no measured times");
    expect_refused_measurement("a.txt", "hello\n", "", "neither JSON nor a table of nccl-tests");
    expect_refused_measurement("a.bin", std::string("\0\x01\x02", 3), "", "neither JSON");
    expect_refused_measurement("a.json", "{\"schema\": ", "", "");
}

TEST(MeasuredReport, DamagedFilesAreReadOrRefused) {
    test::read_damaged("run.json", report().dump());
}

}  // namespace
}  // namespace foreshard
