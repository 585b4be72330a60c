#pragma once

#include <cmath>
#include <limits>

#include "runtime/cuda/bodies/heads.hpp"

/// Attention in tiles, without the score matrix (Dao et al., arXiv 2205.14135 and 2307.08691): plain kernels, a block
/// of threads per tile, all tiles in shared memory. Deterministic: no two blocks add to one place.
namespace foreshard::runtime::cuda {

/// Queries and keys of a tile.
inline constexpr int flash_tile = 16;

/// Softmax of a row whose scores come tile by tile.
template <class C>
struct OnlineSoftmax {
    C maximum = std::numeric_limits<C>::lowest();
    C sum = 0;

    /// Scores with this maximum come. @returns what all that was added up before is to be multiplied by
    FORESHARD_KERNEL C raise(C tile_maximum) {
        if (!(maximum < tile_maximum)) return C(1);
        const C factor = std::exp(maximum - tile_maximum);
        maximum = tile_maximum;
        sum *= factor;
        return factor;
    }
    FORESHARD_KERNEL C weight(C score) const { return std::exp(score - maximum); }
    FORESHARD_KERNEL C log_sum() const { return maximum + std::log(sum); }
};

/// Rows [first, first + flash_tile) of a matrix to shared memory; zeros behind `limit`.
template <class A, class C, class Sync>
FORESHARD_KERNEL void load_tile(const Block<Sync>& block, const A* from, std::int64_t stride, std::int64_t first,
                                std::int64_t limit, std::int64_t dim, C* to) {
    for (std::int64_t e = block.thread; e < flash_tile * dim; e += block.threads) {
        const std::int64_t row = first + e / dim;
        to[e] = row < limit ? static_cast<C>(from[row * stride + e % dim]) : C(0);
    }
}

template <class A, class C, class Sync>
FORESHARD_KERNEL void store_tile(const Block<Sync>& block, const C* from, std::int64_t stride, std::int64_t first,
                                 std::int64_t limit, std::int64_t dim, A* to) {
    for (std::int64_t e = block.thread; e < flash_tile * dim; e += block.threads) {
        const std::int64_t row = first + e / dim;
        if (row < limit) to[row * stride + e % dim] = static_cast<A>(from[e]);
    }
}

template <class C>
FORESHARD_KERNEL C dot(const C* a, const C* b, std::int64_t dim) {
    C sum = 0;
    for (std::int64_t j = 0; j < dim; ++j) sum += a[j] * b[j];
    return sum;
}

/// What a block of threads works on: rows from `first` on, of a head (or KV head) of a sequence.
struct FlashTile {
    std::int64_t first;
    std::int64_t head;
    std::int64_t sequence;
};

/// What every flash kernel reads. log_sum is (sequences heads seq, 1): log of the sum of exp(scaled score).
template <class A, class C>
struct FlashInput {
    Heads heads;
    C scale;  ///< of scores
    const A* qkv;

    constexpr std::int64_t tiles() const { return parts(heads.seq, flash_tile); }
    /// Of the block with this index, where a sequence has so many heads.
    FORESHARD_KERNEL FlashTile tile(std::int64_t index, std::int64_t per_sequence) const {
        return {index % tiles() * flash_tile, index / tiles() % per_sequence, index / tiles() / per_sequence};
    }
    template <class Sync>
    FORESHARD_KERNEL void load_query(const Block<Sync>& block, std::int64_t sequence, std::int64_t head,
                                     std::int64_t first, C* to) const {
        load_tile(block, qkv + heads.query(sequence, head), heads.width(), first, heads.seq, heads.dim, to);
    }
    template <class Sync>
    FORESHARD_KERNEL void load_key_value(const Block<Sync>& block, std::int64_t sequence, std::int64_t kv,
                                         std::int64_t first, C* key, C* value) const {
        load_tile(block, qkv + heads.key(sequence, kv), heads.width(), first, heads.seq, heads.dim, key);
        load_tile(block, qkv + heads.value(sequence, kv), heads.width(), first, heads.seq, heads.dim, value);
    }
};

/// A block per query tile of a head.
template <class A, class C>
struct FlashForward {
    FlashInput<A, C> in;
    A* context;
    C* log_sum;

