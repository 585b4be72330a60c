#include "sim/spec/launch_config.hpp"

#include <map>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/flags.hpp"
#include "sim/error.hpp"
#include "sim/spec/catalogue.hpp"
#include "sim/spec/json_specs.hpp"
#include "sim/spec/layout.hpp"
#include "tests/support/jobs.hpp"

/// What other programs are told to run is the job, or says where it is not.
namespace foreshard::cli {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

JobFlags parsed(const std::vector<std::string>& lines) {
    CLI::App app;
    JobFlags flags;
    add_job_flags(app, flags);
    std::vector<std::string> words;
    for (const std::string& line : lines) {
        std::istringstream in(line);
        for (std::string word; in >> word;) words.push_back(word);
    }
    std::reverse(words.begin(), words.end());
    app.parse(words);
    return flags;
}

/// The arguments read by our own flags, beside what Megatron-LM has no arguments for: GPUs, machine and profile.
Job read_back(const Job& job, const LaunchConfig& config) {
    JobFlags flags = parsed(config.lines);
    flags.request.model = job.model.id;
    flags.request.cluster = job.cluster;
    flags.request.software = job.software;
    flags.request.gpus = job.gpus;
    if (job.plan.precision == Precision::fp32) flags.request.precision = "fp32";
    return job_from(flags);
}

/// Settings by name. Of a layout the stages count, not how it is written; rows of positions count where they are
/// learned.
std::map<std::string, std::string> settings_of(const Job& job) {
    std::map<std::string, std::string> settings;
    const OrderedJson json = to_json(job);
    for (const char* part : {"plan", "batch", "model"}) {
        for (const auto& [key, value] : json.at(part).items()) settings[key] = value.dump();
    }
    for (const char* key : {"layout", "published_parameters", "balance"}) settings.erase(key);
    if (job.model.positions != PositionKind::learned) settings.erase("max_position_embeddings");
    settings["stages"] = to_string(stage_layout(job));
    settings["gpus"] = std::to_string(job.gpus);
    return settings;
}

std::vector<std::string> different_keys(const Job& a, const Job& b) {
    const auto of_a = settings_of(a);
    const auto of_b = settings_of(b);
    std::vector<std::string> keys;
    for (const auto& [key, value] : of_a) {
        const auto found = of_b.find(key);
        if (found == of_b.end() || found->second != value) keys.push_back(key);
    }
    for (const auto& [key, value] : of_b) {
        if (!of_a.contains(key)) keys.push_back(key);
    }
    return keys;
}

enum class Trip { same, told, refused };

/// What differs behind the way there and back must have been told.
Trip round_trip(const Job& job) {
    const LaunchConfig config = megatron_args(job);
    if (!config.refused.empty()) return Trip::refused;
    const std::vector<std::string> keys = different_keys(job, read_back(job, config));
    if (config.not_expressed.empty()) {
        EXPECT_THAT(keys, IsEmpty()) << to_text(config);
    }
    const bool ours = job.software.id.starts_with("megatron") || job.software.id.starts_with("nemo");
    for (const std::string& key : keys) {
        if (ours) {
            EXPECT_THAT(config.not_expressed, Contains(StartsWith(key))) << to_text(config);
        }
    }
    return config.not_expressed.empty() ? Trip::same : Trip::told;
}

TEST(MegatronArgs, PlansOfTheCatalogueComeBack) {
    for (const CatalogueEntry& entry : catalogue("plans")) {
        SCOPED_TRACE(entry.id);
        EXPECT_NE(round_trip(resolve(load_job_request(std::string(entry.id)))), Trip::refused);
    }
}

class AnySeed : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Seeds, AnySeed, testing::Range(0, 4));

TEST_P(AnySeed, RandomJobsComeBackOrSayWhy) {
    std::map<Trip, int> trips;
    for (int i = 0; i < 25; ++i) {
        const auto seed = static_cast<std::uint64_t>(25 * GetParam() + i);
        SCOPED_TRACE(seed);
        ++trips[round_trip(test::random_job(seed))];
        ++trips[round_trip(test::any_plan(seed))];
    }
    EXPECT_GT(trips[Trip::same], 5);
    EXPECT_GT(trips[Trip::refused], 5);
}

