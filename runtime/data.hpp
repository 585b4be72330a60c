#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/spec/job.hpp"

/// What a model is trained on. Sequences are numbered over all steps and replicas, so every layout sees the same.
namespace foreshard::runtime {

/// Synthetic tokens from a seed, or the bytes of a text.
struct DataSource {
    std::uint64_t seed = 1;
    std::string text;  ///< empty: synthetic
};

/// @throws UnreadableFile, or InputError when it is too short for one sequence
DataSource text_source(const std::string& path, const Job& job, std::uint64_t seed);

/// One micro-batch of whole sequences, one after another.
struct MicroBatch {
    std::vector<std::int32_t> tokens;
    std::vector<std::int32_t> positions;    ///< inside the sequence
    std::vector<std::int32_t> token_types;  ///< encoders: 0 in the first half of a sequence, 1 in the second
    std::vector<std::int32_t> targets;      ///< next token, or the hidden token of an encoder; below 0: not learnt
};

/// @param first_sequence global number of its first sequence
MicroBatch make_microbatch(const Job& job, const DataSource& source, std::int64_t first_sequence);

/// Global number of the first sequence of a replica's micro-batch.
std::int64_t first_sequence(const Job& job, int step, int dp, int microbatch);

/// Learnt tokens of one sequence: all of a decoder's; of an encoder a fixed 15 % (at least one), drawn per sequence.
std::int64_t learnt_tokens(const Job& job);

}  // namespace foreshard::runtime
