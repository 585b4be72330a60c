#include "sim/plan/data_parallel/shard_plan.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "sim/plan/op_graph.hpp"
#include "sim/plan/parameters.hpp"
#include "sim/plan/task_graph.hpp"

namespace foreshard {

namespace {

/// DeepSpeed zero/config.py: stage3_max_reuse_distance, also the default of stage3_max_live_parameters.
constexpr double max_reuse_distance = 1e9;

bool needs_parameters(Pass pass) {
    return pass != Pass::weight_grad;
}

/// Walks the actions once; what is gathered at a moment is the state.
class ShardPlanner {
public:
    ShardPlanner(const std::vector<Action>& actions, const std::vector<ShardGroups>& groups,
                 const ShardOptions& options)
        : actions_(actions), groups_(groups), options_(options) {
        for (std::size_t i = 0; i < actions.size(); ++i) {
            const auto index = static_cast<std::int32_t>(i);
            if (actions[i].pass == Pass::backward || actions[i].pass == Pass::input_grad) last_input_[stage(i)] = index;
            if (actions[i].pass == Pass::backward || actions[i].pass == Pass::weight_grad)
                last_weight_[stage(i)] = index;
        }
    }

    ShardPlan plan() {
        for (std::size_t i = 0; i < actions_.size(); ++i) add_action(static_cast<std::int32_t>(i));
        limit_gathers();
        order_lane();
        return std::move(plan_);
    }

private:
    using Key = std::pair<std::int32_t, std::int32_t>;  ///< stage, group

    std::int32_t stage(std::size_t action) const { return actions_[action].stage; }

    void add_action(std::int32_t index) {
        const Action& action = actions_[static_cast<std::size_t>(index)];
        const std::vector<std::int32_t>& of_unit = groups_[static_cast<std::size_t>(action.stage)].of_unit;
        const auto count = static_cast<std::int32_t>(of_unit.size());
        const auto first = static_cast<std::int32_t>(plan_.items.size());
        const auto same = [&](std::int32_t a, std::int32_t b) {
            return of_unit[static_cast<std::size_t>(a)] == of_unit[static_cast<std::size_t>(b)];
        };
        for (std::int32_t done = 0; done < count;) {
            std::int32_t units = 1;
            if (action.pass == Pass::forward) {
                while (done + units < count && same(done, done + units)) ++units;
                add_item(index, done, units);
            } else {
                const std::int32_t last = count - 1 - done;
                while (units <= last && same(last, last - units)) ++units;
                add_item(index, last - units + 1, units);
            }
            done += units;
        }
        drain(action, first);
        finish(action, index, first);
    }

    void add_item(std::int32_t action, std::int32_t first_unit, std::int32_t units) {
        ShardItem item{action, first_unit, units};
        const Action& a = actions_[static_cast<std::size_t>(action)];
        const Key key{a.stage, group_of(item)};
        const auto here = static_cast<std::int32_t>(plan_.items.size());
        if (needs_parameters(a.pass) && group(key).elements > 0.0) {
            if (gathered_.find(key) == gathered_.end()) {
                item.gather = static_cast<std::int32_t>(plan_.gathers.size());
                gathered_[key] = item.gather;
                plan_.gathers.push_back({key.first, key.second, here, here, -1});
            }
            plan_.gathers[static_cast<std::size_t>(gathered_[key])].last_item = here;
        }
        plan_.items.push_back(item);
        if (a.pass == Pass::forward && !group(key).kept) gathered_.erase(key);
    }

    /// Without a pipeline a backward ends with a wait for its reductions (FSDP's _post_backward_final_callback), and
    /// the next forward's gathers wait for all compute before them (_wait_for_computation_stream).
    void drain(const Action& action, std::int32_t first) {
        if (!options_.drains || action.pass != Pass::forward || first == 0) return;
        plan_.items[static_cast<std::size_t>(first)].after_reduce = static_cast<std::int32_t>(plan_.reduces.size()) - 1;
        for (ShardGather& gather : plan_.gathers) {
            if (gather.first_item >= first) gather.after_item = std::max(gather.after_item, first - 1);
        }
    }

    /// Reductions of groups whose last stretch of the pass this is, and freeing.
    void finish(const Action& action, std::int32_t index, std::int32_t first) {
        if (action.pass == Pass::forward) return;
        const bool weights = action.pass != Pass::input_grad;
        const bool reduces = weights && (options_.every_microbatch || last_weight_[action.stage] == index);
        std::vector<bool> seen(groups_[static_cast<std::size_t>(action.stage)].groups.size(), false);
        std::vector<ShardReduce> found;
        for (auto i = static_cast<std::int32_t>(plan_.items.size()) - 1; i >= first; --i) {
            const std::int32_t g = group_of(plan_.items[static_cast<std::size_t>(i)]);
            if (seen[static_cast<std::size_t>(g)]) continue;
            seen[static_cast<std::size_t>(g)] = true;
            const Key key{action.stage, g};
            if (reduces && group(key).elements > 0.0) found.push_back({action.stage, g, i});
            if (needs_parameters(action.pass) && frees(key, index)) gathered_.erase(key);
        }
        plan_.reduces.insert(plan_.reduces.end(), found.rbegin(), found.rend());
    }