JobRequest eight_gpus() {
    JobRequest request;
    request.model = "llama3-8b";
    request.cluster = "dgx-h100";
    request.software = "megatron-core-te";
    request.gpus = 8;
    request.gbs = 32;
    return request;
}

using Change = std::pair<const char*, void (*)(JobRequest&)>;

/// An argument, and what asks for it.
const Change expressed[] = {
    {"--tensor-model-parallel-size 2", [](JobRequest& r) { r.tp = 2; }},
    {"--sequence-parallel", [](JobRequest& r) { r.tp = 2, r.sp = true; }},
    {"--tp-comm-overlap", [](JobRequest& r) { r.tp = 2, r.sp = true, r.tp_comm_overlap = true; }},
    {"--context-parallel-size 2", [](JobRequest& r) { r.cp = 2; }},
    {"--use-tp-pp-dp-mapping", [](JobRequest& r) { r.order = "tp-cp-ep-pp-dp", r.pp = 2; }},
    {"--num-layers-per-virtual-pipeline-stage 4", [](JobRequest& r) { r.pp = 4, r.vpp = 2; }},
    {"--num-virtual-stages-per-pipeline-rank 3",
     [](JobRequest& r) {
         r.pp = 4, r.vpp = 3, r.num_layers = 34;
         r.account_for_embedding_in_pipeline_split = r.account_for_loss_in_pipeline_split = true;
     }},
    {"--microbatch-group-size-per-virtual-pipeline-stage 8",
     [](JobRequest& r) { r.pp = 4, r.vpp = 2, r.microbatch_group_size = 8; }},
    {"--no-overlap-p2p-communication", [](JobRequest& r) { r.pp = 4, r.vpp = 2, r.overlap_p2p = false; }},
    {"--pipeline-model-parallel-layout Ett", [](JobRequest& r) { r.pp = 4, r.layout = "7,9,9,7"; }},
    {"--decoder-first-pipeline-num-layers 6",
     [](JobRequest& r) { r.pp = 4, r.decoder_first_pipeline_num_layers = 6, r.decoder_last_pipeline_num_layers = 6; }},
    {"--recompute-granularity selective", [](JobRequest& r) { r.recompute = "selective"; }},
    {"--recompute-num-layers 3",
     [](JobRequest& r) { r.recompute = "full", r.recompute_method = "block", r.recompute_num_layers = 3; }},
    {"--use-distributed-optimizer", [](JobRequest& r) { r.zero = 1; }},
    {"--num-distributed-optimizer-instances 4", [](JobRequest& r) { r.zero = 1, r.zero_shard_size = 2; }},
    {"--overlap-param-gather",
     [](JobRequest& r) { r.zero = 1, r.overlap_grad_reduce = true, r.overlap_param_gather = true; }},
    {"--ddp-bucket-size 10000000", [](JobRequest& r) { r.overlap_grad_reduce = true, r.bucket_mb = 40.0; }},
    {"--optimizer-cpu-offload", [](JobRequest& r) { r.zero = 1, r.offload_optimizer = true; }},
    {"--use-torch-fsdp2", [](JobRequest& r) { r.data_parallel = "fsdp2"; }},
    {"--torch-fsdp2-no-reshard-after-forward",
     [](JobRequest& r) { r.data_parallel = "fsdp2", r.reshard_after_forward = false; }},
    {"--fp16", [](JobRequest& r) { r.precision = "fp16"; }},
    {"--fp8-format hybrid", [](JobRequest& r) { r.precision = "fp8"; }},
    {"--fp8-recipe mxfp8", [](JobRequest& r) { r.precision = "mxfp8", r.cluster = "dgx-b200"; }},
    {"--fp4-format e2m1", [](JobRequest& r) { r.precision = "nvfp4", r.cluster = "dgx-b200"; }},
    {"--expert-model-parallel-size 4", [](JobRequest& r) { r.model = "mixtral-8x7b", r.ep = 4; }},
    {"--expert-tensor-parallel-size 1", [](JobRequest& r) { r.model = "mixtral-8x7b", r.ep = 4, r.tp = 2, r.etp = 1; }},
    {"--num-query-groups 4", [](JobRequest& r) { r.num_query_groups = 4; }},
    {"--mtp-num-layers 1", [](JobRequest& r) { r.mtp_num_layers = 1; }},
    {"--disable-bias-linear", [](JobRequest&) {}},
    {"--position-embedding-type rope", [](JobRequest&) {}},
    {"--attention-backend unfused", [](JobRequest& r) { r.software = "megatron-2022"; }},
};

