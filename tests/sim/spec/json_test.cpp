#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/error.hpp"
#include "sim/spec/catalogue.hpp"
#include "sim/spec/embedded_files.hpp"
#include "sim/spec/job_request_fields.hpp"
#include "sim/spec/json_specs.hpp"
#include "sim/spec/text_file.hpp"
#include "tests/support/temporary_file.hpp"

namespace foreshard {

namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Property;
using ::testing::Throws;

std::string entry_text(std::string_view kind, const std::string& id) {
    return std::string(find_in_catalogue(kind, id).text);
}

/// A valid document with one value replaced.
Json changed(std::string_view kind, const std::string& id, const std::string& pointer, const Json& value) {
    Json document = Json::parse(entry_text(kind, id));
    document[Json::json_pointer(pointer)] = value;
    return document;
}

template <class Error, class Action>
void expect_error(Action action, const std::string& place, const std::string& reason) {
    EXPECT_THAT(action, Throws<Error>(AllOf(Property(&InputError::what, HasSubstr(place)),
                                            Property(&InputError::what, HasSubstr(reason)))));
}

void expect_model_error(const std::string& pointer, const Json& value, const std::string& reason) {
    const Json document = changed("models", "gpt-tiny", pointer, value);
    expect_error<InputError>([&] { read_model(document, "m.json"); }, "m.json at " + pointer, reason);
}

template <class Read>
void expect_round_trip(std::string_view kind, Read read) {
    const std::vector<CatalogueEntry> entries = catalogue(kind);
    EXPECT_FALSE(entries.empty()) << kind;
    for (const CatalogueEntry& entry : entries) {
        const OrderedJson once = to_json(read(Json::parse(entry.text), std::string(entry.id)));
        const OrderedJson twice = to_json(read(Json::parse(once.dump()), std::string(entry.id)));
        EXPECT_EQ(once.dump(), twice.dump()) << entry.id;
    }
}

}  // namespace

TEST(JsonReader, TruncatedTextIsUnreadableAndNamesThePlace) {
    expect_error<UnreadableFile>([] { parse_json("{\"a\": [1,\n 2", "f.json"); }, "f.json", "line 2, column 3");
    expect_error<UnreadableFile>([] { parse_json("", "f.json"); }, "f.json", "line 1");
    expect_error<UnreadableFile>([] { parse_json("{} x", "f.json"); }, "f.json", "line 1, column 4");
}

TEST(JsonReader, EveryPrefixOfAFileIsRefused) {
    const std::string text = entry_text("models", "gpt-tiny");
    const std::size_t end = text.rfind('}');
    for (std::size_t length = 0; length < end; length += 7) {
        EXPECT_THROW(parse_json(text.substr(0, length), "f.json"), UnreadableFile) << length;
    }
}

TEST(JsonReader, BinaryIsUnreadable) {
    std::string bytes;
    for (int i = 0; i < 4096; ++i) bytes += static_cast<char>(i * 37);
    expect_error<UnreadableFile>([&] { parse_json(bytes, "f.bin"); }, "f.bin", "not valid JSON");
    expect_error<UnreadableFile>([] { parse_json("{\"a\": \"\xff\xfe\"}", "f.bin"); }, "f.bin", "not valid JSON");
}

TEST(JsonReader, OversizedTextIsRefusedBeforeParsing) {
    const std::string text(input_file_limit_bytes + 1, ' ');
    expect_error<UnreadableFile>([&] { parse_json(text, "big.json"); }, "big.json", "16 MiB");
    const std::string path = test::write_file("oversized.json", text);
    expect_error<UnreadableFile>([&] { read_json_file(path); }, path, "16 MiB");
    std::filesystem::remove(path);
}

