#pragma once

#include <cstdint>

#include "sim/spec/job.hpp"

/// Exact parameter counts of one rank under tensor and expert parallelism.
namespace foreshard {

struct RankParameters {
    std::int64_t dense = 0;   ///< replicated over dp x cp
    std::int64_t expert = 0;  ///< replicated over expert data parallelism, gpus / (etp ep pp)
};

RankParameters rank_layer_parameters(const Job& job, bool moe);

/// Rows of the embedding (and output) matrix of one rank that holds some.
std::int64_t vocabulary_rows(const Job& job);

/// What the first stage holds in front of its layers: vocabulary shard (unless all ranks share it), positions (not
/// divided by tp), token types, embedding norm.
std::int64_t rank_embedding_parameters(const Job& job);

/// What the last stage holds behind its layers: final norm, output matrix (a copy when tied and pp > 1, none when tied
/// and pp = 1, none when all ranks share it), encoder head.
std::int64_t rank_head_parameters(const Job& job);

/// A rank's rows of embedding and output matrix where all pipeline ranks share them; one matrix when tied.
std::int64_t rank_share_parameters(const Job& job);

/// Whether the first and the last stage are on one rank, which then holds a tied embedding once.
bool ends_share_rank(const Job& job);

/// True when the first and the last pipeline rank hold the same matrix and add up their gradients.
bool ties_embedding_across_ranks(const Job& job);

}  // namespace foreshard
