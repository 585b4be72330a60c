#include <algorithm>
#include <limits>
#include <tuple>

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
    const std::int32_t first = part.first_unit;
    const std::int32_t weights = part.units - 1;
    part.first_unit += weights;
    part.units = 1;
    add_pass(step, action, part);
    part.first_unit = first;
    part.units = weights;
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
    const DryRun run = dry_run(schedule_, costs);
    if (looks_up_apart()) {
        plan_lookups(run);
    } else {
        for (const Meeting& meeting : run.meetings) append_meeting(meeting);
    }
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

/// A lookup stands in front of what a rank does when the first stage takes up the micro-batch before; its gradient
/// behind the action that follows the first stage's backward, so that the broadcast has that long. In order of times no
/// rank waits for a lookup that stands behind what waits for it.
void Lowering::plan_lookups(const DryRun& run) {
    std::vector<std::pair<Picoseconds, VocabularyComm>> comms;
    const double bytes =
        op_shapes(job_).element * static_cast<double>(op_shapes(job_).shard_tokens * job_.model.hidden);
    const auto m = static_cast<std::size_t>(schedule_.microbatches);
    std::vector<Picoseconds> forward(m + 1);
    std::vector<Picoseconds> backward(m);
    const auto first = static_cast<std::size_t>(schedule_.rank_of(0, 0));
    for (std::size_t i = 0; i < schedule_.actions[first].size(); ++i) {
        const Action& action = schedule_.actions[first][i];
        if (is_vocabulary(action.pass) || action.stage != 0) continue;
        const auto microbatch = static_cast<std::size_t>(action.microbatch);
        if (action.pass == Pass::forward) forward[microbatch + 1] = run.start[first][i];
        if (releases_gradient(action.pass)) backward[microbatch] = run.end[first][i];
    }
    lookups_.resize(schedule_.actions.size());
    for (std::int32_t k = 0; k < schedule_.microbatches; ++k) {
        const Picoseconds before = forward[static_cast<std::size_t>(k)];
        const Picoseconds after = backward[static_cast<std::size_t>(k)];
        place_lookup(run, k, before, after);
        comms.push_back({before, {VocabularyUse::embedding, k, CollectiveKind::all_reduce, Bytes(bytes)}});
        comms.push_back({after, {VocabularyUse::embedding_gradient, k, CollectiveKind::broadcast, Bytes(bytes)}});
    }
    std::sort(comms.begin(), comms.end(), [](const auto& a, const auto& b) {
        return std::tuple(a.first, a.second.use, a.second.microbatch) <
               std::tuple(b.first, b.second.use, b.second.microbatch);
    });
    auto next = comms.begin();
    const auto append_until = [&](Picoseconds key) {
        for (; next != comms.end() && next->first <= key; ++next) vocabulary_comms_.push_back(next->second);
    };
    for (const Meeting& meeting : run.meetings) {
        append_until(meeting.key);
        append_meeting(meeting);
    }
    append_until(std::numeric_limits<Picoseconds>::max());
}

void Lowering::place_lookup(const DryRun& run, std::int32_t microbatch, Picoseconds before, Picoseconds after) {
    for (std::size_t rank = 0; rank < lookups_.size(); ++rank) {
        Lookups& mine = lookups_[rank];
        const std::size_t places = run.end[rank].size() + 1;
        mine.forward.resize(places);
        mine.backward.resize(places);
        const auto end = std::upper_bound(run.end[rank].begin(), run.end[rank].end(), before);
        mine.forward[static_cast<std::size_t>(end - run.end[rank].begin())].push_back(microbatch);
        const auto start = std::lower_bound(run.start[rank].begin(), run.start[rank].end(), after);
        const auto behind = static_cast<std::size_t>(start - run.start[rank].begin()) + 1;
        mine.backward[std::min(behind, places - 1)].push_back(microbatch);
    }
}