    constexpr std::int64_t blocks() const { return in.heads.sequences * in.heads.heads * in.tiles(); }
    constexpr std::size_t shared_bytes() const {
        return sizeof(C) *
                   static_cast<std::size_t>(4 * flash_tile * in.heads.dim + flash_tile * flash_tile + flash_tile) +
               sizeof(OnlineSoftmax<C>) * flash_tile;
    }
    template <class Sync>
    FORESHARD_KERNEL void operator()(const Block<Sync>& block, std::byte* memory) const {
        const Heads& heads = in.heads;
        const std::int64_t size = flash_tile * heads.dim;
        C* query = reinterpret_cast<C*>(memory);
        C* key = query + size;
        C* value = key + size;
        C* output = value + size;
        C* scores = output + size;
        C* factors = scores + flash_tile * flash_tile;
        auto* rows = reinterpret_cast<OnlineSoftmax<C>*>(factors + flash_tile);
        const auto [first, head, sequence] = in.tile(block.index, heads.heads);
        in.load_query(block, sequence, head, first, query);
        for (std::int64_t e = block.thread; e < size; e += block.threads) output[e] = 0;
        for (int i = block.thread; i < flash_tile; i += block.threads) rows[i] = {};
        const std::int64_t end = heads.keys_end(first + flash_tile);
        for (std::int64_t at = 0; at < end; at += flash_tile) {
            in.load_key_value(block, sequence, heads.kv_head(head), at, key, value);
            block.sync();
            score_tile(block, query, key, first, at, scores);
            block.sync();
            for (int i = block.thread; i < flash_tile; i += block.threads) {
                factors[i] = take_scores(rows[i], scores + i * flash_tile);
            }
            block.sync();
            for (std::int64_t e = block.thread; e < size; e += block.threads) {
                const std::int64_t i = e / heads.dim;
                C sum = output[e] * factors[i];
                for (int j = 0; j < flash_tile; ++j) {
                    sum += scores[i * flash_tile + j] * value[j * heads.dim + e % heads.dim];
                }
                output[e] = sum;
            }
            block.sync();
        }
        for (std::int64_t e = block.thread; e < size; e += block.threads) output[e] /= rows[e / heads.dim].sum;
        for (int i = block.thread; i < flash_tile && first + i < heads.seq; i += block.threads) {
            log_sum[heads.score_row(sequence, head) + first + i] = rows[i].log_sum();
        }
        // Threads store what they divided.
        store_tile(block, output, heads.context_width(), first, heads.seq, heads.dim,
                   context + heads.context(sequence, head));
    }

private:
    /// Hidden scores are the lowest number.
    template <class Sync>
    FORESHARD_KERNEL void score_tile(const Block<Sync>& block, const C* query, const C* key, std::int64_t first,
                                     std::int64_t at, C* scores) const {
        for (int e = block.thread; e < flash_tile * flash_tile; e += block.threads) {
            const int i = e / flash_tile;
            const int j = e % flash_tile;
            const bool seen = in.heads.sees(first + i, at + j);
            scores[e] = seen ? in.scale * dot(query + i * in.heads.dim, key + j * in.heads.dim, in.heads.dim)
                             : std::numeric_limits<C>::lowest();
        }
    }

    /// Scores of a row become weights.
    FORESHARD_KERNEL C take_scores(OnlineSoftmax<C>& row, C* scores) const {
        C most = scores[0];
        for (int j = 1; j < flash_tile; ++j) most = Larger()(most, scores[j]);
        const C factor = row.raise(most);
        for (int j = 0; j < flash_tile; ++j) {
            scores[j] = scores[j] > std::numeric_limits<C>::lowest() ? row.weight(scores[j]) : C(0);
            row.sum += scores[j];
        }
        return factor;
    }
};

/// What both backward kernels read, and the gradient of the scores of one tile.
template <class A, class C>
struct FlashGradInput {
    FlashInput<A, C> in;
    const A* context;
    const C* log_sum;
    const A* dcontext;

