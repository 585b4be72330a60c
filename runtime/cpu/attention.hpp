#pragma once

#include <cmath>
#include <utility>
#include <vector>

#include "runtime/cpu/matrix.hpp"
#include "runtime/device.hpp"

/// Attention out of single kernels, with the whole score matrix; contracts in device.hpp.
namespace foreshard::runtime::cpu {

/// Blocks of one (sequence, head): where its queries, keys, values and scores lie.
template <class T>
class HeadViews {
public:
    HeadViews(const AttentionShape& shape, std::int64_t sequence, std::int64_t head)
        : shape_(shape), sequence_(sequence), head_(head), kv_head_(head * shape.kv_heads / shape.heads) {}

    BlockView<T> query(Tensor qkv) const { return columns(qkv, head_ * shape_.head_dim); }
    BlockView<T> key(Tensor qkv) const { return columns(qkv, shape_.query_width() + kv_head_ * shape_.head_dim); }
    BlockView<T> value(Tensor qkv) const {
        return columns(qkv, shape_.query_width() + shape_.kv_width() + kv_head_ * shape_.head_dim);
    }
    BlockView<T> context(Tensor tensor) const { return columns(tensor, head_ * shape_.head_dim); }
    std::int64_t first_score_row() const { return (sequence_ * shape_.heads + head_) * shape_.seq; }
    BlockView<T> scores(Tensor tensor) const { return block<T>(tensor, first_score_row(), 0, shape_.seq, shape_.seq); }

private:
    BlockView<T> columns(Tensor tensor, std::int64_t column) const {
        return block<T>(tensor, sequence_ * shape_.seq, column, shape_.seq, shape_.head_dim);
    }

