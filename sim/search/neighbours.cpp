#include "sim/search/neighbours.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "sim/engine/stoppable.hpp"
#include "sim/prefixes.hpp"
#include "sim/search/axes.hpp"
#include "sim/search/forms.hpp"
#include "sim/search/parallel.hpp"
#include "sim/search/search.hpp"
#include "sim/spec/request_text.hpp"

namespace foreshard {

namespace {

/// One value up and one down, and beyond these as long as rules forbid them.
template <class T>
std::vector<std::vector<T>> both_ways(std::vector<T> values, T now) {
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    const auto up = std::upper_bound(values.begin(), values.end(), now);
    const auto down = std::lower_bound(values.begin(), values.end(), now);
    return {std::vector<T>(std::make_reverse_iterator(down), values.rend()), std::vector<T>(up, values.end())};
}

class NeighbourMaker {
public:
    NeighbourMaker(const SearchRequest& request, const SearchOutcome& outcome)
        : request_(request),
          axes_(request),
          base_(outcome.loaded),
          best_(outcome.plans.front().plan),
          job_(resolve(merge(base_, best_))) {
        seen_.insert(request_flags(best_));
    }

    std::vector<Neighbour> make() {
        for (const SearchAxis& axis : search_axes()) add_axis(axis.name);
        return std::move(made_);
    }

private:
    using Change = std::function<bool(JobRequest&)>;  ///< false: the space has no such plan

    void add_axis(const std::string& axis);
    void add_degree(const std::string& axis, std::optional<int> JobRequest::*member, std::vector<int> values);
    void add_micro_batches();
    void add_chunks();
    void add_schedules();
    void add_shardings(bool of_other_kinds);
    void add_words(const std::string& axis, const std::vector<std::string>& words);
    bool add(const std::string& axis, const Change& change);
    bool follow(JobRequest& plan) const;
    bool take_form(JobRequest& plan, const std::function<bool(const PipelineForm&)>& wanted);
    const std::vector<PipelineForm>& forms_of(int pp);
    int gpus() const { return *base_.gpus; }

