#include "runtime/data.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/random.hpp"
#include "sim/error.hpp"
#include "sim/spec/text_file.hpp"

namespace foreshard::runtime {

namespace {

/// What an encoder reads in place of a token that it shall find; the byte does not occur in text.
constexpr std::int32_t mask_token = 0;

bool is_encoder(const Job& job) {
    return job.model.mask == AttentionMask::bidirectional;
}

/// The tokens of a sequence and the one that follows.
std::vector<std::int32_t> sequence_tokens(const Job& job, const DataSource& source, std::int64_t sequence) {
    const auto count = static_cast<std::size_t>(job.seq_length) + 1;
    std::vector<std::int32_t> tokens(count);
    const std::uint64_t key = random_key(source.seed, "sequence");
    if (!source.text.empty()) {
        const std::uint64_t start =
            random_bits(key, static_cast<std::uint64_t>(sequence)) % (source.text.size() - count);
        for (std::size_t i = 0; i < count; ++i) {
            tokens[i] = static_cast<unsigned char>(source.text[static_cast<std::size_t>(start) + i]);
        }
        return tokens;
    }
    // Half of the tokens follow from the one before, so that there is something to learn.
    const auto vocabulary = static_cast<std::uint64_t>(job.model.vocab_size);
    const std::uint64_t own = random_bits(key, static_cast<std::uint64_t>(sequence));
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t bits = random_bits(own, i);
        const bool follows = i > 0 && (bits >> 63) == 1;
        const std::uint64_t drawn = follows ? static_cast<std::uint64_t>(tokens[i - 1]) * 31 + 7 : bits;
        tokens[i] = static_cast<std::int32_t>(drawn % vocabulary);
    }
    return tokens;
}

/// Positions that an encoder does not see: the ones with the smallest random numbers.
std::vector<std::size_t> hidden_positions(const Job& job, const DataSource& source, std::int64_t sequence) {
    const std::uint64_t key = random_bits(random_key(source.seed, "mask"), static_cast<std::uint64_t>(sequence));
    std::vector<std::size_t> order(static_cast<std::size_t>(job.seq_length));
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return std::pair(random_bits(key, a), a) < std::pair(random_bits(key, b), b);
    });
    order.resize(static_cast<std::size_t>(learnt_tokens(job)));
    return order;
}

void append_sequence(const Job& job, const DataSource& source, std::int64_t sequence, MicroBatch& batch) {
    const std::vector<std::int32_t> tokens = sequence_tokens(job, source, sequence);
    const std::size_t first = batch.tokens.size();
    for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
        batch.tokens.push_back(tokens[i]);
        batch.positions.push_back(static_cast<std::int32_t>(i));
        batch.token_types.push_back(2 * i < tokens.size() - 1 ? 0 : 1);
        batch.targets.push_back(is_encoder(job) ? -1 : tokens[i + 1]);
    }
    if (!is_encoder(job)) return;
    for (const std::size_t i : hidden_positions(job, source, sequence)) {
        batch.targets[first + i] = tokens[i];
        batch.tokens[first + i] = mask_token;
    }
}

}  // namespace

DataSource text_source(const std::string& path, const Job& job, std::uint64_t seed) {
    DataSource source{seed, read_text_file(path)};
    const std::int64_t least = job.seq_length + 2;
    if (static_cast<std::int64_t>(source.text.size()) < least) {
        throw InputError(path, "",
                         fmt::format("{} bytes of text; a sequence of {} tokens needs {} at least", source.text.size(),
                                     job.seq_length, least));
    }
    if (job.model.vocab_size < 256) {
        throw InputError(
            path, "",
            fmt::format("bytes of a text need a vocabulary of 256, but vocab_size is {}", job.model.vocab_size));
    }
    return source;
}

MicroBatch make_microbatch(const Job& job, const DataSource& source, std::int64_t first_sequence) {
    MicroBatch batch;
    for (std::int64_t i = 0; i < job.micro_batch; ++i) append_sequence(job, source, first_sequence + i, batch);
    return batch;
}

std::int64_t first_sequence(const Job& job, int step, int dp, int microbatch) {
    const std::int64_t per_replica = microbatch_count(job) * job.micro_batch;
    return step * job.global_batch + dp * per_replica + microbatch * job.micro_batch;
}

std::int64_t learnt_tokens(const Job& job) {
    if (!is_encoder(job)) return job.seq_length;
    return std::max<std::int64_t>(job.seq_length * 15 / 100, 1);
}

}  // namespace foreshard::runtime