/// Every setting that Megatron-LM has an argument for, by itself.
TEST(MegatronArgs, EverySettingComesBack) {
    for (const auto& [argument, change] : expressed) {
        SCOPED_TRACE(argument);
        JobRequest request = eight_gpus();
        change(request);
        const Job job = test::valid_job(request);
        const LaunchConfig config = megatron_args(job);
        EXPECT_THAT(config.refused, IsEmpty());
        EXPECT_THAT(config.not_expressed, IsEmpty());
        EXPECT_THAT(config.lines, Contains(StartsWith(argument)));
        EXPECT_EQ(round_trip(job), Trip::same);
    }
}

/// What it would do otherwise is told, with the setting's name first, and differs behind the way back.
TEST(MegatronArgs, WhatHasNoArgumentIsTold) {
    const Change changes[] = {
        {"offload_activation_layers 2", [](JobRequest& r) { r.offload_activation_layers = 2; }},
        {"first_bucket_mb 5", [](JobRequest& r) { r.overlap_grad_reduce = true, r.first_bucket_mb = 5.0; }},
        {"sync_every_microbatch true", [](JobRequest& r) { r.sync_every_microbatch = true; }},
        {"bucket_mb 10.000001", [](JobRequest& r) { r.overlap_grad_reduce = true, r.bucket_mb = 10.000001; }},
        {"make_vocab_size_divisible_by 0", [](JobRequest& r) { r.make_vocab_size_divisible_by = 0; }},
        {"software deepspeed", [](JobRequest& r) { r.software = "deepspeed"; }},
    };
    for (const auto& [told, change] : changes) {
        JobRequest request = eight_gpus();
        change(request);
        const Job job = test::valid_job(request);
        EXPECT_THAT(megatron_args(job).not_expressed, Contains(StartsWith(told)));
        EXPECT_EQ(round_trip(job), Trip::told) << told;
    }
}

/// What Megatron-LM cannot run names the field and what it can.
TEST(MegatronArgs, OtherPlansAreRefusedByField) {
    const Change changes[] = {
        {"schedule", [](JobRequest& r) { r.pp = 4, r.schedule = "zb-h1"; }},
        {"data_parallel", [](JobRequest& r) { r.data_parallel = "horovod"; }},
        {"zero", [](JobRequest& r) { r.zero = 3; }},
        {"order", [](JobRequest& r) { r.order = "dp-tp-cp-ep-pp"; }},
        {"precision", [](JobRequest& r) { r.precision = "tf32"; }},
        {"model", [](JobRequest& r) { r.model = "bloom-176b", r.tp = 8; }},
    };
    for (const auto& [field, change] : changes) {
        JobRequest request = eight_gpus();
        change(request);
        const std::vector<BrokenRule> refused = megatron_args(resolve(request)).refused;
        ASSERT_EQ(refused.size(), 1U) << field;
        EXPECT_EQ(refused.front().fields, field);
        EXPECT_FALSE(refused.front().nearest.empty()) << field;
    }
}

/// Arguments that describe what comes from elsewhere here must agree with it.
TEST(MegatronFlags, ContradictionsNameBothSides) {
    const std::pair<const char*, const char*> wrong[] = {
        {"--normalization LayerNorm", "llama3-8b has RMSNorm"},
        {"--position-embedding-type learned_absolute", "llama3-8b has rope"},
        {"--add-qkv-bias", "llama3-8b has none"},
        {"--attention-backend unfused", "megatron-core-te has flash"},
        {"--moe-layer-freq 2", "no experts"},
        {"--num-distributed-optimizer-instances 3", "must divide the 8 replicas"},
        {"--fp8-recipe mxfp8", "needs --fp8-format"},
        {"--fp16 --fp8-format hybrid", "not in fp16"},
        {"--use-torch-fsdp2 --data-parallel ddp", "contradicts --data-parallel"},
    };
    for (const auto& [arguments, reason] : wrong) {
        JobFlags flags = parsed({arguments});
        flags.request = merge(eight_gpus(), flags.request);
        try {
            job_from(flags);
            ADD_FAILURE() << arguments << " was accepted";
        } catch (const InputError& error) {
            EXPECT_THAT(error.what(), AllOf(StartsWith("--"), HasSubstr(reason))) << arguments;
        }
    }
}

