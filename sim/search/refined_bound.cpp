#include "sim/search/refined_bound.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "sim/engine/estimate.hpp"
#include "sim/plan/data_parallel/shard_plan.hpp"
#include "sim/plan/op_graph.hpp"
#include "sim/plan/pass_buffers.hpp"
#include "sim/spec/data_parallel.hpp"

namespace foreshard {

namespace {

/// Neighbouring units of a stage's pass. Of one pass, parts that start alike are alike.
struct PassPart {
    std::int32_t stage = 0;
    Pass pass = Pass::forward;
    std::int32_t first_unit = 0;
    std::int32_t units = 0;
};

/// F, B, I and W.
constexpr std::size_t passes_of_stage = 4;

/// Walks the lists of actions of all ranks.
class ListMemory {
public:
    ListMemory(const Job& job, const Schedule& schedule)
        : job_(job),
          schedule_(schedule),
          shapes_(op_shapes(job)),
          stages_(build_stage_ops(job, stage_layout(job))),
          least_(pass_buffers(job, shapes_, {}, Pass::forward).transient) {
        for (const StageOps& stage : stages_) {
            units_.push_back(stage_units(stage));
            leaving_.push_back(leaving_bytes(stage, job.plan.offload_activation_layers));
            buffers_.emplace_back(passes_of_stage * units_.back().size());
            if (sharded()) groups_.push_back(shard_groups(job, stage));
        }
        for (const NamedBytes& part : library_workspaces(job)) library_ += part.bytes;
    }

    ByteCount most() {
        ByteCount most = 0;
        for (int r = 0; r < schedule_.ranks; ++r) {
            const ByteCount held = sharded() ? held_in_parts(r) : held_in_passes(r);
            most = std::max(most, library_ + states(r) + held);
        }
        return most;
    }

private:
    bool replicated() const { return job_.plan.dp * job_.plan.cp > 1; }
    bool sharded() const { return replicated() && shards_parameters(job_.plan); }
    ByteCount states(int rank) const;
    const PassBuffers& buffers(const PassPart& part);
    ByteCount held_in_passes(int rank);
    ByteCount held_in_parts(int rank);

