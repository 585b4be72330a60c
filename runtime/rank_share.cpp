#include <stdexcept>

#include <fmt/format.h>

#include "runtime/rank_work.hpp"

/// A rank's share of a vocabulary that all pipeline ranks have together: lookups, S and T, and what is exchanged around
/// them. Collectives come from another thread, so what they work on is lent to them.
namespace foreshard::runtime {

namespace {

/// What a collective works on beside messages: it stays with S and T.
Slot slot_of(VocabularyUse use) {
    if (use == VocabularyUse::maximum) return Slot::softmax_all_maximum;
    return use == VocabularyUse::target ? Slot::softmax_target : Slot::softmax_sum;
}

bool is_statistic(VocabularyUse use) {
    return use == VocabularyUse::maximum || use == VocabularyUse::target || use == VocabularyUse::sum;
}

constexpr Slot lent_slots[] = {Slot::softmax_maximum, Slot::softmax_sum, Slot::softmax_target,
                               Slot::softmax_all_maximum, Slot::target_rows};

}  // namespace

Buffer RankWork::take_share(VocabularyUse use, int microbatch) {
    const std::lock_guard lock(messages_);
    std::deque<Buffer>& waiting = exchanged_[{use, microbatch}];
    if (waiting.empty()) {
        throw std::logic_error(fmt::format("{} of micro-batch {} has not arrived", to_string(use), microbatch));
    }
    Buffer tensor = std::move(waiting.front());
    waiting.pop_front();
    tensor.count_as(MemoryKind::activations);
    return tensor;
}

void RankWork::give_share(VocabularyUse use, int microbatch, Buffer tensor) {
    tensor.count_as(MemoryKind::messages);
    const std::lock_guard lock(messages_);
    exchanged_[{use, microbatch}].push_back(std::move(tensor));
}

void RankWork::lend_statistics(int microbatch, UnitState& state) {
    const std::lock_guard lock(messages_);
    for (const Slot slot : lent_slots) lent_[microbatch][slot] = std::move(state[slot]);
}

void RankWork::take_statistics_back(int microbatch, UnitState& state) {
    const std::lock_guard lock(messages_);
    const auto lent = lent_.find(microbatch);
    for (const Slot slot : lent_slots) state[slot] = std::move(lent->second[slot]);
    lent_.erase(lent);
}

UnitRun RankWork::lookup_run(UnitState& state, int microbatch) {
    return {context_, stores_.at(share_), 0, BlockKind::embedding, true, state, data(microbatch)};
}

/// Output layer and its weights are two units with the same tensors; parameters lie with the weights.
UnitRun RankWork::output_run(int microbatch) {
    constexpr int weights = 1;
    StagePass& pass = passes_[{share_, microbatch}];
    pass.units.resize(1);
    return {context_, stores_.at(share_), weights, BlockKind::head, true, pass.units.front(), data(microbatch)};
}

void RankWork::look_up(int microbatch) {
    UnitState state;
    UnitRun run = lookup_run(state, microbatch);
    run_ops(block_of(share_, 0).forward, run);
    give_share(VocabularyUse::embedding, microbatch, std::move(state[Slot::sum]));
}

void RankWork::look_up_grad(int microbatch) {
    UnitState state;
    UnitRun run = lookup_run(state, microbatch);
    state[Slot::grad] = take_share(VocabularyUse::embedding_gradient, microbatch);
    run_ops(block_of(share_, 0).weight_grad, run);
}

void RankWork::share_logits(int microbatch) {
    UnitRun run = output_run(microbatch);
    run.state[Slot::norm1] = take_share(VocabularyUse::hidden_state, microbatch);
    run_ops(block_of(share_, unit_count(share_) - 1).forward, run);
    lend_statistics(microbatch, run.state);
    if (!run.has(Slot::grad_linear)) return;
    give_share(VocabularyUse::output_gradient, microbatch, std::move(run.state[Slot::grad_linear]));
}

void RankWork::share_gradients(const Work& work, int microbatch) {
    UnitRun run = output_run(microbatch);
    for (int unit = work.first_unit + work.units - 1; unit >= work.first_unit; --unit) {
        const OpBlock& block = block_of(share_, unit);
        if (!block.input_grad.empty()) take_statistics_back(microbatch, run.state);
        run_ops(block.input_grad, run);
        run_ops(block.weight_grad, run);
    }
    if (run.has(Slot::grad_linear)) {
        give_share(VocabularyUse::output_gradient, microbatch, std::move(run.state[Slot::grad_linear]));
    }
    if (work.first_unit == 1) passes_.erase({share_, microbatch});
}

void RankWork::run_share(const Work& work, int microbatch) {
    const bool forward = work.pass == Pass::vocab_forward;
    if (work.first_unit == 0) {
        forward ? look_up(microbatch) : look_up_grad(microbatch);
    } else if (forward) {
        share_logits(microbatch);
    } else {
        share_gradients(work, microbatch);
    }
}

Elements RankWork::begin_exchange(VocabularyUse use, int microbatch, bool receives) {
    if (is_statistic(use) || use == VocabularyUse::output_gradient) prepare_exchange(use, microbatch);
    const std::lock_guard lock(messages_);
    if (is_statistic(use)) {
        const Buffer& tensor = lent_.at(microbatch)[slot_of(use)];
        return {tensor.span(), tensor.tensor().type};
    }
    std::deque<Buffer>& waiting = exchanged_[{use, microbatch}];
    if (receives) {
        waiting.emplace_back(pool_, MemoryKind::messages, context_.shapes.shard_tokens, context_.shapes.hidden,
                             Counted::later);
    }
    return {waiting.back().span(), waiting.back().tensor().type};
}

/// Between the reductions of one micro-batch, which come one after the other.
void RankWork::prepare_exchange(VocabularyUse use, int microbatch) {
    UnitState* state = nullptr;
    Tensor gradient;
    {
        const std::lock_guard lock(messages_);
        const auto lent = lent_.find(microbatch);
        if (lent != lent_.end()) state = &lent->second;
        if (use == VocabularyUse::output_gradient) gradient = exchanged_.at({use, microbatch}).back().tensor();
    }
    if (use == VocabularyUse::sum) scale_sum(device_, *state);
    if (use != VocabularyUse::output_gradient || state == nullptr || !(*state)[Slot::target_rows]) return;
    const std::int64_t first = context_.sequence_parallel ? context_.tp * context_.shapes.shard_tokens : 0;
    scale_gradient(device_, *state, first, gradient);
}

void RankWork::end_exchange(VocabularyUse use, int microbatch) {
    if (is_statistic(use)) return;
    const std::lock_guard lock(messages_);
    std::deque<Buffer>& waiting = exchanged_.at({use, microbatch});
    const bool summed = use == VocabularyUse::embedding || use == VocabularyUse::output_gradient;
    const int taker = use == VocabularyUse::embedding ? 0 : share_ - 1;
    if (summed && !stores_.contains(taker)) {
        waiting.pop_back();
    } else {
        waiting.back().begin_counting();
    }
}

}  // namespace foreshard::runtime
