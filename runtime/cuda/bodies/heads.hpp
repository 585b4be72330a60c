#pragma once

#include <cmath>

#include "runtime/cuda/bodies/block.hpp"

/// Where heads lie in packed matrices, rotation, and the softmax of a whole score matrix.
namespace foreshard::runtime::cuda {

/// AttentionShape for kernels (device.hpp): rows are tokens of whole sequences; queries, then keys, then values.
struct Heads {
    std::int64_t sequences;
    std::int64_t seq;
    std::int64_t heads;
    std::int64_t kv_heads;
    std::int64_t dim;
    bool causal;

    constexpr std::int64_t width() const { return (heads + 2 * kv_heads) * dim; }
    constexpr std::int64_t context_width() const { return heads * dim; }
    constexpr std::int64_t kv_head(std::int64_t head) const { return head * kv_heads / heads; }
    /// Query heads that share a KV head.
    constexpr std::int64_t group() const { return heads / kv_heads; }
    /// First element of a sequence's column block; the row stride is width(), of contexts context_width().
    constexpr std::int64_t query(std::int64_t sequence, std::int64_t head) const {
        return sequence * seq * width() + head * dim;
    }
    constexpr std::int64_t key(std::int64_t sequence, std::int64_t kv) const {
        return sequence * seq * width() + (heads + kv) * dim;
    }
    constexpr std::int64_t value(std::int64_t sequence, std::int64_t kv) const {
        return sequence * seq * width() + (heads + kv_heads + kv) * dim;
    }
    constexpr std::int64_t context(std::int64_t sequence, std::int64_t head) const {
        return sequence * seq * context_width() + head * dim;
    }
    /// First row of a head's scores in (sequences heads seq, seq).
    constexpr std::int64_t score_row(std::int64_t sequence, std::int64_t head) const {
        return (sequence * heads + head) * seq;
    }
    /// Keys that queries before `end` see: all before this.
    constexpr std::int64_t keys_end(std::int64_t end) const { return causal && end < seq ? end : seq; }
    /// The first query that sees a key.
    constexpr std::int64_t first_query(std::int64_t key_position) const { return causal ? key_position : 0; }
    constexpr bool sees(std::int64_t query_position, std::int64_t key_position) const {
        return query_position < seq && key_position < seq && (!causal || key_position <= query_position);
    }
};

/// A pair (i, i + dim / 2) of a query or key head, in place. Angles are in fp64 whatever the type.
template <class A, class C>
struct Rotate {
    A* qkv;
    Heads heads;
    bool back;
    constexpr std::int64_t count() const {
        return heads.sequences * heads.seq * (heads.heads + heads.kv_heads) * (heads.dim / 2);
    }
    FORESHARD_KERNEL void operator()(std::int64_t i) const {
        const std::int64_t half = heads.dim / 2;
        const std::int64_t pair = i % half;
        const std::int64_t head = i / half % (heads.heads + heads.kv_heads);
        const std::int64_t token = i / half / (heads.heads + heads.kv_heads);
        const double frequency = std::pow(10000.0, -static_cast<double>(pair) / static_cast<double>(half));
        const double angle = static_cast<double>(token % heads.seq) * (back ? -frequency : frequency);
        const C c = static_cast<C>(std::cos(angle));
        const C s = static_cast<C>(std::sin(angle));
        A* first = qkv + token * heads.width() + head * heads.dim + pair;
        const C a = static_cast<C>(first[0]);
        const C b = static_cast<C>(first[half]);
        first[0] = static_cast<A>(a * c - b * s);
        first[half] = static_cast<A>(a * s + b * c);
    }
};

/// A block per row of scores, in place.
template <class A, class C>
struct ScoreSoftmax {
    A* scores;
    Heads heads;
    template <class Sync>
    FORESHARD_KERNEL void operator()(const Block<Sync>& block, std::byte* memory) const {
        C* shared = reinterpret_cast<C*>(memory);
        A* row = scores + block.index * heads.seq;
        const std::int64_t seen = heads.keys_end(block.index % heads.seq + 1);
        C most = static_cast<C>(row[0]);
        for (std::int64_t j = block.thread; j < seen; j += block.threads) {
            most = Larger()(most, static_cast<C>(row[j]));
        }
        most = reduce(block, most, shared, Larger());
        C sum = 0;
        for (std::int64_t j = block.thread; j < seen; j += block.threads) {
            sum += std::exp(static_cast<C>(row[j]) - most);
        }
        sum = reduce(block, sum, shared, Plus());
        for (std::int64_t j = block.thread; j < heads.seq; j += block.threads) {
            row[j] = static_cast<A>(j < seen ? std::exp(static_cast<C>(row[j]) - most) / sum : C(0));
        }
    }
};

/// In place of the gradient of the probabilities.
template <class A, class C>
struct ScoreSoftmaxGrad {
    const A* probabilities;
    A* gradient;
    std::int64_t columns;
    template <class Sync>
    FORESHARD_KERNEL void operator()(const Block<Sync>& block, std::byte* memory) const {
        const A* p = probabilities + block.index * columns;
        A* d = gradient + block.index * columns;
        C along = 0;
        for (std::int64_t j = block.thread; j < columns; j += block.threads) {
            along += static_cast<C>(p[j]) * static_cast<C>(d[j]);
        }
        along = reduce(block, along, reinterpret_cast<C*>(memory), Plus());
        for (std::int64_t j = block.thread; j < columns; j += block.threads) {
            d[j] = static_cast<A>(static_cast<C>(p[j]) * (static_cast<C>(d[j]) - along));
        }
    }
};

}  // namespace foreshard::runtime::cuda
