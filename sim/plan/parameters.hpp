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

/// Vocabulary shard, positions (not divided by tp), token types, embedding norm.
std::int64_t rank_embedding_parameters(const Job& job);

/// Final norm, output matrix (a copy when tied and pp > 1, none when tied and pp = 1), encoder head.
std::int64_t rank_head_parameters(const Job& job);

/// Whether the first and the last stage are on one rank, which then holds a tied embedding once.
bool ends_share_rank(const Job& job);

/// True when the first and the last pipeline rank hold the same matrix and add up their gradients.
bool ties_embedding_across_ranks(const Job& job);

}  // namespace foreshard
