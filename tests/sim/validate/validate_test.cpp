#include "sim/validate/validate.hpp"

#include <cmath>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "sim/error.hpp"
#include "sim/validate/json_validation.hpp"
#include "sim/validate/run_job.hpp"

namespace foreshard {
namespace {

/// A row in the schema of published runs, with the 22B run of Korthikanti et al. 2022 (arXiv 2205.05198, table 5).
nlohmann::json row() {
    return nlohmann::json::parse(R"({"id": "a", "source": {"title": "paper"},
        "model": {"layers": 48, "hidden": 6144, "ffn_hidden": 24576, "heads": 64, "kv_heads": 64, "seq_len": 2048,
                  "vocab": 51200, "gated_mlp": false, "tied_embeddings": true, "moe": null},
        "hardware": {"num_gpus": 8, "gpus_per_node": 8, "inter_node_gbit_per_gpu": 200},
        "plan": {"dp": 1, "tp": 8, "pp": 1, "cp": 1, "ep": null, "sequence_parallel": true, "virtual_stages": 1,
                 "micro_batch": 4, "global_batch": 4, "zero_stage": 0, "fsdp_shard_size": null,
                 "distributed_optimizer": false},
        "norm": {"gpu": "a100-sxm-80gb", "precision": "fp16", "recompute": "selective", "attention": "causal",
                 "schedule": "none", "layers_per_stage": null, "software": "megatron-2022", "step_time_s": 1.1,
                 "step_time_scope": null, "memory_kind": null, "peak_memory_bytes": null, "oom": false, "wrong": null}})");
}

std::vector<PublishedRun> read(const std::vector<nlohmann::json>& rows) {
    const std::string file = testing::TempDir() + "/runs.jsonl";
    std::ofstream out(file);
    for (const nlohmann::json& value : rows) out << value.dump() << "\n";
    out.close();
    return read_dataset(file);
}

TEST(Validate, PredictsARowFromItsNumbers) {
    const Validation validation = validate(read({row()}));
    ASSERT_EQ(validation.rows.size(), 1U);
    EXPECT_EQ(validation.rows[0].status, ValidationRow::Status::ok) << validation.rows[0].reason;
    ASSERT_TRUE(validation.rows[0].step_error_pct());
    EXPECT_LT(std::abs(*validation.rows[0].step_error_pct()), 8.0);
    EXPECT_EQ(validation.by_source.at("paper").step_time.rows, 1);
}

TEST(Validate, WhatCannotBeSimulatedIsSkippedWithItsReason) {
    nlohmann::json moe = row();
    moe["model"]["moe"] = {{"num_experts", 8}};
    nlohmann::json gpu = row();
    gpu["norm"]["gpu"] = "abacus";
    nlohmann::json schedule = row();
    schedule["norm"]["schedule"] = "sideways";
    nlohmann::json layer = row();
    layer["norm"]["step_time_scope"] = "one layer";
    const Validation validation = validate(read({moe, gpu, schedule, layer}));
    for (const ValidationRow& result : validation.rows) {
        EXPECT_EQ(result.status, ValidationRow::Status::skipped);
        EXPECT_FALSE(result.reason.empty());
    }
    EXPECT_EQ(validation.summary.step_time.rows, 0);
}

TEST(Validate, AnUnknownFrameworkIsGeneric) {
    nlohmann::json other = row();
    other["norm"]["software"] = "home-made";
    const RunRequest request = request_of(read({other}).front());
    ASSERT_TRUE(request.request.software);
    EXPECT_EQ(std::get<SoftwareProfile>(*request.request.software).id, "generic");
    EXPECT_FALSE(request.assumptions.empty());
}

/// One name, two states of the code: which one ran is told by the date.
TEST(Validate, AFrameworkIsThatOfTheRunsDate) {
    const auto profile_at = [](const char* date) {
        nlohmann::json dated = row();
        dated["norm"]["software"] = "megatron-fork-2023";
        if (*date != '\0') dated["date"] = date;
        const RunRequest request = request_of(read({dated}).front());
        const auto profile = std::get<SoftwareProfile>(*request.request.software);
        EXPECT_EQ(request.assumptions.size(), profile.id == "megatron-fork-2024" ? 1U : 0U) << date;
        return profile.id;
    };
    for (const char* date : {"", "2023-11", "2024-01", "2024-01-31", "2021-2023"}) {
        EXPECT_EQ(profile_at(date), "megatron-fork-2023") << date;
    }
    for (const char* date : {"2024-02", "2024-02-01", "2024-11", "2025"}) {
        EXPECT_EQ(profile_at(date), "megatron-fork-2024") << date;
    }
}

TEST(Validate, DoubtedRowsArePredictedAndCountedApart) {
    nlohmann::json doubted = row();
    doubted["norm"]["wrong"] = "printed twice";
    const Validation validation = validate(read({row(), doubted}));
    EXPECT_EQ(validation.summary.step_time.rows, 1);
    EXPECT_EQ(validation.with_doubted.step_time.rows, 2);
}

TEST(Validate, ABrokenRuleMakesARowInfeasible) {
    nlohmann::json broken = row();
    broken["plan"]["global_batch"] = 5;
    EXPECT_EQ(validate(read({broken})).rows[0].status, ValidationRow::Status::infeasible);
}

TEST(Validate, MalformedRowsNameFileLineAndPath) {
    nlohmann::json bad = row();
    bad["model"]["layers"] = "many";
    try {
        read({row(), bad});
        FAIL() << "accepted";
    } catch (const InputError& error) {
        EXPECT_NE(std::string(error.what()).find("line 2"), std::string::npos) << error.what();
        EXPECT_NE(std::string(error.what()).find("/model/layers"), std::string::npos) << error.what();
    }
}

TEST(Summary, CountsAsStated) {
    const ErrorSummary s = summarise({-10.0, 1.0, 2.0, -3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 20.0});
    EXPECT_EQ(s.rows, 10);
    EXPECT_DOUBLE_EQ(s.median_abs_pct, 5.5);
    EXPECT_DOUBLE_EQ(s.p90_abs_pct, 10.0);
    EXPECT_DOUBLE_EQ(s.max_abs_pct, 20.0);
    EXPECT_NEAR(s.bias_pct, 4.0, 1e-12);
    EXPECT_NEAR(s.mean_abs_pct, 6.6, 1e-12);
}

TEST(Record, ATrueRegressionIsSeenAndNoiseIsNot) {
    const std::vector<PublishedRun> runs = read({row()});
    const Validation validation = validate(runs);
    const std::string file = testing::TempDir() + "/record.json";
    std::ofstream(file) << record_json(validation);
    EXPECT_TRUE(regressions(validation, file, 0.5).empty());
    const Validation slower = validate(runs, [](Job& job) { job.software.numbers.gemm_time_factor *= 1.2; });
    EXPECT_EQ(regressions(slower, file, 0.5).size(), 1U);
    const Validation fewer = validate(std::vector<PublishedRun>{});
    EXPECT_EQ(regressions(fewer, file, 0.5).size(), 1U);
}

TEST(Json, HasTheKeysOfTheSchema) {
    const auto json = nlohmann::json::parse(validation_json(validate(read({row()}))));
    EXPECT_EQ(json["schema"], "foreshard.validation");
    EXPECT_EQ(json["schema_version"], "1.1");
    EXPECT_EQ(json["rows"][0]["status"], "ok");
    EXPECT_TRUE(json["rows"][0]["error_pct"].contains("step_time"));
    for (const char* key : {"rows", "median_abs_pct", "mean_abs_pct", "p90_abs_pct", "max_abs_pct", "bias_pct"}) {
        EXPECT_TRUE(json["summary"]["step_time"].contains(key)) << key;
    }
    EXPECT_TRUE(json["summary"]["oom"].contains("correct"));
    EXPECT_TRUE(json.contains("with_doubted"));
}

}  // namespace
}  // namespace foreshard
