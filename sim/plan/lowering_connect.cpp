#include <algorithm>
#include <array>
#include <cassert>

#include "sim/plan/lowering.hpp"
#include "sim/plan/parameters.hpp"

/// Second half of lowering: dependencies inside ranks, and the comms in which ranks meet.
namespace foreshard {

std::int32_t Lowering::start_of(int rank, int step, std::int32_t action) const {
    const auto& actions = schedule_.actions[static_cast<std::size_t>(rank)];
    // The second half of a fused pair starts with the first.
    if (action > 0 && actions[static_cast<std::size_t>(action) - 1].fused_with_next) --action;
    return rank_tasks_[static_cast<std::size_t>(rank)]
        .first_part[static_cast<std::size_t>(step)][static_cast<std::size_t>(action)];
}

std::int32_t Lowering::end_of(int rank, int step, std::int32_t action) const {
    const auto& actions = schedule_.actions[static_cast<std::size_t>(rank)];
    if (actions[static_cast<std::size_t>(action)].fused_with_next) ++action;
    return rank_tasks_[static_cast<std::size_t>(rank)]
        .last_part[static_cast<std::size_t>(step)][static_cast<std::size_t>(action)];
}

void Lowering::find_consumers() {
    const auto m = static_cast<std::size_t>(schedule_.microbatches);
    forward_at_.assign(static_cast<std::size_t>(schedule_.stages) * m, -1);
    gradient_at_ = forward_at_;
    for (const auto& actions : schedule_.actions) {
        for (std::size_t i = 0; i < actions.size(); ++i) {
            if (is_vocabulary(actions[i].pass)) continue;
            const std::size_t at = static_cast<std::size_t>(actions[i].stage) * m + actions[i].microbatch;
            if (actions[i].pass == Pass::forward) forward_at_[at] = static_cast<std::int32_t>(i);
            if (releases_gradient(actions[i].pass)) gradient_at_[at] = static_cast<std::int32_t>(i);
        }
    }
}

void Lowering::connect_message(std::size_t index, std::size_t message, int step) {
    const Channel& link = channels_[index];
    const auto offset = static_cast<std::int32_t>(static_cast<std::size_t>(step) * link.producers.size() + message);
    const std::int32_t send = send_task_[index] + offset;
    const std::int32_t recv = recv_task_[index] + offset;
    add_comm(std::array{send, recv}, comm_class({CollectiveKind::send_recv, Axis::pp, message_, link.from, link.to}));

    const std::int32_t producer = end_of(link.from, step, link.producers[message]);
    need(send, producer);
    // Compute ids are contiguous, so the task behind the producer is what a blocking send holds up.
    const Stream& compute = graph_.stream_of(producer);
    if (blocking_p2p_ && producer + 1 < compute.last) need(producer + 1, send);

    const Action& consumer = link.consumers[message];
    const std::size_t at = static_cast<std::size_t>(consumer.stage) * schedule_.microbatches + consumer.microbatch;
    const std::int32_t action = (link.forward ? forward_at_ : gradient_at_)[at];
    need(start_of(link.to, step, action), recv);
}

void Lowering::connect_messages() {
    find_consumers();
    for (std::size_t c = 0; c < channels_.size(); ++c) {
        for (int step = 0; step < rounds_; ++step) {
            for (std::size_t i = 0; i < channels_[c].producers.size(); ++i) connect_message(c, i, step);
        }
    }
}

void Lowering::connect_rank(int rank, int step) {
    if (!sync_ || graph_.asynchronous) return;
    if (sharded_) {
        connect_shards(rank, step);
    } else {
        connect_reduces(rank, step);
        connect_gathers(rank, step);
    }
}

/// Megatron-LM finalize_model_grads: data parallel reduction first, then the tied embedding between the end ranks.
void Lowering::connect_embedding() {
    const int first = schedule_.rank_of(0, 0);
    const int last = schedule_.rank_of(schedule_.stages - 1, 0);
    const auto& at_first = rank_tasks_[static_cast<std::size_t>(first)].embedding;
    const auto& at_last = rank_tasks_[static_cast<std::size_t>(last)].embedding;
    if (first == last || at_first.empty()) return;
    const double bytes = embedding_gradient_bytes(job_);
    for (int step = 0; step < graph_.steps; ++step) {
        const auto s = static_cast<std::size_t>(step);
        add_comm(std::array{at_first[s], at_last[s]},
                 comm_class({CollectiveKind::all_reduce, Axis::embedding, Bytes(bytes), first, last}));
        for (const int rank : {first, last}) {
            const RankTasks& mine = rank_tasks_[static_cast<std::size_t>(rank)];
            const int stage = rank == first ? 0 : schedule_.stages - 1;
            need(mine.embedding[s], end_of(rank, step, last_weight_action_[static_cast<std::size_t>(stage)]));
            if (mine.last_reduce.size() > s && mine.last_reduce[s] >= 0) need(mine.embedding[s], mine.last_reduce[s]);
            need(mine.optimizer[s], mine.embedding[s]);
        }
    }
}

/// Counting sort of (task, dep) pairs by task.
void Lowering::store_deps() {
    for (const auto& [task, dep] : pending_deps_) ++graph_.tasks[static_cast<std::size_t>(task)].deps;
    std::uint32_t next = 0;
    for (Task& task : graph_.tasks) {
        task.first_dep = next;
        next += task.deps;
    }
    graph_.deps.resize(next);
    std::vector<std::uint16_t> filled(graph_.tasks.size());
    for (const auto& [task, dep] : pending_deps_) {
        const auto t = static_cast<std::size_t>(task);
        graph_.deps[graph_.tasks[t].first_dep + filled[t]++] = dep;
    }
}

TaskGraph Lowering::run() {
    describe();
    find_channels();
    find_buckets();
    find_offloaded();
    plan_vocabulary();
    rank_tasks_.resize(static_cast<std::size_t>(graph_.ranks));
    for (int rank = 0; rank < graph_.ranks; ++rank) add_rank(rank);
    connect_messages();
    for (int rank = 0; rank < graph_.ranks; ++rank) {
        for (int step = 0; step < rounds_; ++step) connect_rank(rank, step);
    }
    for (int step = 0; step < rounds_; ++step) connect_replicas(step);
    connect_embedding();
    connect_vocabulary();
    store_deps();
    return std::move(graph_);
}

}  // namespace foreshard