    const Job& job_;
    const Schedule& schedule_;
    OpShapes shapes_;
    std::vector<StageOps> stages_;
    std::vector<std::vector<Unit>> units_;         ///< per stage
    std::vector<std::vector<ByteCount>> leaving_;  ///< per unit: may be on the host whenever it is looked at
    std::vector<ShardGroups> groups_;              ///< the same
    std::vector<std::vector<std::optional<PassBuffers>>> buffers_;  ///< [stage][pass x units + first unit]
    ByteCount library_ = 0;
    ByteCount least_;  ///< working set of any part of a pass
};

ByteCount ListMemory::states(int rank) const {
    std::vector<int> mine;
    for (std::size_t i = 0; i < schedule_.stage_rank.size(); ++i) {
        const int stage = static_cast<int>(i) % schedule_.stages;
        if (schedule_.stage_rank[i] != rank || std::find(mine.begin(), mine.end(), stage) != mine.end()) continue;
        mine.push_back(stage);
    }
    std::int64_t dense = 0;
    std::int64_t expert = 0;
    for (const int stage : mine) {
        dense += stages_[static_cast<std::size_t>(stage)].parameters();
        expert += stages_[static_cast<std::size_t>(stage)].expert_parameters();
    }
    return state_bytes(job_, dense, expert).total();
}

const PassBuffers& ListMemory::buffers(const PassPart& part) {
    const auto stage = static_cast<std::size_t>(part.stage);
    const std::size_t place = static_cast<std::size_t>(part.pass) * units_[stage].size();
    std::optional<PassBuffers>& known = buffers_[stage][place + static_cast<std::size_t>(part.first_unit)];
    if (known) return *known;
    PassContents contents;
    for (std::int32_t u = part.first_unit; u < part.first_unit + part.units; ++u) {
        const Unit& unit = units_[stage][static_cast<std::size_t>(u)];
        const OpBlock& block = stages_[stage].blocks[static_cast<std::size_t>(unit.block)];
        contents.saved += block.saved - leaving_[stage][static_cast<std::size_t>(u)];
        contents.until_weight_grad += kept_until_weight_grad(job_, block);
        contents.largest_working_set = std::max(contents.largest_working_set, block.working_set);
        contents.embedding |= block.kind == BlockKind::embedding;
        contents.head |= block.kind == BlockKind::head;
    }
    return known.emplace(pass_buffers(job_, shapes_, contents, part.pass));
}

/// Passes may be cut, backwards for buckets, all for layers that leave: then only the ends are looked at, in front of
/// the first part and behind the last.
ByteCount ListMemory::held_in_passes(int rank) {
    const bool buckets = replicated() && job_.plan.overlap_grad_reduce;
    const bool copies = job_.plan.offload_activation_layers > 0;
    ByteCount held = 0;
    ByteCount most = 0;
    for (const Action& action : schedule_.actions[static_cast<std::size_t>(rank)]) {
        const auto units = static_cast<std::int32_t>(units_[static_cast<std::size_t>(action.stage)].size());
        const PassBuffers& pass = buffers({action.stage, action.pass, 0, units});
        const bool cut = copies || (buckets && action.pass != Pass::forward);
        most = std::max(most, held + (cut ? least_ : pass.acquired + pass.transient));
        held += pass.acquired - pass.released;
        if (!cut) most = std::max(most, held + pass.tail);
    }
    return most;
}

/// Sharded parameters are there from the first part that needs them to the last, whole gradients while the part runs
/// that completes them. What is gathered ahead, or waits for its reduction, is left out: times decide.
ByteCount ListMemory::held_in_parts(int rank) {
    const std::vector<Action>& actions = schedule_.actions[static_cast<std::size_t>(rank)];
    const bool alone = schedule_.ranks == 1;
    const ShardPlan plan =
        plan_shards(actions, groups_, {job_.plan.prefetch_layers, job_.plan.sync_every_microbatch, alone, alone});
    const auto bytes = [&](std::int32_t stage, std::int32_t group) {
        const auto& groups = groups_[static_cast<std::size_t>(stage)].groups;
        const double elements = groups[static_cast<std::size_t>(group)].elements;
        // Less one for rounding.
        return std::max(static_cast<ByteCount>(elements * activation_bytes(job_.plan.precision)) - 1, ByteCount{0});
    };
    std::vector<ByteCount> gathered(plan.items.size() + 1, 0);  // changes
    for (const ShardGather& gather : plan.gathers) {
        gathered[static_cast<std::size_t>(gather.first_item)] += bytes(gather.stage, gather.group);
        gathered[static_cast<std::size_t>(gather.last_item) + 1] -= bytes(gather.stage, gather.group);
    }
    std::vector<ByteCount> completed(plan.items.size(), 0);
    for (const ShardReduce& reduce : plan.reduces) {
        completed[static_cast<std::size_t>(reduce.item)] += bytes(reduce.stage, reduce.group);
    }
    const bool copies = job_.plan.offload_activation_layers > 0;
    ByteCount parameters = 0;
    ByteCount held = 0;
    ByteCount most = 0;
    for (std::size_t i = 0; i < plan.items.size(); ++i) {
        const ShardItem& item = plan.items[i];
        const Action& action = actions[static_cast<std::size_t>(item.action)];
        const PassBuffers& part = buffers({action.stage, action.pass, item.first_unit, item.units});
        parameters += gathered[i];
        const ByteCount working = copies && item.units > 1 ? least_ : part.acquired + part.transient;
        most = std::max(most, parameters + completed[i] + held + working);
        held += part.acquired - part.released;
    }
    return most;
}

}  // namespace

ByteCount refined_memory(const Job& job, const Schedule& schedule) {
    const bool elsewhere = job.software.structure.counts_buffers || schedule.vocabulary;
    return elsewhere ? 0 : ListMemory(job, schedule).most();
}

Picoseconds refined_step_time(const Job& job, const Schedule& schedule, const CostModel& cost,
                              const NetworkModel& network) {
    return estimate(job, schedule, cost, network).step_time;
}

}  // namespace foreshard