    const AttentionShape& shape_;
    std::int64_t sequence_;
    std::int64_t head_;
    std::int64_t kv_head_;
};

template <class T, class Work>
void for_each_head(const AttentionShape& shape, const Work& work) {
    for (std::int64_t sequence = 0; sequence < shape.sequences; ++sequence) {
        for (std::int64_t head = 0; head < shape.heads; ++head) work(HeadViews<T>(shape, sequence, head));
    }
}

template <class T>
T score_scale(const AttentionShape& shape) {
    return T(1) / std::sqrt(static_cast<T>(shape.head_dim));
}

/// Cosine and sine of every pair's angle at a position.
template <class T>
std::vector<std::pair<T, T>> angles_at(std::int64_t position, std::int64_t half, Turn turn) {
    std::vector<std::pair<T, T>> angles(static_cast<std::size_t>(half));
    for (std::int64_t i = 0; i < half; ++i) {
        const double frequency = std::pow(10000.0, -static_cast<double>(i) / static_cast<double>(half));
        const double angle = static_cast<double>(position) * (turn == Turn::forward ? frequency : -frequency);
        angles[static_cast<std::size_t>(i)] = {static_cast<T>(std::cos(angle)), static_cast<T>(std::sin(angle))};
    }
    return angles;
}

/// Pairs (i, i + half) of one head.
template <class T>
void turn_pairs(const std::vector<std::pair<T, T>>& angles, T* head) {
    T* second = head + angles.size();
    for (const auto& [c, s] : angles) {
        const T a = *head;
        const T b = *second;
        *head++ = a * c - b * s;
        *second++ = a * s + b * c;
    }
}

/// Su et al., arXiv 2104.09864, with the halves of a head as pairs (as Llama does).
template <class T>
void rotate(const AttentionShape& shape, Tensor qkv, Turn turn) {
    const std::int64_t half = shape.head_dim / 2;
    for (std::int64_t position = 0; position < shape.seq; ++position) {
        const std::vector<std::pair<T, T>> angles = angles_at<T>(position, half, turn);
        for (std::int64_t sequence = 0; sequence < shape.sequences; ++sequence) {
            T* head = row_of<T>(qkv, sequence * shape.seq + position);
            for (std::int64_t h = 0; h < shape.heads + shape.kv_heads; ++h, head += shape.head_dim) {
                turn_pairs(angles, head);
            }
        }
    }
}

template <class T>
void attention_scores(const AttentionShape& shape, Tensor qkv, Tensor scores) {
    for_each_head<T>(shape, [&](const HeadViews<T>& head) {
        head.scores(scores).noalias() = head.query(qkv) * head.key(qkv).transpose();
        head.scores(scores) *= score_scale<T>(shape);
    });
}

template <class T>
void attention_softmax(const AttentionShape& shape, Tensor scores) {
    auto all = view<T>(scores);
    for (std::int64_t i = 0; i < scores.rows; ++i) {
        const std::int64_t seen = shape.mask == AttentionMask::causal ? i % shape.seq + 1 : shape.seq;
        auto row = all.row(i).head(seen);
        const T most = row.maxCoeff();
        row = (row.array() - most).exp().matrix();
        row /= row.sum();
        all.row(i).tail(shape.seq - seen).setZero();
    }
}

template <class T>
void attention_context(const AttentionShape& shape, Tensor qkv, Tensor probabilities, Tensor context) {
    for_each_head<T>(shape, [&](const HeadViews<T>& head) {
        head.context(context).noalias() = head.scores(probabilities) * head.value(qkv);
    });
}

template <class T>
void attention_context_grad(const AttentionShape& shape, Tensor qkv, Tensor probabilities, Tensor dcontext,
                            Tensor dprobabilities, Tensor dqkv) {
    block<T>(dqkv, 0, shape.query_width() + shape.kv_width(), dqkv.rows, shape.kv_width()).setZero();
    for_each_head<T>(shape, [&](const HeadViews<T>& head) {
        head.scores(dprobabilities).noalias() = head.context(dcontext) * head.value(qkv).transpose();
        head.value(dqkv).noalias() += head.scores(probabilities).transpose() * head.context(dcontext);
    });
}

template <class T>
void attention_softmax_grad(Tensor probabilities, Tensor dprobabilities) {
    const auto p = view<T>(probabilities);
    auto d = view<T>(dprobabilities);
    for (std::int64_t i = 0; i < probabilities.rows; ++i) {
        const T along = p.row(i).dot(d.row(i));
        d.row(i) = (p.row(i).array() * (d.row(i).array() - along)).matrix();
    }
}

template <class T>
void attention_scores_grad(const AttentionShape& shape, Tensor qkv, Tensor dscores, Tensor dqkv) {
    const T scale = score_scale<T>(shape);
    block<T>(dqkv, 0, 0, dqkv.rows, shape.query_width() + shape.kv_width()).setZero();
    for_each_head<T>(shape, [&](const HeadViews<T>& head) {
        head.query(dqkv).noalias() += scale * (head.scores(dscores) * head.key(qkv));
        head.key(dqkv).noalias() += scale * (head.scores(dscores).transpose() * head.query(qkv));
    });
}

/// A head at a time: what other devices cut into tiles.
template <class T>
void flash_attention(const AttentionShape& shape, Tensor qkv, Tensor context, Tensor log_sum) {
    Matrix<T> scores(shape.seq, shape.seq);
    for_each_head<T>(shape, [&](const HeadViews<T>& head) {
        scores.noalias() = score_scale<T>(shape) * (head.query(qkv) * head.key(qkv).transpose());
        T* sums = data_of<T>(log_sum) + head.first_score_row();
        for (std::int64_t i = 0; i < shape.seq; ++i) {
            const std::int64_t seen = shape.mask == AttentionMask::causal ? i + 1 : shape.seq;
            auto row = scores.row(i).head(seen);
            const T most = row.maxCoeff();
            row = (row.array() - most).exp().matrix();
            const T sum = row.sum();
            row /= sum;
            scores.row(i).tail(shape.seq - seen).setZero();
            sums[i] = most + std::log(sum);
        }
        head.context(context).noalias() = scores * head.value(qkv);
    });
}

template <class T>
void flash_attention_grad(const AttentionShape& shape, Tensor qkv, Tensor context, Tensor log_sum, Tensor dcontext,
                          Tensor dqkv) {
    view<T>(dqkv).setZero();
    Matrix<T> probabilities(shape.seq, shape.seq);
    Matrix<T> gradient(shape.seq, shape.seq);
    for_each_head<T>(shape, [&](const HeadViews<T>& head) {
        probabilities.noalias() = score_scale<T>(shape) * (head.query(qkv) * head.key(qkv).transpose());
        gradient.noalias() = head.context(dcontext) * head.value(qkv).transpose();
        const T* sums = data_of<T>(log_sum) + head.first_score_row();
        for (std::int64_t i = 0; i < shape.seq; ++i) {
            const std::int64_t seen = shape.mask == AttentionMask::causal ? i + 1 : shape.seq;
            probabilities.row(i).array() = (probabilities.row(i).array() - sums[i]).exp();
            probabilities.row(i).tail(shape.seq - seen).setZero();
            const T along = head.context(dcontext).row(i).dot(head.context(context).row(i));
            gradient.row(i).array() = probabilities.row(i).array() * (gradient.row(i).array() - along);
        }
        head.value(dqkv).noalias() += probabilities.transpose() * head.context(dcontext);
        head.query(dqkv).noalias() += score_scale<T>(shape) * (gradient * head.key(qkv));
        head.key(dqkv).noalias() += score_scale<T>(shape) * (gradient.transpose() * head.query(qkv));
    });
}

}  // namespace foreshard::runtime::cpu