TEST(JsonReader, DeepNestingIsRefusedBeforeParsing) {
    const auto nested = [](std::size_t n) { return std::string(n, '[') + std::string(n, ']'); };
    EXPECT_NO_THROW(parse_json(nested(64), "f.json"));
    expect_error<UnreadableFile>([&] { parse_json(nested(100), "f.json"); }, "byte 65", "64 levels");
    expect_error<UnreadableFile>([&] { parse_json(std::string(1 << 20, '['), "f.json"); }, "byte 65", "64 levels");
    const std::string in_text = "{\"text\": \"" + std::string(1000, '[') + "\\\"" + std::string(1000, '{') + "\"}";
    EXPECT_NO_THROW(parse_json(in_text, "f.json"));
}

TEST(JsonReader, DuplicateKeysAreRefused) {
    expect_error<InputError>([] { parse_json(R"({"tp": 1, "x": {"tp": 2}, "tp": 4})", "f.json"); }, "f.json",
                             "'tp' stands twice");
    EXPECT_NO_THROW(parse_json(R"([{"tp": 1}, {"tp": 2}])", "f.json"));
}

TEST(JsonReader, FilesThatCannotBeReadAreUnreadable) {
    expect_error<UnreadableFile>([] { read_json_file("/no/such/file.json"); }, "/no/such/file.json",
                                 "cannot be opened");
    expect_error<UnreadableFile>([] { read_json_file(::testing::TempDir()); }, ::testing::TempDir(), "directory");
    expect_error<UnreadableFile>([] { read_json_file("/dev/zero"); }, "/dev/zero", "16 MiB");
}

TEST(JsonReader, ValuesOfTheWrongTypeNameFilePathValueAndRule) {
    expect_model_error("/num_layers", "eight", "\"eight\" must be an integer, 1 or more");
    expect_model_error("/num_layers", 8.5, "8.5 must be an integer");
    expect_model_error("/num_layers", -3, "-3 must be an integer, 1 or more");
    expect_model_error("/num_layers", 0, "0 must be an integer, 1 or more");
    expect_model_error("/num_layers", 3e9, "3000000000.0 must be an integer");
    expect_model_error("/hidden_size", 18446744073709551615U, "must be an integer");
    expect_model_error("/hidden_size", nullptr, "null must be an integer");
    expect_model_error("/gated_mlp", 1, "1 must be true or false");
    expect_model_error("/norm", "batch-norm", "'batch-norm' must be one of layer-norm, rms-norm");
    expect_model_error("/id", 7, "7 must be a string");
    expect_model_error("/moe", Json::array(), "[] must be an object");
    expect_model_error("/schema", "foreshard.cluster", "'foreshard.cluster' must be 'foreshard.model'");
    expect_model_error("/schema_version", "2.0", "version '2.0' is not known");
}

TEST(JsonReader, IntegersMayBeWrittenAsNumbersWithoutFraction) {
    EXPECT_EQ(read_model(changed("models", "gpt-tiny", "/vocab_size", 1e3), "m.json").vocab_size, 1000);
}

TEST(JsonReader, NumbersMustBeInRange) {
    const auto read = [](const std::string& pointer, const Json& value) {
        const Json document = changed("devices", "a100-sxm-80gb", pointer, value);
        return [document] { read_device(document, "d.json"); };
    };
    expect_error<InputError>(read("/memory_bandwidth_GB_per_s", -1.0), "/memory_bandwidth_GB_per_s",
                             "-1.0 must be a number greater than 0");
    expect_error<InputError>(read("/peak_tflops/bf16", 0), "/peak_tflops/bf16", "greater than 0");
    expect_error<InputError>(read("/achieved/gemm_ratio", 1.2), "/achieved/gemm_ratio", "from 0 to 1");
    expect_error<UnreadableFile>([] { parse_json(R"({"x": NaN})", "d.json"); }, "d.json", "not valid JSON");
    expect_error<UnreadableFile>([] { parse_json(R"({"x": 1e999})", "d.json"); }, "d.json", "not valid JSON");
}

TEST(JsonReader, UnknownKeysAreErrorsWithTheClosestKey) {
    expect_model_error("/num_layer", 8, "did you mean 'num_layers'?");
    expect_model_error("/frobnicate", 8, "unknown key; valid: attention, embedding_norm");
    const Json job = changed("plans", "gpt-tiny-pp4", "/plan/scheduel", "1f1b");
    expect_error<InputError>([&] { read_job_request(job, "j.json"); }, "/plan/scheduel", "did you mean 'schedule'?");
}