/// Those in front of a place in the rank's list. Lookups come before gradients, which wait for others.
void Lowering::add_lookups(int rank, int step, std::size_t place) {
    if (lookups_.empty()) return;
    const Lookups& mine = lookups_[static_cast<std::size_t>(rank)];
    RankTasks& tasks = rank_tasks_[static_cast<std::size_t>(rank)];
    const auto m = static_cast<std::size_t>(schedule_.microbatches);
    const auto add = [&](std::vector<std::int32_t>& known, std::int32_t microbatch, Pass pass) {
        known.resize(m, -1);
        known[static_cast<std::size_t>(microbatch)] = static_cast<std::int32_t>(graph_.tasks.size());
        const auto share = static_cast<std::int32_t>(graph_.stages.size()) - 1;
        add_pass(step, {rank, microbatch, pass}, {TaskKind::pass, share, pass, 0, 1});
    };
    const auto s = static_cast<std::size_t>(step);
    for (const std::int32_t k : mine.forward[place]) add(tasks.lookups[s], k, Pass::vocab_forward);
    for (const std::int32_t k : mine.backward[place]) add(tasks.lookup_grads[s], k, Pass::vocab_backward);
}

/// The gradients of a share are one bucket, complete behind the last T and the last lookup's gradient.
void Lowering::note_share_gradients(int rank, int step) {
    RankTasks& mine = rank_tasks_[static_cast<std::size_t>(rank)];
    const auto s = static_cast<std::size_t>(step);
    std::int32_t last = *std::max_element(mine.lookup_grads[s].begin(), mine.lookup_grads[s].end());
    last = std::max(last, end_of(rank, step, last_vocabulary_backward_[static_cast<std::size_t>(rank)]));
    mine.bucket_part[s].push_back(last);
}

/// Statistics are maximum, target logit and sum of exponentials, one after the other, of all tokens on every tensor
/// parallel rank.
void Lowering::append_statistics(std::int32_t microbatch) {
    const Bytes bytes(fp32_bytes * static_cast<double>(op_shapes(job_).tokens));
    for (const VocabularyUse use : {VocabularyUse::maximum, VocabularyUse::target, VocabularyUse::sum}) {
        vocabulary_comms_.push_back({use, microbatch, CollectiveKind::all_reduce, bytes});
    }
}

