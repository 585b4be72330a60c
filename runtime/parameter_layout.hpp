#pragma once

#include <string>
#include <vector>

#include "sim/plan/rank_grid.hpp"
#include "sim/plan/task_graph.hpp"

/// Which parameters a rank holds of a stage, where they lie in memory, and which part of the whole model they are.
namespace foreshard::runtime {

enum class ParameterId : std::uint8_t {
    embedding,
    positions,
    token_types,
    embedding_norm_weight,
    embedding_norm_bias,
    norm1_weight,
    norm1_bias,
    qkv_weight,
    qkv_bias,
    projection_weight,
    projection_bias,
    norm2_weight,
    norm2_bias,
    fc1_weight,
    fc1_bias,
    fc2_weight,
    fc2_bias,
    head_norm_weight,
    head_norm_bias,
    pooler_weight,  ///< counted with an encoder; without a sentence loss it gets no gradient
    pooler_bias,
    transform_weight,
    transform_bias,
    output_weight,
    output_bias,
};

/// What it is drawn as: a matrix by the width that it reads, matrices that write into the residual stream smaller.
enum class InitialKind : std::uint8_t { matrix, residual_matrix, norm_weight, bias };

/// Rows of the local tensor that are neighbours in the whole one too.
struct RowSlice {
    std::int64_t first = 0;
    std::int64_t global_first = 0;
    std::int64_t rows = 0;
};

/// A tensor of the rank. Matrices are (outputs, inputs); the whole qkv is queries, keys, values, and the whole fc1 of a
/// gated MLP is gate, up.
struct ParameterTensor {
    ParameterId id = ParameterId::embedding;
    std::string name;  ///< the same in every layout: "layers.3.qkv.weight"
    InitialKind initial = InitialKind::matrix;
    std::int64_t rows = 1;
    std::int64_t columns = 1;
    std::int64_t global_rows = 1;
    std::int64_t global_columns = 1;
    std::int64_t first_column = 0;  ///< in the whole tensor
    std::vector<RowSlice> slices;
    bool whole = false;            ///< every tensor parallel rank holds all of it
    std::int64_t copied_rows = 0;  ///< last rows, which `copies` neighbouring tensor parallel ranks hold alike
    int copies = 1;
    int unit = 0;             ///< of the stage (see stage_units)
    int group = 0;            ///< of shard_groups where parameters are sharded, else 0
    std::int64_t offset = 0;  ///< elements in front of it in its group

    std::int64_t size() const { return rows * columns; }
    std::int64_t global_size() const { return global_rows * global_columns; }
    /// Index in the whole tensor of a local element, from global_size() on in rows that pad a vocabulary. Precondition:
    /// 0 <= element < size().
    std::int64_t global_index(std::int64_t element) const;
};

struct StageParameters {
    std::vector<ParameterTensor> tensors;  ///< gradients in the order in which they get ready
    std::vector<std::int64_t> group_sizes;

    /// -1 where the unit has no such tensor.
    int find(int unit, ParameterId id) const;
};

/// Their sizes add up to those of the stage's blocks.
/// @param tp index of the tensor parallel rank
/// @param pp of the pipeline rank, which decides what is held of a shared vocabulary
StageParameters stage_parameters(const Job& job, const StageOps& stage, int tp, int pp);

/// The value before training of an element of a whole tensor; depends on nothing but these.
double initial_value(const ModelSpec& model, const ParameterTensor& tensor, std::uint64_t seed, std::int64_t index);

}  // namespace foreshard::runtime
