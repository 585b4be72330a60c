#include <cmath>
#include <fstream>
#include <map>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "sim/validate/json_validation.hpp"
#include "tests/support/jobs.hpp"

/// Published runs of one plan under several schedules (arXiv 2401.10241), and one plan under several batches (BLOOM):
/// what changes is the schedule or the bubble alone.
namespace foreshard {
namespace {

using nlohmann::json;

struct Step {
    double predicted = 0.0;
    double measured = 0.0;
};

/// Steps of each model, size and batch, by schedule.
std::map<std::string, std::map<std::string, Step>> zero_bubble_steps() {
    std::map<std::string, std::string> group_of;
    std::map<std::string, std::string> schedule_of_run;
    const std::string file = test::data_folder() + "/published/training.jsonl";
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);) {
        const json row = json::parse(line);
        const std::string id = row["id"];
        if (id.rfind("zerobubble-", 0) != 0) continue;
        group_of[id] = row["model"]["params_b"].dump() + "B p" + row["hardware"]["num_gpus"].dump() + " b" +
                       row["plan"]["micro_batch"].dump() + " m" + row["plan"]["num_microbatches"].dump();
        schedule_of_run[id] = row["plan"]["schedule"];
    }
    std::vector<PublishedRun> runs = read_dataset(file);
    std::erase_if(runs, [&](const PublishedRun& run) { return group_of.count(run.id) == 0; });
    std::map<std::string, std::map<std::string, Step>> steps;
    for (const ValidationRow& row : validate(runs).rows) {
        if (!row.predicted_step_s || !row.measured_step_s) continue;
        steps[group_of[row.id]][schedule_of_run[row.id]] = {*row.predicted_step_s, *row.measured_step_s};
    }
    return steps;
}

/// Throughput over that of 1F1B. Not met: ZB-2p of the 1.5B model, whose last stage is the longest by our costs (its
/// vocabulary is not published), and ZB-V of the 14.6B model with one sequence a micro-batch.
TEST(ZeroBubbleRuns, SchedulesGainAsMuchAsPublished) {
    if (test::data_folder().empty()) GTEST_SKIP() << "FORESHARD_DATA is not set: no published runs";
    int compared = 0;
    int close = 0;
    for (const auto& [group, steps] : zero_bubble_steps()) {
        if (steps.count("1F1B") == 0) continue;
        const Step base = steps.at("1F1B");
        for (const auto& [schedule, step] : steps) {
            if (schedule == "1F1B") continue;
            const double predicted = base.predicted / step.predicted;
            const double measured = base.measured / step.measured;
            const double points = 100.0 * (predicted - measured);
            ++compared;
            if (std::abs(points) <= 4.0) ++close;
            EXPECT_LE(std::abs(points), 8.0) << group << " " << schedule;
            // Which of the two is faster is right everywhere that they differ by more than a point.
            if (std::abs(measured - 1.0) > 0.015) {
                EXPECT_EQ(predicted > 1.0, measured > 1.0) << group << " " << schedule;
            }
            if (std::abs(points) > 4.0)
                fmt::print("{} {}: {:.3f}, measured {:.3f}\n", group, schedule, predicted, measured);
        }
    }
    EXPECT_EQ(compared, 59);
    EXPECT_GE(close, 56);
}

/// BLOOM's batch ramp: 182B on 384 A100, only the batch changes (bigscience tr11-176B-ml, chronicles-prequel.md): the
/// step at m = 32, 64, 96, 128 micro-batches relative to the largest.
TEST(BatchRamp, StepsGrowAsMeasured) {
    const std::map<int, double> measured = {{512, 35.77}, {1024, 59.65}, {1536, 83.11}, {2048, 107.12}};
    const auto step = [](int batch) {
        JobRequest request;
        request.model = "bloom-176b";
        request.num_layers = 78;
        request.hidden_size = 13824;
        request.num_attention_heads = 96;
        request.cluster = "dgx-a100-80g";
        request.software = "megatron-deepspeed-2022";
        request.gpus = 384;
        request.dp = 8;
        request.tp = 4;
        request.pp = 12;
        request.layout = "7,7,7,7,7,7,7,7,7,7,7,1";
        request.mbs = 2;
        request.gbs = batch;
        request.recompute = "full";
        request.zero = 1;
        request.schedule = "deepspeed";
        return evaluate(test::valid_job(request)).report.summary.step_time_ms;
    };
    const double largest = step(2048);
    for (const auto& [batch, seconds] : measured) {
        const double relative = step(batch) / largest / (seconds / measured.at(2048));
        EXPECT_NEAR(relative, 1.0, 0.05) << batch;
    }
}

}  // namespace
}  // namespace foreshard