TEST(JsonReader, MissingKeysAreNamed) {
    Json document = Json::parse(entry_text("models", "gpt-tiny"));
    document.erase("hidden_size");
    expect_error<InputError>([&] { read_model(document, "m.json"); }, "/hidden_size", "required, but missing");
}

TEST(Catalogue, FilesAreNamedAfterTheirIds) {
    for (const std::string& kind : catalogue_kinds()) {
        EXPECT_FALSE(catalogue(kind).empty()) << kind;
        for (const CatalogueEntry& entry : catalogue(kind)) {
            EXPECT_EQ(Json::parse(entry.text).at("id"), std::string(entry.id)) << kind;
        }
    }
}

TEST(Catalogue, EveryEntryLoads) {
    for (const auto& entry : catalogue("models")) EXPECT_NO_THROW(load_model(std::string(entry.id))) << entry.id;
    for (const auto& entry : catalogue("clusters")) EXPECT_NO_THROW(load_cluster(std::string(entry.id))) << entry.id;
    for (const auto& entry : catalogue("devices")) EXPECT_NO_THROW(load_device(std::string(entry.id))) << entry.id;
    for (const auto& entry : catalogue("software")) EXPECT_NO_THROW(load_software(std::string(entry.id))) << entry.id;
    for (const auto& entry : catalogue("calibrations")) {
        if (Json::parse(entry.text).at("schema") == "foreshard.kernels") {
            EXPECT_NO_THROW(load_kernels(std::string(entry.id))) << entry.id;
        } else {
            EXPECT_NO_THROW(load_fabric(std::string(entry.id))) << entry.id;
        }
    }
    for (const auto& entry : catalogue("plans")) {
        const Job job = resolve(load_job_request(std::string(entry.id)));
        EXPECT_THAT(check(job), IsEmpty()) << entry.id;
    }
}

TEST(Catalogue, RoundTripsThroughJson) {
    expect_round_trip("models", [](const Json& json, const std::string& id) { return read_model(json, id); });
    expect_round_trip("clusters", [](const Json& json, const std::string& id) { return read_cluster(json, id); });
    expect_round_trip("devices", [](const Json& json, const std::string& id) { return read_device(json, id); });
    expect_round_trip("software", [](const Json& json, const std::string& id) { return read_software(json, id); });
    expect_round_trip("plans",
                      [](const Json& json, const std::string& id) { return resolve(read_job_request(json, id)); });
}

TEST(Catalogue, WritersGiveBackTheNumbersOfTheFile) {
    const Json written = Json::parse(to_json(load_cluster("dgx-a100-80g")).dump());
    Json file = Json::parse(entry_text("clusters", "dgx-a100-80g"));
    EXPECT_EQ(written["inter_node"], file["inter_node"]);
    const Json fabric = Json::parse(entry_text("calibrations", "nvlink3-a100"));
    EXPECT_EQ(written["intra_node"]["fabric"]["collectives"], fabric["collectives"]);
    const Json device = Json::parse(entry_text("devices", "a100-sxm-80gb"));
    EXPECT_EQ(written["device"]["achieved"], device["achieved"]);
    EXPECT_EQ(written["device"]["peak_tflops"], device["peak_tflops"]);
}

/// Both kinds of calibration lie in one folder.
TEST(Catalogue, ACalibrationOfTheOtherKindIsRefused) {
    const std::string reason = "'foreshard.kernels' must be 'foreshard.fabric'";
    expect_error<InputError>([] { load_fabric("kernels-a100"); }, "models/calibrations/kernels-a100.json at /schema",
                             reason);
    expect_error<InputError>([] { load_kernels("nvlink3-a100"); }, "/schema", "must be 'foreshard.kernels'");
}

