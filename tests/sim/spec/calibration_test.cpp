#include "sim/spec/calibration.hpp"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "sim/error.hpp"
#include "sim/prefixes.hpp"
#include "sim/spec/catalogue.hpp"
#include "sim/spec/json_specs.hpp"
#include "tests/support/jobs.hpp"
#include "tests/support/schema.hpp"
#include "tests/support/temporary_file.hpp"

/// Calibration files: what is written is read, and what is wrong is said.
namespace foreshard {
namespace {

/// Everything that a file can hold.
Calibration full() {
    Calibration out;
    out.id = "mine";
    out.name = "My machine";
    out.tool_version = "0.1.0";
    out.machine = {"AMD EPYC", 2, "", "cpu", "threads", "fp64", "foreshard"};
    out.cluster = load_cluster("dgx-a100-80g");
    out.device = {Seconds(2e-6), BytesPerSecond(9e9), FlopsPerSecond(7e10)};
    out.ops = {{"activation",
                Seconds(1e-6),
                FlopsPerSecond(0.0),
                BytesPerSecond(3e9),
                1e3,
                1e6,
                {{1e3, Seconds(2e-6)}, {1e5, Seconds(4e-5)}, {1e6, Seconds(5e-4)}}},
               {"fc1", Seconds(5e-6), FlopsPerSecond(8e10), BytesPerSecond(2e10), 1e6, 1e9, {}}};
    out.collectives = {{CollectiveKind::all_reduce, 2, Seconds(1e-5), 2e-8, BytesPerSecond(4e9), 3.5}};
    out.collectives.push_back({CollectiveKind::broadcast, 2, Seconds(1e-5), 0.0, BytesPerSecond(3e9), 1.0});
    out.comm_tables = {{CollectiveKind::all_reduce, 2, {{1e3, Seconds(1e-5)}, {1e6, Seconds(4e-4)}}},
                       {CollectiveKind::send_recv, 2, {{1e3, Seconds(4e-6)}, {1e6, Seconds(3e-4)}}}};
    out.messages = MessageLaw{Seconds(3e-6), BytesPerSecond(5e9)};
    out.optimizer = OptimizerLaw{Seconds(1e-6), 2.5e8};
    out.pass_overhead = Seconds(1.2e-5);
    out.step_overhead = Seconds(3e-4);
    out.wakeup = Seconds(6e-6);
    out.shared_host = {{2, 1.05, 1.3}, {4, 1.2, 2.0}};
    out.rank_wait_ratio = 0.04;
    out.rank_lead = RankLeadLaw{Seconds(5e-2), 0.01, 0.3};
    out.transport_ratio = 1.03;
    out.overlap_contention_ratio = 0.4;
    out.residuals = {{"fc1", "flops", 12, 1, 0.99, 2.5, 6.0, -0.5, {{1e6, 1e7, 12, 2.5, -0.5}}}};
    out.bands = {{"gemm", 12, 0.96, 1.05}};
    out.step_band = CalibrationBand{"step", 4, 0.97, 1.08};
    out.rejected = {{"run.json", 7, "fc1", 900.0, 300.0, "too long"}};
    out.inputs = {{"run.json", "foreshard.report", std::string(64, 'a'), 40}};
    return out;
}

nlohmann::json document() {
    return nlohmann::json::parse(calibration_text(full()));
}

void expect_bad(const std::string& pointer, const nlohmann::json& value, const std::string& place,
                const std::string& rule) {
    nlohmann::json changed = document();
    changed[nlohmann::json::json_pointer(pointer)] = value;
    try {
        read_calibration(changed, "mine.json");
        ADD_FAILURE() << pointer << " was accepted";
    } catch (const InputError& error) {
        EXPECT_EQ(error.source(), "mine.json");
        EXPECT_EQ(error.path(), place);
        EXPECT_NE(std::string(error.what()).find(rule), std::string::npos) << error.what();
    }
}

TEST(CalibrationFile, RoundTripChangesNothing) {
    const std::string text = calibration_text(full());
    const SharedCalibration again = load_calibration(test::write_file("mine.json", text));
    EXPECT_EQ(calibration_text(*again), text);
    EXPECT_EQ(again->ops.size(), 2U);
    EXPECT_EQ(again->ops.front().table.size(), 3U);
    EXPECT_DOUBLE_EQ(again->messages->bandwidth.value, 5e9);
    EXPECT_DOUBLE_EQ(again->wakeup->value, 6e-6);
    EXPECT_DOUBLE_EQ(again->rank_wait_ratio.value_or(0.0), 0.04);
    EXPECT_DOUBLE_EQ(again->rank_lead.value().exponent, 0.3);
    EXPECT_DOUBLE_EQ(again->transport_ratio.value_or(0.0), 1.03);
    ASSERT_NE(find_table(*again, CollectiveKind::send_recv, 2), nullptr);
    EXPECT_DOUBLE_EQ(find_table(*again, CollectiveKind::send_recv, 2)->points.back().time.value, 3e-4);
    EXPECT_EQ(find_table(*again, CollectiveKind::all_reduce, 4), nullptr);
}

TEST(CalibrationFile, KeepsItsSchema) {
    EXPECT_EQ(test::violations("calibration", document()), "");
    Calibration least;
    least.id = least.name = "x";
    EXPECT_EQ(test::violations("calibration", nlohmann::json::parse(calibration_text(least))), "");
}

TEST(CalibrationFile, SaysWhatIsWrongAndWhere) {
    expect_bad("/ops/1/op", "activation", "/ops", "has two laws for 'activation'");
    expect_bad("/ops/0/base_us", -1, "/ops/0/base_us", "-1");
    expect_bad("/ops/0/GB_per_s", 0, "/ops/0/GB_per_s", "0");
    expect_bad("/ops/0/table/amount", {3, 2, 1}, "/ops/0/table/amount", "ascending");
    expect_bad("/ops/0/table/time_us", {1, 2}, "/ops/0/table/time_us", "has 2 numbers");
    expect_bad("/ops/0/table/time_us", {3, 2, 1}, "/ops/0/table/time_us", "must not fall");
    expect_bad("/ops/0/table/time_us", {"a", 2, 1}, "/ops/0/table/time_us", "must be an array");
    expect_bad("/ops/0/GFLOP_per_s", 3, "/ops/0/table", "needs one rate");
    expect_bad("/ops/0/gb_per_s", 3, "/ops/0/gb_per_s", "GB_per_s");
    expect_bad("/ops/1/most_amount", 1, "/ops/1/most_amount", "least_amount");
    expect_bad("/machine/dtype", "fp31", "/machine/dtype", "fp32");
    expect_bad("/concurrency/shared_host/1/ranks", 2, "/concurrency/shared_host", "ascending");
    expect_bad("/uncertainty/groups/0/p90_ratio", 0.1, "/uncertainty/groups/0/p90_ratio", "p10_ratio");
    expect_bad("/collectives/0/collective", "all", "/collectives/0/collective", "all-reduce");
    expect_bad("/communication_tables/0/message_bytes", {3, 2}, "/communication_tables/0/message_bytes", "ascending");
    expect_bad("/communication_tables/1/collective", "all-reduce", "/communication_tables",
               "two tables for all-reduce");
    expect_bad("/concurrency/rank_lead/exponent", 2, "/concurrency/rank_lead/exponent", "2");
    expect_bad("/concurrency/transport_ratio", 0, "/concurrency/transport_ratio", "0");
    expect_bad("/schema", "foreshard.fabric", "/schema", "foreshard.calibration");
}

TEST(CalibrationLaw, IsASumOfTerms) {
    const OpLaw law{"x", Seconds(1e-6), FlopsPerSecond(1e9), BytesPerSecond(2e9), 0.0, 0.0, {}};
    EXPECT_DOUBLE_EQ(law_time(law, Flops(3e6), Bytes(4e6)).value, 1e-6 + 3e-3 + 2e-3);
}

/// At its points the table, between them a power law, outside the law that goes on from the end.
TEST(CalibrationLaw, TableIsInterpolatedInLogarithms) {
    const OpLaw law{"x",
                    Seconds(0.0),
                    FlopsPerSecond(0.0),
                    BytesPerSecond(1e9),
                    1e3,
                    1e5,
                    {{1e3, Seconds(1e-5)}, {1e5, Seconds(1e-3)}}};
    const auto time = [&](double bytes) { return law_time(law, Flops(0.0), Bytes(bytes)).value; };
    EXPECT_DOUBLE_EQ(time(1e3), 1e-5);
    EXPECT_DOUBLE_EQ(time(1e5), 1e-3);
    EXPECT_NEAR(time(1e4), 1e-4, 1e-12);
    EXPECT_NEAR(time(1e6), 1e-2, 1e-10);
    EXPECT_NEAR(time(1e2), 1e-6, 1e-14);
}

/// Behind four times the time, independent disturbances are twice as large: the wait doubles. Of ranks that are slower
/// all the time it grows with the time. Three ranks wait 3/2 of what two do (largest of normal draws: 0.8463, 0.5642).
TEST(CalibrationRankLead, GrowsWithTimeAndRanks) {
    const RankLeadLaw independent{Seconds(1e-2), 0.05, 0.5};
    EXPECT_NEAR(rank_wait(independent, Seconds(1e-2), 2).value, 5e-4, 1e-12);
    EXPECT_NEAR(rank_wait(independent, Seconds(4e-2), 2).value, 1e-3, 1e-12);
    EXPECT_NEAR(rank_wait({Seconds(1e-2), 0.05, 0.0}, Seconds(4e-2), 2).value, 2e-3, 1e-12);
    EXPECT_NEAR(rank_wait(independent, Seconds(1e-2), 3).value / 5e-4, 0.8463 / 0.5642, 0.045);
    EXPECT_NEAR(rank_wait(independent, Seconds(1e-2), 8).value / 5e-4, 1.4236 / 0.5642, 0.03);
    EXPECT_EQ(rank_wait(independent, Seconds(1e-2), 1).value, 0.0);
    EXPECT_EQ(rank_wait(independent, Seconds(0.0), 2).value, 0.0);
}

TEST(CalibrationHost, InterpolatesBetweenNumbersOfRanks) {
    const Calibration calibration = full();
    EXPECT_DOUBLE_EQ(shared_host(calibration, 1.0).memory_ratio, 1.0);
    EXPECT_DOUBLE_EQ(shared_host(calibration, 1.5).memory_ratio, 1.15);
    EXPECT_DOUBLE_EQ(shared_host(calibration, 2.0).compute_ratio, 1.05);
    EXPECT_DOUBLE_EQ(shared_host(calibration, 3.0).memory_ratio, 1.65);
    EXPECT_DOUBLE_EQ(shared_host(calibration, 9.0).memory_ratio, 2.0);
}

/// A job that names nothing but its model runs on the machine that was calibrated, as it was measured.
TEST(CalibrationJob, BringsClusterSoftwareAndPrecision) {
    JobRequest request;
    request.model = "gpt-mini";
    request.pp = 2;
    request.calibration = std::make_shared<const Calibration>(full());
    const Job job = resolve(request);
    EXPECT_EQ(job.cluster.id, "dgx-a100-80g");
    EXPECT_EQ(job.software.id, "foreshard");
    EXPECT_EQ(job.plan.precision, Precision::fp32);
    EXPECT_TRUE(laws_apply(job));
    EXPECT_DOUBLE_EQ(job.software.numbers.pass_overhead.value, 1.2e-5);
    EXPECT_DOUBLE_EQ(job.software.numbers.step_overhead.value, 3e-4);
    EXPECT_DOUBLE_EQ(job.cluster.device.kernel_launch.value, 2e-6);
    request.cluster = "dgx-h100";
    EXPECT_EQ(resolve(request).cluster.id, "dgx-h100");
    EXPECT_THAT(resolve(request).warnings, testing::Contains(testing::HasSubstr("was measured on a100")));
}

TEST(CalibrationJob, MeasuredCollectivesReplaceAllOfTheirKind) {
    JobRequest request = test::tiny_request(2, 4);
    const std::size_t before = resolve(request).cluster.fits.size();
    request.calibration = std::make_shared<const Calibration>(full());
    const Job job = resolve(request);
    std::size_t reduces = 0;
    for (const CollectiveFit& fit : job.cluster.fits) reduces += fit.kind == CollectiveKind::all_reduce ? 1 : 0;
    EXPECT_EQ(reduces, 1U);
    EXPECT_LT(job.cluster.fits.size(), before);
    EXPECT_EQ(job.cluster.fabric_id, "mine");
}

/// A report's job is a job file: it brings the calibration along.
TEST(CalibrationJob, RoundTripKeepsTheCalibration) {
    JobRequest request = test::tiny_request(2, 4);
    request.calibration = std::make_shared<const Calibration>(full());
    const Job job = resolve(request);
    const nlohmann::json written = nlohmann::json::parse(to_json(job).dump());
    const Job again = resolve(read_job_request(written, "job.json"));
    EXPECT_EQ(to_json(again).dump(), to_json(job).dump());
}

TEST(CalibrationJob, AFileIsFoundBesideTheJob) {
    const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / "calibrated-job";
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "mine.json") << calibration_text(full());
    std::ofstream(folder / "job.json") << R"({"schema": "foreshard.job", "schema_version": "1.0", "model": "gpt-tiny",
                                              "calibration": "mine.json"})";
    EXPECT_EQ(resolve(load_job_request((folder / "job.json").string())).calibration->id, "mine");
}

TEST(CalibrationJob, AMissingNameIsToldApartFromTheCatalogue) {
    JobRequest request = test::tiny_request(2, 4);
    request.calibration = std::string("nvlink3-a10");
    test::expect_refused(request, "--calibration", "not in the catalogue of calibrations");
}

}  // namespace
}  // namespace foreshard