    /// Probabilities and the gradient of the scaled scores; `along` is the sum of dcontext x context per query.
    template <class Sync>
    FORESHARD_KERNEL void score_grads(const Block<Sync>& block, std::int64_t score_row, std::int64_t first,
                                      std::int64_t at, const C* query, const C* key, const C* value, const C* gradient,
                                      const C* along, C* probabilities, C* dscores) const {
        const std::int64_t dim = in.heads.dim;
        for (int e = block.thread; e < flash_tile * flash_tile; e += block.threads) {
            const int i = e / flash_tile;
            const int j = e % flash_tile;
            C p = 0;
            C d = 0;
            if (in.heads.sees(first + i, at + j)) {
                const C score = in.scale * dot(query + i * dim, key + j * dim, dim);
                p = std::exp(score - log_sum[score_row + first + i]);
                d = p * (dot(gradient + i * dim, value + j * dim, dim) - along[i]);
            }
            probabilities[e] = p;
            dscores[e] = d;
        }
    }

    template <class Sync>
    FORESHARD_KERNEL void load_gradient(const Block<Sync>& block, std::int64_t sequence, std::int64_t head,
                                        std::int64_t first, C* gradient) const {
        load_tile(block, dcontext + in.heads.context(sequence, head), in.heads.context_width(), first, in.heads.seq,
                  in.heads.dim, gradient);
    }

    /// Precondition: the tile of dcontext is there.
    template <class Sync>
    FORESHARD_KERNEL void load_along(const Block<Sync>& block, std::int64_t sequence, std::int64_t head,
                                     std::int64_t first, const C* gradient, C* along) const {
        const Heads& heads = in.heads;
        for (int i = block.thread; i < flash_tile; i += block.threads) {
            C sum = 0;
            const A* row = context + heads.context(sequence, head) + (first + i) * heads.context_width();
            for (std::int64_t c = 0; c < heads.dim && first + i < heads.seq; ++c) {
                sum += gradient[i * heads.dim + c] * static_cast<C>(row[c]);
            }
            along[i] = sum;
        }
    }
};

/// A block per query tile of a head: query columns of dqkv.
template <class A, class C>
struct FlashQueryGrad {
    FlashGradInput<A, C> grad;
    A* dqkv;

    constexpr std::int64_t blocks() const { return grad.in.heads.sequences * grad.in.heads.heads * grad.in.tiles(); }
    constexpr std::size_t shared_bytes() const {
        return sizeof(C) *
               static_cast<std::size_t>(5 * flash_tile * grad.in.heads.dim + 2 * flash_tile * flash_tile + flash_tile);
    }
    template <class Sync>
    FORESHARD_KERNEL void operator()(const Block<Sync>& block, std::byte* memory) const {
        const FlashInput<A, C>& in = grad.in;
        const Heads& heads = in.heads;
        const std::int64_t size = flash_tile * heads.dim;
        C* query = reinterpret_cast<C*>(memory);
        C* gradient = query + size;
        C* key = gradient + size;
        C* value = key + size;
        C* dquery = value + size;
        C* probabilities = dquery + size;
        C* dscores = probabilities + flash_tile * flash_tile;
        C* along = dscores + flash_tile * flash_tile;
        const auto [first, head, sequence] = in.tile(block.index, heads.heads);
        in.load_query(block, sequence, head, first, query);
        grad.load_gradient(block, sequence, head, first, gradient);
        for (std::int64_t e = block.thread; e < size; e += block.threads) dquery[e] = 0;
        block.sync();
        grad.load_along(block, sequence, head, first, gradient, along);
        const std::int64_t end = heads.keys_end(first + flash_tile);
        for (std::int64_t at = 0; at < end; at += flash_tile) {
            in.load_key_value(block, sequence, heads.kv_head(head), at, key, value);
            block.sync();
            grad.score_grads(block, heads.score_row(sequence, head), first, at, query, key, value, gradient, along,
                             probabilities, dscores);
            block.sync();
            for (std::int64_t e = block.thread; e < size; e += block.threads) {
                C sum = 0;
                for (int j = 0; j < flash_tile; ++j) {
                    sum += dscores[e / heads.dim * flash_tile + j] * key[j * heads.dim + e % heads.dim];
                }
                dquery[e] += in.scale * sum;
            }
            block.sync();
        }
        store_tile(block, dquery, heads.width(), first, heads.seq, heads.dim, dqkv + heads.query(sequence, head));
    }
};

/// A block per key tile of a KV head: key and value columns of dqkv, over all query heads that share it.
template <class A, class C>
struct FlashKeyValueGrad {
    FlashGradInput<A, C> grad;
    A* dqkv;

