#include "sim/plan/counted_holdings.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "sim/plan/data_parallel/shard_plan.hpp"

namespace foreshard {

namespace {

/// First and last task of every pass of a rank.
struct PassTasks {
    std::int32_t first = 0;
    std::int32_t last = 0;
};
using PassKey = std::tuple<int, int, int, Pass>;  ///< step, stage, micro-batch, pass

std::map<PassKey, PassTasks> pass_tasks(const TaskGraph& graph, const Stream& stream) {
    std::map<PassKey, PassTasks> found;
    for (std::int32_t id = stream.first; id < stream.last; ++id) {
        const Task& task = graph.tasks[static_cast<std::size_t>(id)];
        if (task.kind != TaskKind::pass || is_vocabulary(task.pass)) continue;
        const auto [place, fresh] =
            found.try_emplace({task.step, task.stage, task.microbatch, task.pass}, PassTasks{id, id});
        if (!fresh) place->second.last = id;
    }
    return found;
}

/// Tasks of a rank's share of the vocabulary, by step and micro-batch.
struct ShareTasks {
    using Key = std::pair<int, int>;
    std::map<Key, std::int32_t> lookup;
    std::map<Key, std::int32_t> lookup_grad;
    std::map<Key, std::int32_t> logits;    ///< S
    std::map<Key, std::int32_t> gradient;  ///< T, or the part that gives the input gradient
};

ShareTasks share_tasks(const TaskGraph& graph, const Stream& stream) {
    ShareTasks found;
    for (std::int32_t id = stream.first; id < stream.last; ++id) {
        const Task& task = graph.tasks[static_cast<std::size_t>(id)];
        if (task.kind != TaskKind::pass || !is_vocabulary(task.pass)) continue;
        const bool forward = task.pass == Pass::vocab_forward;
        if (is_lookup(graph, task)) {
            (forward ? found.lookup : found.lookup_grad)[{task.step, task.microbatch}] = id;
        } else {
            (forward ? found.logits : found.gradient).try_emplace({task.step, task.microbatch}, id);
        }
    }
    return found;
}

class MessageHoldings {
public:
    MessageHoldings(const Job& job, const TaskGraph& graph)
        : graph_(graph),
          bytes_(static_cast<ByteCount>(pipeline_message(job).value)),
          one_barrier_(vocabulary_split(job.plan.schedule) == VocabularySplit::one_barrier) {}

    std::vector<Holding> run() {
        for (int rank = 0; rank < graph_.ranks; ++rank) add_rank(rank);
        return std::move(holdings_);
    }

private:
    void add_rank(int rank) {
        std::map<PassKey, PassTasks> passes;
        ShareTasks share;
        std::set<PassKey> sent;  ///< by the pass that makes them
        for (const Stream& stream : graph_.streams) {
            if (stream.rank != rank) continue;
            const bool forward = stream.lane == Lane::send_forward || stream.lane == Lane::recv_forward;
            const bool sends = stream.lane == Lane::send_forward || stream.lane == Lane::send_backward;
            const bool receives = stream.lane == Lane::recv_forward || stream.lane == Lane::recv_backward;
            if (stream.lane == Lane::compute) passes = pass_tasks(graph_, stream);
            if (stream.lane == Lane::compute) share = share_tasks(graph_, stream);
            if (stream.lane == Lane::vocabulary && !share.lookup.empty()) add_vocabulary(stream, passes, share);
            for (std::int32_t id = stream.first; (sends || receives) && id < stream.last; ++id) {
                if (receives) add_receive(id, passes);
                if (sends) sent.insert(add_send(id, forward, passes));
            }
        }
        for (const auto& [key, tasks] : passes) {
            if (!sent.contains(key)) add_hand_over(key, tasks, passes);
        }
    }

    /// To a stage on the same rank.
    void add_hand_over(const PassKey& key, const PassTasks& tasks, const std::map<PassKey, PassTasks>& passes) {
        const auto& [step, stage, microbatch, pass] = key;
        if (pass == Pass::weight_grad) return;
        const auto found = passes.find({step, stage + (pass == Pass::forward ? 1 : -1), microbatch, pass});
        if (found != passes.end()) holdings_.push_back({tasks.last, found->second.first, true, true, bytes_});
    }

    PassKey add_send(std::int32_t id, bool forward, const std::map<PassKey, PassTasks>& passes) {
        const Task& task = graph_.tasks[static_cast<std::size_t>(id)];
        const int producer = forward ? task.stage - 1 : task.stage + 1;
        for (const Pass pass : {Pass::forward, Pass::backward, Pass::input_grad}) {
            if ((pass == Pass::forward) != forward) continue;
            const auto found = passes.find({task.step, producer, task.microbatch, pass});
            if (found == passes.end()) continue;
            holdings_.push_back({found->second.last, id, false, true, bytes_});
            return found->first;
        }
        return {};
    }

    /// What is received backward feeds a whole backward, or its I.
    void add_receive(std::int32_t id, const std::map<PassKey, PassTasks>& passes) {
        const Task& task = graph_.tasks[static_cast<std::size_t>(id)];
        for (const Pass pass : {Pass::forward, Pass::backward, Pass::input_grad}) {
            if ((pass == Pass::forward) != (task.pass == Pass::forward)) continue;
            const auto found = passes.find({task.step, task.stage, task.microbatch, pass});
            if (found == passes.end()) continue;
            holdings_.push_back({id, found->second.first, true, false, bytes_});
            return;
        }
    }

    /// A pass of an end stage, where the rank holds that.
    static const PassTasks* find_pass(const std::map<PassKey, PassTasks>& passes, const Task& task, int stage,
                                      bool forward) {
        for (const Pass pass : {Pass::forward, Pass::backward, Pass::input_grad}) {
            if ((pass == Pass::forward) != forward) continue;
            const auto found = passes.find({task.step, stage, task.microbatch, pass});
            if (found != passes.end()) return &found->second;
        }
        return nullptr;
    }