/// Only the interlaced pipeline sends the hidden state in 16 bits; the authors send a value a token more with the fp32
/// one, the project's own runtime does not. Where S and T look up themselves, embeddings of other micro-batches are
/// summed to the first rank and their gradients sent to all in the same turns; they are issued turns ahead, so no pass
/// waits for them.
void Lowering::append_meeting(const Meeting& meeting) {
    const OpShapes shapes = op_shapes(job_);
    const VocabularySplit split = *schedule_.vocabulary;
    const double hidden = static_cast<double>(shapes.shard_tokens) * static_cast<double>(shapes.hidden);
    const double narrow = shapes.element * hidden;
    const auto append = [&](VocabularyUse use, CollectiveKind kind, double bytes) {
        vocabulary_comms_.push_back({use, meeting.microbatch, kind, Bytes(bytes)});
    };
    const auto append_gradient = [&] {
        append(VocabularyUse::output_gradient, CollectiveKind::all_reduce, narrow);
        if (looks_up_apart()) return;
        append(VocabularyUse::embedding, CollectiveKind::all_reduce, narrow);
        append(VocabularyUse::embedding_gradient, CollectiveKind::broadcast, narrow);
    };
    switch (meeting.kind) {
        case Meeting::Kind::hidden_state: {
            const bool as_is = split == VocabularySplit::interlaced || looks_up_apart();
            append(VocabularyUse::hidden_state, CollectiveKind::broadcast,
                   as_is ? narrow : fp32_bytes * (hidden + static_cast<double>(shapes.shard_tokens)));
            break;
        }
        case Meeting::Kind::logits:
            append_statistics(meeting.microbatch);
            if (split == VocabularySplit::one_barrier) append_gradient();
            break;
        case Meeting::Kind::gradient:
            append_gradient();
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
            task.use = comm.use;
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
    const VocabularyComm& comm = vocabulary_comms_[i];
    const RankTasks& mine = rank_tasks_[static_cast<std::size_t>(rank)];
    const auto s = static_cast<std::size_t>(step);
    const std::int32_t task = mine.vocabulary[s] + static_cast<std::int32_t>(i);
    const std::int32_t forward = vocabulary_action(rank, Pass::vocab_forward, comm.microbatch);
    const std::int32_t backward = vocabulary_action(rank, Pass::vocab_backward, comm.microbatch);
    const bool early = schedule_.vocabulary == VocabularySplit::one_barrier;
    switch (comm.use) {
        case VocabularyUse::none:
            break;
        case VocabularyUse::hidden_state:
            connect_hidden_state(rank, step, comm, task);
            break;
        case VocabularyUse::maximum:
        case VocabularyUse::target:
        case VocabularyUse::sum:
            need(task, end_of(rank, step, forward));
            need(start_of(rank, step, backward), task);
            break;
        case VocabularyUse::output_gradient:
            if (early) {
                need(task, end_of(rank, step, forward));
                need(start_of(rank, step, backward), task);
                break;
            }
            need(task, cuts_vocabulary({rank, comm.microbatch, Pass::vocab_backward})
                           ? mine.first_part[s][static_cast<std::size_t>(backward)]
                           : end_of(rank, step, backward));
            hold_up_next(rank, step, comm, task);
            break;
        case VocabularyUse::embedding:
        case VocabularyUse::embedding_gradient:
            if (looks_up_apart()) {
                connect_lookup(rank, step, comm, task);
                break;
            }
            need(task, end_of(rank, step, early ? forward : backward));
            hold_up_next(rank, step, comm, task);
            break;
    }
}

/// Where real tensors are sent, the last stage's rank keeps its own until it is sent.
void Lowering::connect_hidden_state(int rank, int step, const VocabularyComm& comm, std::int32_t task) {
    const int last = schedule_.stages - 1;
    const std::size_t at = static_cast<std::size_t>(last) * schedule_.microbatches + comm.microbatch;
    const bool sends = schedule_.rank_of(last, comm.microbatch) == rank;
    if (sends) need(task, end_of(rank, step, forward_at_[at]));
    if (sends && !looks_up_apart()) return;
    need(start_of(rank, step, vocabulary_action(rank, Pass::vocab_forward, comm.microbatch)), task);
}

void Lowering::connect_lookup(int rank, int step, const VocabularyComm& comm, std::int32_t task) {
    const RankTasks& mine = rank_tasks_[static_cast<std::size_t>(rank)];
    const auto s = static_cast<std::size_t>(step);
    const auto microbatch = static_cast<std::size_t>(comm.microbatch);
    const bool first = schedule_.rank_of(0, comm.microbatch) == rank;
    if (comm.use == VocabularyUse::embedding) {
        need(task, mine.lookups[s][microbatch]);
        if (first) need(start_of(rank, step, forward_at_[microbatch]), task);
        return;
    }
    if (first) need(task, end_of(rank, step, gradient_at_[microbatch]));
    need(mine.lookup_grads[s][microbatch], task);
}

/// Interlaced vocabulary layers are synchronous: the rank's next pass waits for what their turn has started. Lookups
/// do not: other ranks' first stages wait for them.
void Lowering::hold_up_next(int rank, int step, const VocabularyComm& comm, std::int32_t task) {
    if (!cuts_vocabulary({rank, comm.microbatch, Pass::vocab_backward})) return;
    std::int32_t next = end_of(rank, step, vocabulary_action(rank, Pass::vocab_backward, comm.microbatch)) + 1;
    const std::int32_t last = graph_.stream_of(next - 1).last;
    while (next < last && is_lookup(graph_, graph_.tasks[static_cast<std::size_t>(next)])) ++next;
    if (next < last) need(next, task);
}

/// The last stage's backward starts from the sum of all ranks' input gradients.
void Lowering::wait_for_output_gradient(int step, std::size_t i) {
    const VocabularyComm& comm = vocabulary_comms_[i];
    if (comm.use != VocabularyUse::output_gradient) return;
    const int last = schedule_.stages - 1;
    const int rank = schedule_.rank_of(last, comm.microbatch);
    const std::size_t at = static_cast<std::size_t>(last) * schedule_.microbatches + comm.microbatch;
    const std::int32_t task =
        rank_tasks_[static_cast<std::size_t>(rank)].vocabulary[static_cast<std::size_t>(step)] + static_cast<int>(i);
    need(start_of(rank, step, gradient_at_[at]), task);
}

}  // namespace foreshard