    const SearchRequest& request_;
    SearchAxes axes_;
    const JobRequest& base_;
    const JobRequest& best_;
    Job job_;
    std::map<int, std::vector<PipelineForm>> forms_;
    std::set<std::string> seen_;  ///< plans, as flags: one may be reached in two ways
    std::vector<Neighbour> made_;
};

const std::vector<PipelineForm>& NeighbourMaker::forms_of(int pp) {
    const auto known = forms_.find(pp);
    if (known != forms_.end()) return known->second;
    Space scratch;
    append_forms(axes_, job_, pp, scratch);
    return forms_.emplace(pp, std::move(scratch.forms)).first->second;
}

/// The form that is nearest to the plan's own: the same schedule, then as many chunks. False where none is wanted.
bool NeighbourMaker::take_form(JobRequest& plan, const std::function<bool(const PipelineForm&)>& wanted) {
    const PipelineForm* nearest = nullptr;
    const auto distance = [&](const PipelineForm& form) {
        return std::tuple(to_string(form.schedule) != *best_.schedule, std::abs(form.vpp - *best_.vpp));
    };
    for (const PipelineForm& form : forms_of(*plan.pp)) {
        if (wanted(form) && (nearest == nullptr || distance(form) < distance(*nearest))) nearest = &form;
    }
    if (nearest != nullptr) set_form(*nearest, plan);
    return nearest != nullptr;
}

/// What the degrees leave: replicas, sequence parallelism, experts, and a micro-batch that divides a replica's batch.
/// Rules are left to check(). False where the constraints allow no such plan.
bool NeighbourMaker::follow(JobRequest& plan) const {
    const std::int64_t model_ranks = std::int64_t{1} * *plan.tp * *plan.cp * *plan.pp;
    if (gpus() % model_ranks != 0) return true;
    plan.dp = static_cast<int>(gpus() / model_ranks);
    if (!axes_.allows("dp", *plan.dp)) return false;
    const std::vector<bool> sp = axes_.sequence_parallel(*plan.tp);
    if (std::find(sp.begin(), sp.end(), *plan.sp) == sp.end()) plan.sp = sp.front();
    if (plan.etp && *best_.etp == *best_.tp && *plan.tp != *best_.tp) plan.etp = plan.tp;
    if (*base_.gbs % *plan.dp != 0) return true;
    std::vector<std::int64_t> sizes = axes_.micro_batches(*base_.gbs / *plan.dp);
    if (sizes.empty()) return false;
    std::sort(sizes.begin(), sizes.end());
    const auto above = std::upper_bound(sizes.begin(), sizes.end(), *plan.mbs);
    plan.mbs = above == sizes.begin() ? *above : *std::prev(above);
    return true;
}

/// True when no rule forbids the neighbour, or the space does not have it.
bool NeighbourMaker::add(const std::string& axis, const Change& change) {
    Neighbour neighbour;
    neighbour.plan = best_;
    if (!change(neighbour.plan) || !seen_.insert(request_flags(neighbour.plan)).second) return true;
    for (PlanChange& change_made : plan_changes(best_, neighbour.plan)) {
        if (change_made.name == axis) {
            neighbour.change = std::move(change_made);
        } else {
            neighbour.follows.push_back(std::move(change_made));
        }
    }
    const std::vector<BrokenRule> broken = check(resolve(merge(base_, neighbour.plan)));
    if (!broken.empty()) {
        const BrokenRule& rule = broken.front();
        neighbour.broken = rule.nearest.empty() ? rule.rule : fmt::format("{}; nearest: {}", rule.rule, rule.nearest);
    }
    made_.push_back(std::move(neighbour));
    return broken.empty();
}

void NeighbourMaker::add_degree(const std::string& axis, std::optional<int> JobRequest::*member,
                                std::vector<int> values) {
    for (const std::vector<int>& way : both_ways(std::move(values), (best_.*member).value_or(1))) {
        bool told = false;
        for (const int value : way) {
            const std::size_t before = made_.size();
            const bool enough = add(axis, [&](JobRequest& plan) {
                plan.*member = value;
                const bool same_pipeline = *plan.pp == *best_.pp;
                return follow(plan) && (same_pipeline || take_form(plan, [](const PipelineForm&) { return true; }));
            });
            // Of values that rules forbid the first one is enough.
            if (!enough && std::exchange(told, true)) made_.resize(before);
            if (enough) break;
        }
    }
}

void NeighbourMaker::add_micro_batches() {
    for (const auto& way : both_ways(axes_.micro_batches(*base_.gbs / *best_.dp), *best_.mbs)) {
        if (way.empty()) continue;
        add("mbs", [&](JobRequest& plan) {
            plan.mbs = way.front();
            return true;
        });
    }
}

void NeighbourMaker::add_chunks() {
    std::vector<int> values;
    for (const PipelineForm& form : forms_of(*best_.pp)) values.push_back(form.vpp);
    for (const std::vector<int>& way : both_ways(std::move(values), *best_.vpp)) {
        if (way.empty()) continue;
        add("vpp", [&](JobRequest& plan) {
            return take_form(plan, [&](const PipelineForm& form) { return form.vpp == way.front(); });
        });
    }
}

void NeighbourMaker::add_schedules() {
    std::vector<ScheduleKind> kinds;
    for (const PipelineForm& form : forms_of(*best_.pp)) {
        const bool known = std::find(kinds.begin(), kinds.end(), form.schedule) != kinds.end();
        if (!known && to_string(form.schedule) != *best_.schedule) kinds.push_back(form.schedule);
    }
    for (const ScheduleKind kind : kinds) {
        add("schedule", [&](JobRequest& plan) {
            return take_form(plan, [&](const PipelineForm& form) { return form.schedule == kind; });
        });
    }
}

/// ZeRO stages of the same data parallelism one up and down, or the nearest stage of every other kind.
void NeighbourMaker::add_shardings(bool of_other_kinds) {
    std::map<std::string, std::vector<int>> stages;
    for (const Sharding& sharding : axes_.shardings()) {
        stages[std::string(to_string(sharding.kind))].push_back(sharding.zero);
    }
    if (!of_other_kinds) return add_degree("zero", &JobRequest::zero, stages[*best_.data_parallel]);
    for (const auto& [kind, values] : stages) {
        if (kind == *best_.data_parallel) continue;
        add("data_parallel", [&, &kind = kind, &values = values](JobRequest& plan) {
            plan.data_parallel = kind;
            plan.zero = *std::min_element(values.begin(), values.end(), [&](int a, int b) {
                return std::abs(a - *best_.zero) < std::abs(b - *best_.zero);
            });
            return true;
        });
    }
}

void NeighbourMaker::add_words(const std::string& axis, const std::vector<std::string>& words) {
    for (const std::string& word : words) {
        add(axis, [&](JobRequest& plan) {
            plan = with_value(std::move(plan), axis, word);
            return true;
        });
    }
}

void NeighbourMaker::add_axis(const std::string& axis) {
    const bool experts = job_.model.moe.has_value();
    if (axis == "tp") return add_degree(axis, &JobRequest::tp, axes_.degrees(axis, gpus()));
    if (axis == "cp") return add_degree(axis, &JobRequest::cp, axes_.degrees(axis, gpus()));
    if (axis == "pp") return add_degree(axis, &JobRequest::pp, axes_.pipelines(gpus(), job_.model.num_layers));
    if (axis == "ep") return add_degree(axis, &JobRequest::ep, axes_.expert_degrees(job_.model, gpus()));
    if (axis == "etp" && experts) return add_degree(axis, &JobRequest::etp, axes_.expert_tp(job_.model, *best_.tp));
    if (axis == "mbs") return add_micro_batches();
    if (axis == "vpp") return add_chunks();
    if (axis == "schedule") return add_schedules();
    if (axis == "zero") return add_shardings(false);
    if (axis == "data_parallel") return add_shardings(true);
    std::vector<std::string> words;
    if (axis == "sp") {
        for (const bool on : axes_.sequence_parallel(*best_.tp)) words.emplace_back(on ? "true" : "false");
    }
    if (axis == "recompute") {
        for (const Recompute mode : axes_.recompute(job_)) words.emplace_back(to_string(mode));
    }
    add_words(axis, words);
}

/// What is compared of a simulated plan.
struct ComparedPlan {
    Run run;  ///< accounts and step only
    Summary summary;
    PeakParts parts{};
    ByteCount need = 0;  ///< allocated and outside the allocator
};

PeakParts peak_parts(const RankMemory& memory) {
    return {memory.states.weights, memory.states.gradients, memory.states.optimizer, memory.activations,
            memory.buffers};
}

ComparedPlan compared(const Evaluation& e) {
    ComparedPlan plan;
    plan.summary = e.report.summary;
    plan.run.step_time = e.timeline.step_time();
    const RankReport* fullest = nullptr;
    for (const RankReport& rank : e.report.ranks) {
        plan.run.accounts.push_back(rank.account);
        if (fullest == nullptr || rank.memory.peak > fullest->memory.peak) fullest = &rank;
    }
    plan.parts = peak_parts(fullest->memory);
    plan.need = plan.summary.peak_memory + e.buffers.runtime_bytes();
    return plan;
}

void set_differences(const ComparedPlan& best, const ComparedPlan& other, ByteCount limit, Neighbour& neighbour) {
    const Waterfall steps = waterfall(best.run, other.run);
    neighbour.summary = other.summary;
    neighbour.step_difference = steps.step_b - steps.step_a;
    neighbour.terms = steps.difference;
    for (std::size_t i = 0; i < other.parts.size(); ++i) neighbour.peak_parts[i] = other.parts[i] - best.parts[i];
    neighbour.peak_difference = other.summary.peak_memory - best.summary.peak_memory;
    neighbour.missing_memory = std::max(other.need - limit, ByteCount{0});
}

}  // namespace

std::string_view to_string(PeakPart part) {
    static constexpr std::array<std::string_view, peak_part_count> names = {"weights", "gradients", "optimizer",
                                                                            "activations", "buffers"};
    return names[static_cast<std::size_t>(part)];
}

std::vector<PlanChange> plan_changes(const JobRequest& from, const JobRequest& to) {
    std::vector<PlanChange> changes;
    for (const RequestValue& value : changed_values(from, to)) {
        changes.push_back({value.name, request_value(from, value.name), value.text});
    }
    return changes;
}

std::vector<Neighbour> neighbours_of_best(const SearchRequest& request, const SearchOutcome& outcome,
                                          const std::stop_token& stop) {
    if (outcome.plans.empty()) return {};
    std::vector<Neighbour> all = NeighbourMaker(request, outcome).make();
    const auto limit = static_cast<ByteCount>(std::llround(outcome.memory_limit_gib * gibi));
    std::vector<std::optional<ComparedPlan>> plans(all.size());
    const auto simulated = [&](const JobRequest& plan) {
        check_stop(stop);
        return compared(evaluate(resolve(merge(outcome.loaded, plan)), stop));
    };
    parallel_for(std::max(outcome.threads, 1), all.size(), [&](std::size_t i, int) {
        if (all[i].broken.empty()) plans[i] = simulated(all[i].plan);
    });
    const ComparedPlan best = simulated(outcome.plans.front().plan);
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (plans[i]) set_differences(best, *plans[i], limit, all[i]);
    }
    return all;
}

}  // namespace foreshard