    /// What a lookup or T makes is held until the end stage takes it, on other ranks until it is summed up. What an end
    /// stage makes is held until S or the lookup's gradient, and so is what others receive.
    void add_vocabulary(const Stream& lane, const std::map<PassKey, PassTasks>& passes, const ShareTasks& share) {
        const int last_stage = static_cast<int>(graph_.layout.size()) - 1;
        const auto summed = [&](std::int32_t id, std::int32_t maker, const PassTasks* taker) {
            holdings_.push_back({maker, taker == nullptr ? id : taker->first, taker != nullptr, true, bytes_});
        };
        const auto spread = [&](std::int32_t id, const PassTasks* maker, std::int32_t taker) {
            holdings_.push_back({maker == nullptr ? id : maker->last, taker, true, maker != nullptr, bytes_});
        };
        for (std::int32_t id = lane.first; id < lane.last; ++id) {
            const Task& task = graph_.tasks[static_cast<std::size_t>(id)];
            const ShareTasks::Key key{task.step, task.microbatch};
            const auto& makers = one_barrier_ ? share.logits : share.gradient;
            if (task.use == VocabularyUse::hidden_state) {
                spread(id, find_pass(passes, task, last_stage, true), share.logits.at(key));
            } else if (task.use == VocabularyUse::output_gradient) {
                summed(id, makers.at(key), find_pass(passes, task, last_stage, false));
            } else if (task.use == VocabularyUse::embedding) {
                summed(id, share.lookup.at(key), find_pass(passes, task, 0, true));
            } else if (task.use == VocabularyUse::embedding_gradient) {
                spread(id, find_pass(passes, task, 0, false), share.lookup_grad.at(key));
            }
        }
    }

    const TaskGraph& graph_;
    ByteCount bytes_;
    bool one_barrier_;
    std::vector<Holding> holdings_;
};

/// Gathered parameters and whole gradients of a rank.
class ShardHoldings {
public:
    ShardHoldings(const Job& job, const TaskGraph& graph)
        : graph_(graph), weight_(activation_bytes(job.plan.precision)), gradient_(gradient_bytes(job)) {
        for (const StageOps& stage : graph.stages) groups_.push_back(shard_groups(job, stage));
    }

    std::vector<Holding> run() {
        for (const GatheredParameters& use : graph_.gathered) {
            holdings_.push_back(
                {use.gather, use.last_use, false, false, std::llround(use.elements * weight_), HoldingKind::gathered});
        }
        for (const ReducedGradients& reduced : graph_.reduced) add_reduced(reduced);
        return std::move(holdings_);
    }

private:
    using Key = std::tuple<int, int, int>;  ///< rank, stage, group

    /// From the first task that adds to them, since the last reduction, until they are reduced; a second level works
    /// on the rank's part of the same buffer.
    void add_reduced(const ReducedGradients& reduced) {
        const int rank = graph_.rank_of(reduced.reduce);
        const Work& work = work_of(reduced.producer);
        const int group =
            groups_[static_cast<std::size_t>(work.stage)].of_unit[static_cast<std::size_t>(work.first_unit)];
        std::int32_t& searched = searched_[{rank, work.stage, group}];
        const Stream& compute = graph_.stream_of(reduced.producer);
        std::int32_t first = std::max(searched, compute.first);
        while (first < reduced.producer && !adds_to(first, work.stage, group)) ++first;
        searched = reduced.producer + 1;
        holdings_.push_back({first, last_level(reduced.reduce), false, false,
                             std::llround(reduced.elements * gradient_), HoldingKind::gradients});
    }

    const Work& work_of(std::int32_t task) const {
        return graph_.works[static_cast<std::size_t>(graph_.tasks[static_cast<std::size_t>(task)].work)];
    }

    bool adds_to(std::int32_t id, int stage, int group) const {
        const Task& task = graph_.tasks[static_cast<std::size_t>(id)];
        if (task.kind != TaskKind::pass || task.pass == Pass::forward || task.stage != stage) return false;
        const Work& work = work_of(id);
        const auto units = groups_[static_cast<std::size_t>(stage)].of_unit.begin() + work.first_unit;
        return std::find(units, units + work.units, group) != units + work.units;
    }

    /// The task between groups that follows a reduction inside one, or that itself.
    std::int32_t last_level(std::int32_t reduce) {
        if (second_level_.empty()) {
            for (const Stream& stream : graph_.streams) {
                if (stream.lane != Lane::dp_replica) continue;
                for (std::int32_t id = stream.first; id < stream.last; ++id) {
                    second_level_[graph_.deps[graph_.tasks[static_cast<std::size_t>(id)].first_dep]] = id;
                }
            }
        }
        const auto found = second_level_.find(reduce);
        return found == second_level_.end() ? reduce : found->second;
    }

    const TaskGraph& graph_;
    int weight_;    ///< bytes of an element
    int gradient_;  ///< bytes of an element
    std::vector<ShardGroups> groups_;
    std::map<Key, std::int32_t> searched_;
    std::map<std::int32_t, std::int32_t> second_level_;
    std::vector<Holding> holdings_;
};

}  // namespace

std::vector<Holding> message_holdings(const Job& job, const TaskGraph& graph) {
    return MessageHoldings(job, graph).run();
}

std::vector<Holding> counted_shard_holdings(const Job& job, const TaskGraph& graph) {
    if (graph.gathered.empty() && graph.reduced.empty()) return {};
    return ShardHoldings(job, graph).run();
}

}  // namespace foreshard
