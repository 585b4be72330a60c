#include "runtime/parameter_layout.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <stdexcept>

#include <fmt/format.h>

#include "runtime/random.hpp"
#include "sim/plan/data_parallel/shard_plan.hpp"
#include "sim/plan/parameters.hpp"
#include "sim/spec/data_parallel.hpp"

namespace foreshard::runtime {

namespace {

/// Lists the tensors of one unit in the order of registration.
class UnitTensors {
public:
    UnitTensors(const Job& job, int tp, int pp)
        : job_(job),
          model_(job.model),
          tp_(tp),
          shared_(vocabulary_shares(job.plan) > 1),
          vocabulary_part_(shared_ ? pp * job.plan.tp + tp : tp) {}

    std::vector<ParameterTensor> of(const OpBlock& block, int layer) {
        switch (block.kind) {
            case BlockKind::embedding:
                add_embedding(block);
                break;
            case BlockKind::layer:
                add_layer(fmt::format("layers.{}.", layer));
                break;
            case BlockKind::head:
                if (shared_ && !has_op(block, "final_norm")) {
                    add_output(block.parameters > 0);
                } else {
                    add_head(block);
                }
                break;
            case BlockKind::mtp:
                throw std::logic_error("prediction layers are refused before");
        }
        return std::move(tensors_);
    }

private:
    ParameterTensor& add(ParameterId id, std::string name, InitialKind initial, std::int64_t rows,
                         std::int64_t columns) {
        ParameterTensor tensor;
        tensor.id = id;
        tensor.name = std::move(name);
        tensor.initial = initial;
        tensor.rows = tensor.global_rows = rows;
        tensor.columns = tensor.global_columns = columns;
        tensor.slices = {{0, 0, rows}};
        tensor.whole = true;
        tensors_.push_back(std::move(tensor));
        return tensors_.back();
    }

    void add_whole(ParameterId id, std::string name, InitialKind initial, std::int64_t rows, std::int64_t columns) {
        add(id, std::move(name), initial, rows, columns);
    }

    /// Rows divided over tensor parallel ranks, in `parts` stretches of the whole tensor.
    ParameterTensor& add_rows(ParameterId id, std::string name, InitialKind initial, std::int64_t rows,
                              std::int64_t columns, int parts = 1) {
        ParameterTensor& tensor = add(id, std::move(name), initial, rows, columns);
        tensor.global_rows = rows * job_.plan.tp;
        tensor.whole = job_.plan.tp == 1;
        const std::int64_t part = rows / parts;
        tensor.slices.clear();
        for (int i = 0; i < parts; ++i) {
            tensor.slices.push_back({i * part, (std::int64_t{i} * job_.plan.tp + tp_) * part, part});
        }
        return tensor;
    }

    /// Rows of the vocabulary, divided over tensor parallel ranks, and over those that share it on pipeline ranks.
    void add_vocabulary(ParameterId id, std::string name, InitialKind initial, std::int64_t columns) {
        const std::int64_t rows = vocabulary_rows(job_);
        ParameterTensor& tensor = add(id, std::move(name), initial, rows, columns);
        tensor.global_rows = model_.vocab_size;
        tensor.slices = {{0, vocabulary_part_ * rows, rows}};
        tensor.whole = job_.plan.tp == 1;
    }

    static bool has_op(const OpBlock& block, std::string_view name) {
        return std::any_of(block.forward.begin(), block.forward.end(), [&](const Op& op) { return op.name == name; });
    }

    void add_output(bool own_matrix) {
        if (!own_matrix) return;
        add_vocabulary(ParameterId::output_weight, model_.tied_embeddings ? "embedding.weight" : "output.weight",
                       InitialKind::matrix, model_.hidden);
    }

    void add_columns(ParameterId id, std::string name, std::int64_t rows, std::int64_t columns) {
        ParameterTensor& tensor = add(id, std::move(name), InitialKind::residual_matrix, rows, columns);
        tensor.global_columns = columns * job_.plan.tp;
        tensor.first_column = tp_ * columns;
        tensor.whole = job_.plan.tp == 1;
    }

