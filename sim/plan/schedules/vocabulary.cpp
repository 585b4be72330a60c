#include <algorithm>

#include "sim/plan/schedule.hpp"

/// Vocabulary-parallel 1F1B: order of passes as in sail-sg/VocabularyParallelism, megatron/core/pipeline_parallel
/// vocab_parallel_schedule.py and interlaced_schedule.py.
namespace foreshard {

namespace {

/// When a rank runs its vocabulary passes, which all ranks run at about the same time.
struct Phase {
    bool before_forward = true;  ///< steady turn: B, vocabulary, F; else B, F, vocabulary
    int early = 0;               ///< vocabulary turns between the last warm-up forward and the first backward
};

/// Along the ranks, backwards shift by b against the common vocabulary turns, and forwards by f; with b = 2 f the
/// turns fall between B and F on two ranks and between F and B on the third, from the last rank on.
std::vector<Phase> phases(int p) {
    std::vector<Phase> result(static_cast<std::size_t>(p));
    for (int r = p - 2; r >= 0; --r) {
        const int from_last = p - 1 - r;
        Phase& phase = result[r];
        const Phase& next = result[r + 1];
        phase.before_forward = from_last % 3 != 0;
        phase.early = next.early + (phase.before_forward && !next.before_forward ? 0 : 1);
    }
    return result;
}

/// A rank's list while it grows: every call appends the next micro-batch of its pass, if there is one.
class RankList {
public:
    RankList(int rank, int microbatches) : rank_(rank), m_(microbatches) { list_.reserve(4 * std::size_t(m_)); }

    void forward(int count = 1) { add(Pass::forward, forwards_, count); }
    void backward() { add(Pass::backward, backwards_, 1); }
    void vocab_forward() { add(Pass::vocab_forward, logits_, 1); }
    void vocab_backward() { add(Pass::vocab_backward, gradients_, 1); }

    /// T of the micro-batch before, then S of the next: what the authors run as one pass.
    void vocabulary_turn() {
        if (gradients_ < logits_) vocab_backward();
        vocab_forward();
    }

    bool all_logits() const { return logits_ == m_; }
    std::vector<Action> take() { return std::move(list_); }

private:
    void add(Pass pass, int& next, int count) {
        for (int i = 0; i < count && next < m_; ++i) list_.push_back({rank_, next++, pass});
    }

    int rank_;
    int m_;
    std::vector<Action> list_;
    int forwards_ = 0;
    int backwards_ = 0;
    int logits_ = 0;
    int gradients_ = 0;
};

std::vector<Action> rank_list(int p, int m, int rank, const Phase& phase, bool one_barrier) {
    RankList list(rank, m);
    const auto vocabulary = [&] {
        // With one barrier nothing waits for the last T, which is left to the end.
        if (!one_barrier || !list.all_logits()) list.vocabulary_turn();
    };
    list.forward(std::min(m, p - rank));
    for (int extra = 0; extra < (one_barrier ? 1 : 2); ++extra) {
        vocabulary();
        list.forward();
    }
    for (int i = 0; i < phase.early; ++i) vocabulary();
    for (int k = 0; k < m; ++k) {
        list.backward();
        if (phase.before_forward) vocabulary();
        list.forward();
        if (!phase.before_forward) vocabulary();
    }
    list.vocabulary_turn();
    return list.take();
}

/// Synchronous vocabulary layers pull the other passes apart, which takes p / 2 more micro-batches in flight.
std::vector<Action> interlaced_list(int p, int m, int rank) {
    RankList list(rank, m);
    const auto vocabulary = [&] {
        list.vocab_forward();
        list.vocab_backward();
    };
    const int warmup = std::min(m, p * 3 / 2 - rank);
    const int first_turns = std::min(m, p - rank);
    const int waiting = std::max(0, warmup - first_turns - (p - rank - 1) / 2);
    const bool forward_first = rank % 2 == p % 2;
    list.forward(warmup);
    for (int i = 0; i < first_turns; ++i) vocabulary();
    for (int i = 0; i < waiting; ++i) {
        list.backward();
        vocabulary();
    }
    for (int k = waiting; k < m; ++k) {
        if (forward_first) list.forward();
        list.backward();
        if (!forward_first) list.forward();
        vocabulary();
    }
    return list.take();
}

}  // namespace

Schedule vocabulary_schedule(int p, int m, VocabularySplit split) {
    Schedule schedule{.name = "vocabulary-parallel 1f1b",
                      .ranks = p,
                      .stages = p,
                      .microbatches = m,
                      .actions = {},
                      .stage_rank = stage_ranks(Placement::linear, p, p),
                      .direction = {},
                      .vocabulary = split};
    const std::vector<Phase> phase = phases(p);
    for (int r = 0; r < p; ++r) {
        schedule.actions.push_back(split == VocabularySplit::interlaced
                                       ? interlaced_list(p, m, r)
                                       : rank_list(p, m, r, phase[r], split == VocabularySplit::one_barrier));
    }
    return schedule;
}

}  // namespace foreshard
