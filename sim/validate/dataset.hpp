#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// Published, measured runs in the form that a prediction needs: numbers, booleans and canonical ids, no prose.
namespace foreshard {

/// One row of a dataset (JSON lines). Absent values were not published.
struct PublishedRun {
    std::string id;
    std::string source;  ///< title of the publication, for grouping
    std::string date;    ///< "2024-11" or longer; empty: not said

    int layers = 0;
    std::int64_t hidden = 0;
    std::optional<std::int64_t> ffn_hidden;
    int heads = 0;
    std::optional<int> kv_heads;
    std::int64_t seq_length = 0;
    std::optional<std::int64_t> vocab;
    bool gated_mlp = false;
    std::optional<bool> tied_embeddings;
    bool mixture_of_experts = false;

    int gpus = 0;
    std::optional<int> gpus_per_node;
    std::optional<double> inter_node_gbit_per_gpu;  ///< Gbit/s one way

    int dp = 1;
    int tp = 1;
    int pp = 1;
    int cp = 1;
    int ep = 1;
    bool sequence_parallel = false;
    std::optional<int> virtual_stages;
    std::optional<std::int64_t> micro_batch;
    std::optional<std::int64_t> global_batch;
    std::optional<int> zero_stage;
    bool fully_sharded = false;
    int shard_size = 0;  ///< ranks that share one copy of the parameters, where fully_sharded
    bool distributed_optimizer = false;

    std::string gpu;  ///< norm.*: canonical ids
    std::string precision;
    std::string attention;
    std::string schedule;
    std::string software;
    std::string recompute;  ///< empty: the profile's default
    std::vector<int> layers_per_stage;

    std::optional<double> step_time_s;
    bool whole_step = true;  ///< false: the time is that of a part, say one layer
    std::string memory_kind;
    std::optional<double> peak_memory_bytes;
    std::optional<bool> out_of_memory;
    std::string doubted;  ///< why the row is probably wrong; empty: it is not
};

/// @throws UnreadableFile, InputError naming file, line and JSON path
std::vector<PublishedRun> read_dataset(const std::string& file);

}  // namespace foreshard