    void add_norm(ParameterId weight, ParameterId bias, const std::string& name) {
        add_whole(weight, name + ".weight", InitialKind::norm_weight, 1, model_.hidden);
        if (model_.norm == NormKind::layer_norm) add_whole(bias, name + ".bias", InitialKind::bias, 1, model_.hidden);
    }

    /// Queries are divided; keys and values too, or copied where there are fewer KV heads than ranks.
    void shape_qkv(ParameterTensor& tensor) const {
        const int tp = job_.plan.tp;
        const std::int64_t query = model_.query_width() / tp;
        const std::int64_t kv = std::max(model_.kv_heads / tp, 1) * model_.head_dim;
        const int copies = std::max(tp / model_.kv_heads, 1);
        const std::int64_t first_kv = tp_ / copies * kv;
        const std::int64_t keys = model_.query_width();
        const std::int64_t values = keys + model_.kv_width();
        tensor.slices = {{0, tp_ * query, query}, {query, keys + first_kv, kv}, {query + kv, values + first_kv, kv}};
        tensor.global_rows = model_.query_width() + 2 * model_.kv_width();
        tensor.whole = tp == 1;
        tensor.copies = copies;
        tensor.copied_rows = copies > 1 ? 2 * kv : 0;
    }

    void add_qkv(const std::string& layer) {
        const int tp = job_.plan.tp;
        const std::int64_t rows =
            model_.query_width() / tp + std::int64_t{2} * std::max(model_.kv_heads / tp, 1) * model_.head_dim;
        shape_qkv(add(ParameterId::qkv_weight, layer + "qkv.weight", InitialKind::matrix, rows, model_.hidden));
        if (!model_.qkv_bias) return;
        // A bias is a column while its slices are laid out, so that both share the code.
        shape_qkv(add(ParameterId::qkv_bias, layer + "qkv.bias", InitialKind::bias, rows, 1));
    }

    void add_layer(const std::string& layer) {
        const std::int64_t ffn = model_.ffn_hidden / job_.plan.tp;
        const int parts = model_.gated_mlp ? 2 : 1;
        add_norm(ParameterId::norm1_weight, ParameterId::norm1_bias, layer + "norm1");
        add_qkv(layer);
        add_columns(ParameterId::projection_weight, layer + "projection.weight", model_.hidden,
                    model_.query_width() / job_.plan.tp);
        if (model_.linear_bias) {
            add_whole(ParameterId::projection_bias, layer + "projection.bias", InitialKind::bias, 1, model_.hidden);
        }
        add_norm(ParameterId::norm2_weight, ParameterId::norm2_bias, layer + "norm2");
        add_rows(ParameterId::fc1_weight, layer + "fc1.weight", InitialKind::matrix, parts * ffn, model_.hidden, parts);
        if (model_.linear_bias) {
            add_rows(ParameterId::fc1_bias, layer + "fc1.bias", InitialKind::bias, parts * ffn, 1, parts);
        }
        add_columns(ParameterId::fc2_weight, layer + "fc2.weight", model_.hidden, ffn);
        if (model_.linear_bias) {
            add_whole(ParameterId::fc2_bias, layer + "fc2.bias", InitialKind::bias, 1, model_.hidden);
        }
    }

    /// Of a share the rows alone, and on its first stage the rest.
    void add_embedding(const OpBlock& block) {
        const std::int64_t hidden = model_.hidden;
        if (has_op(block, "embedding")) {
            add_vocabulary(ParameterId::embedding, "embedding.weight", InitialKind::matrix, hidden);
            if (shared_) return;
        }
        if (model_.positions == PositionKind::learned) {
            add_whole(ParameterId::positions, "positions.weight", InitialKind::matrix, model_.max_positions, hidden);
        }
        if (model_.token_types > 0) {
            add_whole(ParameterId::token_types, "token_types.weight", InitialKind::matrix, model_.token_types, hidden);
        }
        if (model_.embedding_norm) {
            add_norm(ParameterId::embedding_norm_weight, ParameterId::embedding_norm_bias, "embedding_norm");
        }
    }

