#include <fmt/format.h>

#include "sim/error.hpp"
#include "sim/spec/json_reader.hpp"
#include "sim/spec/text_file.hpp"
#include "sim/validate/dataset.hpp"

namespace foreshard {

namespace {

constexpr std::size_t dataset_limit_bytes = std::size_t{256} << 20;

/// Reads single values of a row; a row has many keys that are none of our business, so unknown ones are left alone.
class Row {
public:
    Row(const Json& value, std::string place) : value_(value), place_(std::move(place)) {}

    const Json& section(const char* name) const {
        static const Json empty = Json::object();
        const auto found = value_.find(name);
        return found != value_.end() && found->is_object() ? *found : empty;
    }

    std::string text(const char* part, const char* key) const {
        const Json& object = section(part);
        const auto found = object.find(key);
        return found != object.end() && found->is_string() ? found->get<std::string>() : "";
    }

    template <class T>
    std::optional<T> number(const char* part, const char* key) const {
        const Json& object = section(part);
        const auto found = object.find(key);
        if (found == object.end() || found->is_null()) return std::nullopt;
        if (!found->is_number()) fail(part, key, "must be a number");
        return found->get<T>();
    }

    std::optional<bool> boolean(const char* part, const char* key) const {
        const Json& object = section(part);
        const auto found = object.find(key);
        if (found == object.end() || found->is_null()) return std::nullopt;
        if (!found->is_boolean()) fail(part, key, "must be true or false");
        return found->get<bool>();
    }

    template <class T>
    T required(const char* part, const char* key) const {
        const std::optional<T> value = number<T>(part, key);
        if (!value) fail(part, key, "is missing");
        return *value;
    }

    [[noreturn]] void fail(const char* part, const char* key, const std::string& rule) const {
        throw InputError(place_, fmt::format("/{}/{}", part, key), rule);
    }

private:
    const Json& value_;
    std::string place_;
};

void read_model(const Row& row, PublishedRun& run) {
    run.layers = row.required<int>("model", "layers");
    run.hidden = row.required<std::int64_t>("model", "hidden");
    run.ffn_hidden = row.number<std::int64_t>("model", "ffn_hidden");
    run.heads = row.required<int>("model", "heads");
    run.kv_heads = row.number<int>("model", "kv_heads");
    run.seq_length = row.required<std::int64_t>("model", "seq_len");
    run.vocab = row.number<std::int64_t>("model", "vocab");
    run.gated_mlp = row.boolean("model", "gated_mlp").value_or(false);
    run.tied_embeddings = row.boolean("model", "tied_embeddings");
    const auto moe = row.section("model").find("moe");
    run.mixture_of_experts = moe != row.section("model").end() && moe->is_object();
}

void read_plan(const Row& row, PublishedRun& run) {
    run.gpus = row.required<int>("hardware", "num_gpus");
    run.gpus_per_node = row.number<int>("hardware", "gpus_per_node");
    run.inter_node_gbit_per_gpu = row.number<double>("hardware", "inter_node_gbit_per_gpu");
    run.dp = row.number<int>("plan", "dp").value_or(1);
    run.tp = row.number<int>("plan", "tp").value_or(1);
    run.pp = row.number<int>("plan", "pp").value_or(1);
    run.cp = row.number<int>("plan", "cp").value_or(1);
    run.ep = row.number<int>("plan", "ep").value_or(1);
    run.sequence_parallel = row.boolean("plan", "sequence_parallel").value_or(false);
    run.virtual_stages = row.number<int>("plan", "virtual_stages");
    run.micro_batch = row.number<std::int64_t>("plan", "micro_batch");
    run.global_batch = row.number<std::int64_t>("plan", "global_batch");
    run.zero_stage = row.number<int>("plan", "zero_stage");
    run.shard_size = row.number<int>("plan", "fsdp_shard_size").value_or(0);
    run.fully_sharded = run.shard_size > 0;
    run.distributed_optimizer = row.boolean("plan", "distributed_optimizer").value_or(false);
}

void read_norm(const Row& row, PublishedRun& run) {
    run.gpu = row.text("norm", "gpu");
    run.precision = row.text("norm", "precision");
    run.attention = row.text("norm", "attention");
    run.schedule = row.text("norm", "schedule");
    run.software = row.text("norm", "software");
    run.recompute = row.text("norm", "recompute");
    run.step_time_s = row.number<double>("norm", "step_time_s");
    run.whole_step = row.text("norm", "step_time_scope").empty();
    run.memory_kind = row.text("norm", "memory_kind");
    run.peak_memory_bytes = row.number<double>("norm", "peak_memory_bytes");
    run.out_of_memory = row.boolean("norm", "oom");
    run.doubted = row.text("norm", "wrong");
    const auto layers = row.section("norm").find("layers_per_stage");
    if (layers == row.section("norm").end() || !layers->is_array()) return;
    for (const Json& count : *layers) {
        if (!count.is_number_integer()) row.fail("norm", "layers_per_stage", "must hold whole numbers");
        run.layers_per_stage.push_back(count.get<int>());
    }
}

PublishedRun read_run(const Json& value, const std::string& place) {
    if (!value.is_object() || !value.contains("norm") || !value.contains("id") || !value["id"].is_string()) {
        throw InputError(place, "", "a row is an object with id, source, model, hardware, plan, norm");
    }
    const Row row(value, place);
    PublishedRun run;
    run.id = value["id"].get<std::string>();
    run.source = row.text("source", "title");
    if (value.contains("date") && value["date"].is_string()) run.date = value["date"].get<std::string>();
    read_model(row, run);
    read_plan(row, run);
    read_norm(row, run);
    return run;
}

}  // namespace

std::vector<PublishedRun> read_dataset(const std::string& file) {
    const std::string text = read_text_file(file, dataset_limit_bytes);
    std::vector<PublishedRun> runs;
    std::size_t begin = 0;
    int line = 0;
    while (begin < text.size()) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        const std::string_view row = std::string_view(text).substr(begin, end - begin);
        begin = end + 1;
        ++line;
        if (row.find_first_not_of(" \t\r") == std::string_view::npos) continue;
        const std::string place = fmt::format("{} line {}", file, line);
        runs.push_back(read_run(parse_json(row, place), place));
    }
    if (runs.empty()) throw InputError(file, "", "there is no row in it (one JSON object a line)");
    return runs;
}

}  // namespace foreshard