    constexpr std::int64_t blocks() const { return grad.in.heads.sequences * grad.in.heads.kv_heads * grad.in.tiles(); }
    constexpr std::size_t shared_bytes() const {
        return sizeof(C) *
               static_cast<std::size_t>(6 * flash_tile * grad.in.heads.dim + 2 * flash_tile * flash_tile + flash_tile);
    }
    template <class Sync>
    FORESHARD_KERNEL void operator()(const Block<Sync>& block, std::byte* memory) const {
        const FlashInput<A, C>& in = grad.in;
        const Heads& heads = in.heads;
        const std::int64_t size = flash_tile * heads.dim;
        C* key = reinterpret_cast<C*>(memory);
        C* value = key + size;
        C* dkey = value + size;
        C* dvalue = dkey + size;
        C* query = dvalue + size;
        C* gradient = query + size;
        C* probabilities = gradient + size;
        C* dscores = probabilities + flash_tile * flash_tile;
        C* along = dscores + flash_tile * flash_tile;
        const auto [at, kv, sequence] = in.tile(block.index, heads.kv_heads);
        in.load_key_value(block, sequence, kv, at, key, value);
        for (std::int64_t e = block.thread; e < size; e += block.threads) dkey[e] = dvalue[e] = 0;
        for (std::int64_t head = kv * heads.group(); head < (kv + 1) * heads.group(); ++head) {
            for (std::int64_t first = heads.first_query(at); first < heads.seq; first += flash_tile) {
                in.load_query(block, sequence, head, first, query);
                grad.load_gradient(block, sequence, head, first, gradient);
                block.sync();
                grad.load_along(block, sequence, head, first, gradient, along);
                block.sync();
                grad.score_grads(block, heads.score_row(sequence, head), first, at, query, key, value, gradient, along,
                                 probabilities, dscores);
                block.sync();
                add_tile(block, query, gradient, probabilities, dscores, dkey, dvalue);
                block.sync();
            }
        }
        store_tile(block, dkey, heads.width(), at, heads.seq, heads.dim, dqkv + heads.key(sequence, kv));
        store_tile(block, dvalue, heads.width(), at, heads.seq, heads.dim, dqkv + heads.value(sequence, kv));
    }

private:
    template <class Sync>
    FORESHARD_KERNEL void add_tile(const Block<Sync>& block, const C* query, const C* gradient, const C* probabilities,
                                   const C* dscores, C* dkey, C* dvalue) const {
        const std::int64_t dim = grad.in.heads.dim;
        for (std::int64_t e = block.thread; e < flash_tile * dim; e += block.threads) {
            const std::int64_t j = e / dim;
            C key_sum = 0;
            C value_sum = 0;
            for (int i = 0; i < flash_tile; ++i) {
                key_sum += dscores[i * flash_tile + j] * query[i * dim + e % dim];
                value_sum += probabilities[i * flash_tile + j] * gradient[i * dim + e % dim];
            }
            dkey[e] += grad.in.scale * key_sum;
            dvalue[e] += value_sum;
        }
    }
};

}  // namespace foreshard::runtime::cuda