    void add_head(const OpBlock& block) {
        const std::int64_t hidden = model_.hidden;
        add_norm(ParameterId::head_norm_weight, ParameterId::head_norm_bias, "norm");
        if (model_.token_types > 0) {
            add_whole(ParameterId::pooler_weight, "pooler.weight", InitialKind::matrix, hidden, hidden);
            add_whole(ParameterId::pooler_bias, "pooler.bias", InitialKind::bias, 1, hidden);
            add_whole(ParameterId::transform_weight, "transform.weight", InitialKind::matrix, hidden, hidden);
            add_whole(ParameterId::transform_bias, "transform.bias", InitialKind::bias, 1, hidden);
        }
        std::int64_t known = model_.token_types > 0 ? vocabulary_rows(job_) : 0;
        for (const ParameterTensor& tensor : tensors_) known += tensor.size();
        // Without a matrix of its own it uses the embedding's, which is on the same rank.
        add_output(block.parameters > known);
        if (model_.token_types > 0) add_vocabulary(ParameterId::output_bias, "output.bias", InitialKind::bias, 1);
    }

    const Job& job_;
    const ModelSpec& model_;
    int tp_;
    bool shared_;
    std::int64_t vocabulary_part_;
    std::vector<ParameterTensor> tensors_;
};

/// Ready order: the last unit first, and the last tensor of a unit first.
void place(StageParameters& stage, std::vector<ParameterTensor> unit, int index, int group) {
    std::int64_t& used = stage.group_sizes[static_cast<std::size_t>(group)];
    for (std::size_t i = unit.size(); i-- > 0;) {
        ParameterTensor& tensor = unit[i];
        tensor.unit = index;
        tensor.group = group;
        tensor.offset = used;
        used += tensor.size();
        stage.tensors.push_back(std::move(tensor));
    }
}

}  // namespace

std::int64_t ParameterTensor::global_index(std::int64_t element) const {
    const std::int64_t row = element / columns;
    for (const RowSlice& slice : slices) {
        if (row >= slice.first + slice.rows) continue;
        return (slice.global_first + row - slice.first) * global_columns + first_column + element % columns;
    }
    assert(false);
    return -1;
}

int StageParameters::find(int unit, ParameterId id) const {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        if (tensors[i].unit == unit && tensors[i].id == id) return static_cast<int>(i);
    }
    return -1;
}

StageParameters stage_parameters(const Job& job, const StageOps& stage, int tp, int pp) {
    const std::vector<Unit> units = stage_units(stage);
    ShardGroups groups{{{}}, std::vector<std::int32_t>(units.size(), 0)};
    if (shards_parameters(job.plan) && job.plan.dp > 1) groups = shard_groups(job, stage);
    StageParameters all;
    all.group_sizes.assign(groups.groups.size(), 0);
    for (std::size_t u = units.size(); u-- > 0;) {
        const OpBlock& block = stage.blocks[static_cast<std::size_t>(units[u].block)];
        std::vector<ParameterTensor> unit = UnitTensors(job, tp, pp).of(block, block.first_layer + units[u].repeat);
        std::int64_t size = 0;
        for (const ParameterTensor& tensor : unit) size += tensor.size();
        if (size != block.parameters) {
            throw std::logic_error(
                fmt::format("a block of {} parameters, but its tensors have {}", block.parameters, size));
        }
        place(all, std::move(unit), static_cast<int>(u), groups.of_unit[u]);
    }
    return all;
}

double initial_value(const ModelSpec& model, const ParameterTensor& tensor, std::uint64_t seed, std::int64_t index) {
    const double unit = random_unit(random_key(seed, tensor.name), static_cast<std::uint64_t>(index));
    // Half width of the uniform distribution whose deviation is 0.5 / sqrt(hidden).
    const double width = 0.5 * std::sqrt(3.0 / static_cast<double>(model.hidden));
    switch (tensor.initial) {
        case InitialKind::matrix:
            return width * unit;
        case InitialKind::residual_matrix:
            return width / std::sqrt(2.0 * model.num_layers) * unit;
        case InitialKind::norm_weight:
            return 1.0 + 0.1 * unit;
        case InitialKind::bias:
            return 0.02 * unit;
    }
    return 0.0;
}

}  // namespace foreshard::runtime