TEST(MegatronFlags, FlashSelectsTheRuntimesFlashProfile) {
    for (const char* arguments : {"--use-flash-attn", "--attention-backend flash"}) {
        JobFlags flags = parsed({arguments});
        flags.request = merge(test::tiny_request(1, 2), flags.request);
        flags.request.software = "foreshard";
        EXPECT_EQ(job_from(flags).software.id, "foreshard-flash");
    }
}

std::map<std::string, std::string> values_of(const LaunchConfig& config) {
    std::map<std::string, std::string> values;
    for (const std::string& line : config.lines) {
        const std::size_t equals = line.find(" = ");
        if (equals == std::string::npos) {
            EXPECT_THAT(line, AllOf(StartsWith("["), testing::EndsWith("]")));
        } else {
            EXPECT_TRUE(values.emplace(line.substr(0, equals), line.substr(equals + 3)).second) << line;
        }
    }
    return values;
}

TEST(TorchtitanConfig, DegreesMakeUpTheGpus) {
    int written = 0;
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        const Job job = test::any_plan(seed);
        const LaunchConfig config = torchtitan_config(job);
        if (!config.refused.empty()) continue;
        const auto values = values_of(config);
        int gpus = 1;
        for (const char* axis : {"data_parallel_replicate", "data_parallel_shard", "tensor_parallel",
                                 "pipeline_parallel", "context_parallel"}) {
            gpus *= std::stoi(values.at(std::string(axis) + "_degree"));
        }
        EXPECT_EQ(gpus, job.gpus) << to_text(config);
        ++written;
    }
    EXPECT_GT(written, 30);
}

TEST(TorchtitanConfig, WritesAPipelineOfLlama) {
    JobRequest request = eight_gpus();
    request.software = "torchtitan";
    request.pp = 4;
    request.vpp = 2;
    request.data_parallel = "fsdp2";
    request.mbs = 2;
    const auto values = values_of(torchtitan_config(test::valid_job(request)));
    const std::map<std::string, std::string> expected = {{"name", "\"llama3\""},
                                                         {"flavor", "\"8B\""},
                                                         {"local_batch_size", "16"},
                                                         {"global_batch_size", "32"},
                                                         {"seq_len", "8192"},
                                                         {"pipeline_parallel_schedule", "\"Interleaved1F1B\""},
                                                         {"pipeline_parallel_microbatch_size", "2"},
                                                         {"pipeline_parallel_layers_per_stage", "4"},
                                                         {"data_parallel_shard_degree", "2"},
                                                         {"fsdp_reshard_after_forward", "\"never\""},
                                                         {"mode", "\"none\""}};
    for (const auto& [key, value] : expected) EXPECT_EQ(values.at(key), value) << key;
}

/// Layers that do not spread evenly are named one by one, all of them once.
TEST(TorchtitanConfig, WritesOutUnevenStages) {
    JobRequest request = eight_gpus();
    request.pp = 4;
    request.layout = "7,9,9,7";
    const std::string parts = values_of(torchtitan_config(test::valid_job(request))).at("module_fqns_per_model_part");
    EXPECT_THAT(parts,
                AllOf(StartsWith("[[\"tok_embeddings\", \"layers.0\""), HasSubstr("\"layers.6\"], [\"layers.7\""),
                      testing::EndsWith("\"layers.31\", \"norm\", \"output\"]]")));
}

TEST(TorchtitanConfig, SchedulesWithoutAClassRunFromTheirActions) {
    JobRequest request = eight_gpus();
    request.pp = 4;
    request.schedule = "zb-h1";
    const LaunchConfig config = torchtitan_config(test::valid_job(request));
    EXPECT_THAT(config.refused, IsEmpty());
    EXPECT_EQ(values_of(config).at("pipeline_parallel_schedule"), "\"_PipelineScheduleRuntime\"");
    EXPECT_THAT(config.notes, Contains(HasSubstr("schedule-csv")));
    request.schedule = "pipedream";
    EXPECT_FALSE(torchtitan_config(resolve(request)).refused.empty());
}

}  // namespace
}  // namespace foreshard::cli
