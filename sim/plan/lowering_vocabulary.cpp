#include <algorithm>

#include "sim/plan/lowering.hpp"
#include "sim/plan/op_graph.hpp"

/// Part of lowering: the collectives of a vocabulary that all pipeline ranks share, on a lane of their own. The
/// messages are those of the authors' code (sail-sg/VocabularyParallelism, vocab_parallel_schedule.py,
/// interlaced_schedule.py).
namespace foreshard {

namespace {

constexpr double fp32_bytes = 4.0;

}  // namespace

/// T's first part gives the input gradient, whose reduction runs under the second, the weight gradient. The other
/// schedules hide it under later passes.
bool Lowering::cuts_vocabulary(const Action& action) const {
    return schedule_.vocabulary == VocabularySplit::interlaced && action.pass == Pass::vocab_backward && sync_;
}

void Lowering::add_vocabulary_parts(int step, const Action& action) {
    Work part = whole_pass(action);
    const std::int32_t output = part.units - 1;
    part.first_unit = output;
    part.units = 1;
    add_pass(step, action, part);
    part.first_unit = 0;
    part.units = output;
    add_pass(step, action, part);
}

/// Order of the collectives, from a dry run, so that no rank waits in its lane for another that waits for it. Where
/// times are given, it is theirs: a collective that is ready earlier than its place in the lane would wait.
void Lowering::plan_vocabulary() {
    if (!schedule_.vocabulary) return;
    PassCosts costs = unit_costs(schedule_.stages);
    if (const auto& times = job_.stage_times) {
        costs = without_zeros({times->stages, times->hop, times->vocab_forward, times->vocab_backward});
    }
    for (const Meeting& meeting : dry_run(schedule_, costs).meetings) append_meeting(meeting);
    const auto m = static_cast<std::size_t>(schedule_.microbatches);
    vocabulary_at_.assign(2 * schedule_.actions.size() * m, -1);
    for (std::size_t rank = 0; rank < schedule_.actions.size(); ++rank) {
        const std::vector<Action>& actions = schedule_.actions[rank];
        for (std::size_t i = 0; i < actions.size(); ++i) {
            if (!is_vocabulary(actions[i].pass)) continue;
            const std::size_t at = 2 * (rank * m + static_cast<std::size_t>(actions[i].microbatch));
            vocabulary_at_[at + (actions[i].pass == Pass::vocab_forward ? 0 : 1)] = static_cast<std::int32_t>(i);
        }
    }
}

/// Statistics are maximum, target logit and sum of exponentials, one after the other. Only the interlaced pipeline
/// sends the hidden state in 16 bits. Embeddings of other micro-batches are summed to the first rank and their
/// gradients sent to all in the same turns; they are issued turns ahead, so no pass waits for them.
void Lowering::append_meeting(const Meeting& meeting) {
    using Use = VocabularyComm::Use;
    const OpShapes shapes = op_shapes(job_);
    const VocabularySplit split = *schedule_.vocabulary;
    const auto tokens = static_cast<double>(shapes.shard_tokens);
    const double hidden = tokens * static_cast<double>(shapes.hidden);
    const auto append = [&](Use use, CollectiveKind kind, double bytes) {
        vocabulary_comms_.push_back({use, meeting.microbatch, kind, Bytes(bytes)});
    };
    const auto append_embeddings = [&] {
        append(Use::embedding, CollectiveKind::all_reduce, shapes.element * hidden);
        append(Use::embedding, CollectiveKind::broadcast, shapes.element * hidden);
    };
    switch (meeting.kind) {
        case Meeting::Kind::hidden_state: {
            const bool narrow = split == VocabularySplit::interlaced;
            append(Use::hidden_state, CollectiveKind::broadcast,
                   narrow ? shapes.element * hidden : fp32_bytes * (hidden + tokens));
            break;
        }
        case Meeting::Kind::logits:
            for (int i = 0; i < 3; ++i) append(Use::logits, CollectiveKind::all_reduce, fp32_bytes * tokens);
            if (split != VocabularySplit::one_barrier) break;
            append(Use::logits, CollectiveKind::all_reduce, shapes.element * hidden);
            append_embeddings();
            break;
        case Meeting::Kind::gradient:
            append(Use::gradient, CollectiveKind::all_reduce, shapes.element * hidden);
            append_embeddings();
            break;
    }
}

void Lowering::add_vocabulary_stream(int rank) {
    if (vocabulary_comms_.empty()) return;
    begin_stream(rank, Lane::vocabulary, -1);
    for (int step = 0; step < graph_.steps; ++step) {
        rank_tasks_[static_cast<std::size_t>(rank)].vocabulary.push_back(
            static_cast<std::int32_t>(graph_.tasks.size()));
        for (const VocabularyComm& comm : vocabulary_comms_) {
            Task& task = graph_.tasks[static_cast<std::size_t>(add_task(TaskKind::vocabulary, step))];
            task.stage = rank;
            task.microbatch = comm.microbatch;
        }
    }
}

std::int32_t Lowering::vocabulary_action(int rank, Pass pass, std::int32_t microbatch) const {
    const std::size_t at = 2 * (static_cast<std::size_t>(rank) * static_cast<std::size_t>(schedule_.microbatches) +
                                static_cast<std::size_t>(microbatch));
    return vocabulary_at_[at + (pass == Pass::vocab_forward ? 0 : 1)];
}

void Lowering::connect_vocabulary() {
    std::vector<std::int32_t> members(static_cast<std::size_t>(graph_.ranks));
    for (int step = 0; step < graph_.steps; ++step) {
        for (std::size_t i = 0; i < vocabulary_comms_.size(); ++i) {
            const VocabularyComm& comm = vocabulary_comms_[i];
            for (int rank = 0; rank < graph_.ranks; ++rank) {
                const RankTasks& mine = rank_tasks_[static_cast<std::size_t>(rank)];
                members[static_cast<std::size_t>(rank)] =
                    mine.vocabulary[static_cast<std::size_t>(step)] + static_cast<std::int32_t>(i);
                connect_vocabulary(rank, step, i);
            }
            add_comm(members, comm_class({comm.kind, Axis::pp, comm.message, -1, -1}));
            wait_for_output_gradient(step, i);
        }
    }
}

/// What collective number `i` of the lane waits for, and which of the rank's passes wait for it.
void Lowering::connect_vocabulary(int rank, int step, std::size_t i) {
    using Use = VocabularyComm::Use;
    const VocabularyComm& comm = vocabulary_comms_[i];
    const RankTasks& mine = rank_tasks_[static_cast<std::size_t>(rank)];
    const auto s = static_cast<std::size_t>(step);
    const std::int32_t task = mine.vocabulary[s] + static_cast<std::int32_t>(i);
    const std::int32_t forward = vocabulary_action(rank, Pass::vocab_forward, comm.microbatch);
    const std::int32_t backward = vocabulary_action(rank, Pass::vocab_backward, comm.microbatch);
    switch (comm.use) {
        case Use::hidden_state: {
            const int last = schedule_.stages - 1;
            const std::size_t at = static_cast<std::size_t>(last) * schedule_.microbatches + comm.microbatch;
            if (schedule_.rank_of(last, comm.microbatch) == rank) {
                need(task, end_of(rank, step, forward_at_[at]));
            } else {
                need(start_of(rank, step, forward), task);
            }
            break;
        }
        case Use::logits:
            need(task, end_of(rank, step, forward));
            need(start_of(rank, step, backward), task);
            break;
        case Use::gradient:
            need(task, cuts_vocabulary({rank, comm.microbatch, Pass::vocab_backward})
                           ? mine.first_part[s][static_cast<std::size_t>(backward)]
                           : end_of(rank, step, backward));
            hold_up_next(rank, step, comm, task);
            break;
        case Use::embedding: {
            const bool early = schedule_.vocabulary == VocabularySplit::one_barrier;
            need(task, end_of(rank, step, early ? forward : backward));
            hold_up_next(rank, step, comm, task);
            break;
        }
    }
}

/// Interlaced vocabulary layers are synchronous: the rank's next pass waits for what their turn has started.
void Lowering::hold_up_next(int rank, int step, const VocabularyComm& comm, std::int32_t task) {
    if (!cuts_vocabulary({rank, comm.microbatch, Pass::vocab_backward})) return;
    const std::int32_t turn = end_of(rank, step, vocabulary_action(rank, Pass::vocab_backward, comm.microbatch));
    if (turn + 1 < graph_.stream_of(turn).last) need(turn + 1, task);
}

/// The last stage's backward starts from the sum of all ranks' input gradients.
void Lowering::wait_for_output_gradient(int step, std::size_t i) {
    using Use = VocabularyComm::Use;
    const VocabularyComm& comm = vocabulary_comms_[i];
    const bool one = schedule_.vocabulary == VocabularySplit::one_barrier;
    if (comm.use != (one ? Use::logits : Use::gradient)) return;
    const int last = schedule_.stages - 1;
    const int rank = schedule_.rank_of(last, comm.microbatch);
    const std::size_t at = static_cast<std::size_t>(last) * schedule_.microbatches + comm.microbatch;
    const std::int32_t task =
        rank_tasks_[static_cast<std::size_t>(rank)].vocabulary[static_cast<std::size_t>(step)] + static_cast<int>(i);
    need(start_of(rank, step, gradient_at_[at]), task);
}

}  // namespace foreshard