TEST(Catalogue, KernelTablesAreChecked) {
    const auto expect_refused = [](const std::string& pointer, const Json& value, const std::string& reason) {
        const Json document = changed("calibrations", "kernels-a100", pointer, value);
        expect_error<InputError>([&] { read_kernels(document, "k.json"); }, "k.json at " + pointer, reason);
    };
    expect_refused("/gemm/tflops", {1, 2}, "has 2 numbers, but");
    expect_refused("/gemm/k", {32, 64, 64}, "must be in ascending order");
    expect_refused("/gemm/tflops", {1, -1}, "must be an array of numbers greater than 0");
    const Json no_peak = changed("devices", "v100-sxm2-16gb", "/kernels", "kernels-a100");
    expect_error<InputError>([&] { read_device(no_peak, "d.json"); }, "/kernels", "needs peak_tflops.bf16");
}

TEST(Catalogue, UnknownIdsNameCloseOnes) {
    expect_error<InputError>([] { load_model("gpt3-157b"); }, "--model", "gpt3-175b");
    expect_error<InputError>([] { load_cluster("a100"); }, "--cluster", "dgx-a100-80g");
    expect_error<InputError>([] { load_software("megatron"); }, "--software", "megatron-2022");
    expect_error<InputError>([] { schema_text("modell"); }, "schema", "model");
    EXPECT_EQ(schema_text("model"), schema_text("foreshard.model"));
}

TEST(Software, ADateIsAYearAndAMonth) {
    for (const char* date : {"2024", "June 24", "2024-6", "2024-02-01"}) {
        const Json profile = changed("software", "megatron-fork-2024", "/succeeds/since", date);
        expect_error<InputError>([&] { read_software(profile, "s.json"); }, "/succeeds/since", "year and month");
    }
}

TEST(Schema, JobSchemaListsTheKeysThatAreRead) {
    const Json schema = Json::parse(schema_text("job")).at("properties");
    const auto expect_keys = [&](const char* part, auto visit) {
        std::size_t count = 0;
        visit([&](const char* name, auto /*member*/) {
            ++count;
            EXPECT_TRUE(schema.at(part).at("properties").contains(name)) << part << "." << name;
        });
        EXPECT_EQ(schema.at(part).at("properties").size(), count) << part;
    };
    expect_keys("plan", [](auto visit) { visit_plan_fields(visit); });
    expect_keys("batch", [](auto visit) { visit_batch_fields(visit); });
    expect_keys("model_changes", [](auto visit) { visit_model_fields(visit); });
}

TEST(HuggingFaceConfig, LlamaIsReadAsTheCatalogueHasIt) {
    const std::string text = R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu",
        "hidden_size": 8192, "intermediate_size": 28672, "num_hidden_layers": 80, "num_attention_heads": 64,
        "num_key_value_heads": 8, "vocab_size": 128256, "max_position_embeddings": 8192, "rms_norm_eps": 1e-05,
        "rope_theta": 500000.0, "tie_word_embeddings": false, "head_dim": null, "torch_dtype": "bfloat16"})";
    const std::string path = test::write_file("config.json", text);
    const LoadedModel loaded = load_model(path);
    EXPECT_EQ(total_parameters(loaded.spec), 70'553'706'496);
    EXPECT_TRUE(loaded.spec.gated_mlp);
    EXPECT_EQ(loaded.spec.positions, PositionKind::rotary);
    EXPECT_THAT(loaded.notes, ::testing::Contains(HasSubstr("architectures, rope_theta, torch_dtype")));
    std::filesystem::remove(path);
}

TEST(HuggingFaceConfig, Gpt2HasNamesOfItsOwn) {
    const Json config = Json::parse(R"({"model_type": "gpt2", "n_embd": 1600, "n_head": 25, "n_layer": 48,
        "n_positions": 1024, "n_ctx": 1024, "vocab_size": 50257, "activation_function": "gelu_new", "n_inner": null})");
    ASSERT_TRUE(is_hf_config(config));
    const ModelSpec model = read_hf_config(config, "gpt2-xl/config.json").spec;
    EXPECT_EQ(total_parameters(model), 1'557'611'200);
    EXPECT_EQ(model.id, "gpt2-xl");
    EXPECT_EQ(model.seq_length, 1024);
}