    bool frees(const Key& key, std::int32_t index) {
        return !group(key).kept || options_.frees_in_backward || last_input_[key.first] == index;
    }

    void limit_gathers() {
        const auto in_flight = static_cast<std::size_t>(options_.prefetch) + 1;
        for (std::size_t k = in_flight; k < plan_.gathers.size(); ++k) {
            ShardGather& gather = plan_.gathers[k];
            gather.after_item = std::max(gather.after_item, plan_.gathers[k - in_flight].first_item);
        }
    }

    /// The host issues an item's gathers in front of it and its reduction behind it.
    void order_lane() {
        std::size_t gather = 0;
        std::size_t reduce = 0;
        for (std::size_t i = 0; i < plan_.items.size(); ++i) {
            const auto index = static_cast<std::int32_t>(i);
            ShardItem& item = plan_.items[i];
            for (; gather < plan_.gathers.size() && plan_.gathers[gather].after_item < index; ++gather) {
                plan_.lane.push_back({false, static_cast<std::int32_t>(gather)});
                if (plan_.gathers[gather].first_item > index) item.under_gather = static_cast<std::int32_t>(gather);
            }
            if (item.after_reduce < 0 && reduce > 0 && plan_.reduces[reduce - 1].item + 1 == index) {
                item.under_reduce = static_cast<std::int32_t>(reduce) - 1;
            }
            for (; reduce < plan_.reduces.size() && plan_.reduces[reduce].item == index; ++reduce) {
                plan_.lane.push_back({true, static_cast<std::int32_t>(reduce)});
            }
        }
    }

    std::int32_t group_of(const ShardItem& item) const {
        const Action& action = actions_[static_cast<std::size_t>(item.action)];
        return groups_[static_cast<std::size_t>(action.stage)].of_unit[static_cast<std::size_t>(item.first_unit)];
    }
    const ShardGroup& group(const Key& key) const {
        return groups_[static_cast<std::size_t>(key.first)].groups[static_cast<std::size_t>(key.second)];
    }

    const std::vector<Action>& actions_;
    const std::vector<ShardGroups>& groups_;
    ShardOptions options_;
    ShardPlan plan_;
    std::map<Key, std::int32_t> gathered_;  ///< what is gathered now, by which gather
    std::map<std::int32_t, std::int32_t> last_input_;
    std::map<std::int32_t, std::int32_t> last_weight_;
};

double elements_of(const OpBlock& block) {
    return static_cast<double>(block.parameters + block.expert_parameters);
}

/// ZeRO-3: the distance from forward to backward is all that comes after, twice.
void keep_what_is_used_soon(ShardGroups& stage) {
    double after = 0.0;
    for (std::size_t i = stage.groups.size(); i-- > 0;) {
        auto& group = stage.groups[i];
        group.kept = 2.0 * after + group.elements < max_reuse_distance;
        after += group.elements;
    }
}

/// Per unit the first of those that are rebuilt together with it, or itself.
std::vector<std::size_t> first_rebuilt(const StageOps& stage, const std::vector<Unit>& units) {
    std::vector<std::size_t> first(units.size());
    for (std::size_t u = 0; u < units.size(); ++u) {
        first[u] = u;
        const int layers = rebuilt_layers(stage.blocks[static_cast<std::size_t>(units[u].block)]);
        for (int i = 0; i < layers; ++i)
            first[u - static_cast<std::size_t>(i)] = u + 1 - static_cast<std::size_t>(layers);
    }
    return first;
}

}  // namespace

ShardGroups shard_groups(const Job& job, const StageOps& stage) {
    const bool tied_here = job.model.tied_embeddings && job.plan.pp == 1;
    const bool one_root = job.plan.data_parallel == DataParallelKind::fsdp1 || tied_here;
    ShardGroups result;
    std::int32_t root = -1;
    const std::vector<Unit> units = stage_units(stage);
    const std::vector<std::size_t> first = first_rebuilt(stage, units);
    for (std::size_t u = 0; u < units.size(); ++u) {
        const OpBlock& block = stage.blocks[static_cast<std::size_t>(units[u].block)];
        if (first[u] < u) {
            result.of_unit.push_back(result.of_unit[first[u]]);
            result.groups.back().elements += elements_of(block);
            continue;
        }
        const bool end = block.kind == BlockKind::embedding || block.kind == BlockKind::head;
        if (end && one_root && root >= 0) {
            result.of_unit.push_back(root);
            result.groups[static_cast<std::size_t>(root)].elements += elements_of(block);
            continue;
        }
        const auto group = static_cast<std::int32_t>(result.groups.size());
        if (end && one_root) root = group;
        const bool kept = !job.plan.reshard_after_forward || (end && (one_root || block.kind == BlockKind::head));
        result.of_unit.push_back(group);
        result.groups.push_back({elements_of(block), kept});
    }
    if (!is_fsdp(job.plan.data_parallel) && job.plan.reshard_after_forward) keep_what_is_used_soon(result);
    return result;
}

ShardPlan plan_shards(const std::vector<Action>& actions, const std::vector<ShardGroups>& groups,
                      const ShardOptions& options) {
    return ShardPlanner(actions, groups, options).plan();
}

}  // namespace foreshard