TEST(HuggingFaceConfig, ExpertsAndBertAreRead) {
    const Json mixtral = Json::parse(R"({"model_type": "mixtral", "hidden_size": 4096, "intermediate_size": 14336,
        "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 32000,
        "max_position_embeddings": 32768, "hidden_act": "silu", "rms_norm_eps": 1e-05, "tie_word_embeddings": false,
        "num_local_experts": 8, "num_experts_per_tok": 2})");
    EXPECT_EQ(total_parameters(read_hf_config(mixtral, "c.json").spec), 46'702'792'704);
    const Json bert = Json::parse(R"({"model_type": "bert", "hidden_size": 1024, "intermediate_size": 4096,
        "num_hidden_layers": 24, "num_attention_heads": 16, "vocab_size": 30522, "max_position_embeddings": 512,
        "type_vocab_size": 2, "hidden_act": "gelu", "layer_norm_eps": 1e-12})");
    EXPECT_EQ(total_parameters(read_hf_config(bert, "c.json").spec), 336'224'058);
    const Json qwen = Json::parse(R"({"model_type": "qwen2", "hidden_size": 3584, "intermediate_size": 18944,
        "num_hidden_layers": 28, "num_attention_heads": 28, "num_key_value_heads": 4, "vocab_size": 152064,
        "max_position_embeddings": 131072, "hidden_act": "silu", "rms_norm_eps": 1e-06, "tie_word_embeddings": false})");
    EXPECT_EQ(total_parameters(read_hf_config(qwen, "c.json").spec), 7'615'616'512);
}

TEST(HuggingFaceConfig, WhatCannotBeRepresentedIsRefused) {
    const Json mla = Json::parse(R"({"model_type": "deepseek_v3", "hidden_size": 7168, "kv_lora_rank": 512})");
    expect_error<InputError>([&] { read_hf_config(mla, "c.json"); }, "c.json at /kv_lora_rank", "latent attention");
    const Json empty = Json::parse(R"({"model_type": "llama"})");
    expect_error<InputError>([&] { read_hf_config(empty, "c.json"); }, "/num_hidden_layers", "required");
}

TEST(StageTimesFile, UnitsAreConvertedToPicoseconds) {
    const auto read = [](const char* text) { return read_stage_times(Json::parse(text), "t.json"); };
    const StageTimes times = read(R"({"unit": "ms", "stages": [{"f": 1.5, "i": 2, "w": 0.5}, {"f": 0, "b": 3}],
                                      "hop": 0.001})");
    ASSERT_EQ(times.stages.size(), 2U);
    EXPECT_EQ(times.stages[0].forward, 1'500'000'000);
    EXPECT_EQ(times.stages[0].weight_grad, 500'000'000);
    EXPECT_EQ(times.stages[1].input_grad, 3'000'000'000);
    EXPECT_EQ(times.stages[1].weight_grad, 0);
    EXPECT_EQ(times.hop, 1'000'000);
    EXPECT_EQ(to_json(times).dump(), to_json(read_stage_times(Json::parse(to_json(times).dump()), "t.json")).dump());
    expect_error<InputError>([&] { read(R"({"unit": "min", "stages": [{"f": 1, "b": 1}]})"); }, "/unit", "one of ms");
    expect_error<InputError>([&] { read(R"({"unit": "s", "stages": []})"); }, "/stages", "at least one");
    expect_error<InputError>([&] { read(R"({"unit": "s", "stages": [{"f": -1, "b": 1}]})"); }, "/stages/0/f",
                             "0 or more");
    expect_error<InputError>([&] { read(R"({"unit": "s", "stages": [{"f": 1e30, "b": 1}]})"); }, "/stages/0/f",
                             "a day");
    expect_error<InputError>([&] { read(R"({"unit": "s", "stages": [{"f": 1}]})"); }, "/stages/0/i", "missing");
}

}  // namespace foreshard
