#include "sim/search/neighbour_plans.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "sim/search/axes.hpp"
#include "sim/search/forms.hpp"
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

struct ShardingSwitch {
    const char* axis;
    std::optional<bool> Sharding::*wanted;
    std::optional<bool> JobRequest::*said;
};
constexpr std::array<ShardingSwitch, 4> sharding_switches = {{
    {"overlap_grad_reduce", &Sharding::overlap_grad_reduce, &JobRequest::overlap_grad_reduce},
    {"overlap_param_gather", &Sharding::overlap_param_gather, &JobRequest::overlap_param_gather},
    {"offload_optimizer", &Sharding::offload_optimizer, &JobRequest::offload_optimizer},
    {"offload_parameters", &Sharding::offload_parameters, &JobRequest::offload_parameters},
}};

std::vector<std::string> words_of(const std::vector<Precision>& precisions) {
    std::vector<std::string> words;
    words.reserve(precisions.size());
    for (const Precision precision : precisions) words.emplace_back(to_string(precision));
    return words;
}

class NeighbourMaker {
public:
    NeighbourMaker(const SearchRequest& request, const SearchOutcome& outcome)
        : axes_(request), base_(outcome.loaded), best_(outcome.plans.front().plan), job_(resolve(merge(base_, best_))) {
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
    bool set_degree(JobRequest& plan, std::optional<int> JobRequest::*member, int value);
    void add_micro_batches();
    void add_chunks();
    void add_schedules();
    void add_splits();
    void add_shardings(bool of_other_kinds);
    void add_words(const std::string& axis, const std::vector<std::string>& words);
    void add_sequence_parallel(const std::string& axis);
    void add_switch(const std::string& axis, std::optional<bool> Sharding::*wanted,
                    std::optional<bool> JobRequest::*said);
    void add_savings(const std::string& axis);
    void add_saving(const Saving& saving);
    int layers_now(RecomputeMethod method) const;
    static void set_sequence_parallel(const SequenceParallel& sp, JobRequest& plan);
    bool add(const std::string& axis, const Change& change);
    bool follow(JobRequest& plan) const;
    bool take_form(JobRequest& plan, const std::function<bool(const PipelineForm&)>& wanted);
    bool is_best_pipeline(const PipelineForm& form) const {
        return to_string(form.schedule) == *best_.schedule && form.vpp == *best_.vpp;
    }
    const std::vector<PipelineForm>& forms_of(int pp);
    std::vector<Saving> form_savings(int pp);
    int gpus() const { return *base_.gpus; }

    SearchAxes axes_;
    const JobRequest& base_;
    const JobRequest& best_;
    Job job_;
    std::map<int, Space> forms_;  ///< by pipeline ranks: forms and savings only
    std::set<std::string> seen_;  ///< plans, as flags: one may be reached in two ways
    std::vector<Neighbour> made_;
};

const std::vector<PipelineForm>& NeighbourMaker::forms_of(int pp) {
    const auto [known, is_new] = forms_.try_emplace(pp);
    if (is_new) append_forms(axes_, job_, pp, known->second);
    return known->second.forms;
}

/// Of the best plan's form, with as many layers on the host.
std::vector<Saving> NeighbourMaker::form_savings(int pp) {
    std::vector<Saving> own;
    for (const PipelineForm& form : forms_of(pp)) {
        if (!is_best_pipeline(form) || form.layout != best_.layout.value_or("")) continue;
        for (const int saving : form.savings) {
            own.push_back(forms_.at(pp).savings[static_cast<std::size_t>(saving)]);
        }
        break;
    }
    std::erase_if(own, [&](const Saving& saving) { return saving.offloaded != job_.plan.offload_activation_layers; });
    return own;
}

/// The form that is nearest to the plan's own: the same schedule, then as many chunks. False where none is wanted.
bool NeighbourMaker::take_form(JobRequest& plan, const std::function<bool(const PipelineForm&)>& wanted) {
    const PipelineForm* nearest = nullptr;
    const auto distance = [&](const PipelineForm& form) {
        return std::tuple(to_string(form.schedule) != *best_.schedule, std::abs(form.vpp - *best_.vpp),
                          form.layout.empty() == best_.layout.has_value());
    };
    for (const PipelineForm& form : forms_of(*plan.pp)) {
        if (wanted(form) && (nearest == nullptr || distance(form) < distance(*nearest))) nearest = &form;
    }
    if (nearest != nullptr) set_form(*nearest, plan);
    return nearest != nullptr;
}

void NeighbourMaker::set_sequence_parallel(const SequenceParallel& sp, JobRequest& plan) {
    plan.sp = sp.on;
    if (plan.tp_comm_overlap) plan.tp_comm_overlap = sp.overlap;
}

/// What the degrees leave: replicas, sequence parallelism, experts, and a micro-batch that divides a replica's batch.
/// Rules are left to check(). False where the constraints allow no such plan.
bool NeighbourMaker::follow(JobRequest& plan) const {
    const std::int64_t model_ranks = std::int64_t{1} * *plan.tp * *plan.cp * *plan.pp;
    if (gpus() % model_ranks != 0) return true;
    plan.dp = static_cast<int>(gpus() / model_ranks);
    if (!axes_.allows("dp", *plan.dp)) return false;
    const std::vector<SequenceParallel> all = axes_.sequence_parallel(*plan.tp);
    if (all.empty()) return false;
    const bool has = std::any_of(all.begin(), all.end(), [&](const SequenceParallel& sp) {
        return sp.on == *plan.sp && sp.overlap == plan.tp_comm_overlap.value_or(sp.overlap);
    });
    if (!has) set_sequence_parallel(all.front(), plan);
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

bool NeighbourMaker::set_degree(JobRequest& plan, std::optional<int> JobRequest::*member, int value) {
    plan.*member = value;
    const bool same_pipeline = *plan.pp == *best_.pp;
    return follow(plan) && (same_pipeline || take_form(plan, [](const PipelineForm&) { return true; }));
}

void NeighbourMaker::add_degree(const std::string& axis, std::optional<int> JobRequest::*member,
                                std::vector<int> values) {
    for (const std::vector<int>& way : both_ways(std::move(values), (best_.*member).value_or(1))) {
        bool told = false;
        for (const int value : way) {
            const std::size_t before = made_.size();
            const bool enough = add(axis, [&](JobRequest& plan) { return set_degree(plan, member, value); });
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

/// Other layers of the same stages.
void NeighbourMaker::add_splits() {
    for (const PipelineForm& form : forms_of(*best_.pp)) {
        if (!is_best_pipeline(form) || form.layout == best_.layout.value_or("")) continue;
        add("layout", [&](JobRequest& plan) {
            set_form(form, plan);
            return true;
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

/// Where the space has but one, the best plan has it too.
void NeighbourMaker::add_words(const std::string& axis, const std::vector<std::string>& words) {
    if (words.size() < 2) return;
    for (const std::string& word : words) {
        add(axis, [&](JobRequest& plan) {
            plan = with_value(std::move(plan), axis, word);
            return true;
        });
    }
}

void NeighbourMaker::add_sequence_parallel(const std::string& axis) {
    for (const SequenceParallel& sp : axes_.sequence_parallel(*best_.tp)) {
        const bool other = axis == "sp"
                               ? sp.on != *best_.sp
                               : sp.on == *best_.sp && sp.overlap != best_.tp_comm_overlap.value_or(sp.overlap);
        if (!other) continue;
        add(axis, [&](JobRequest& plan) {
            set_sequence_parallel(sp, plan);
            return true;
        });
        return;
    }
}

/// Plans of the same scheme and stage that differ in this only.
void NeighbourMaker::add_switch(const std::string& axis, std::optional<bool> Sharding::*wanted,
                                std::optional<bool> JobRequest::*said) {
    for (const Sharding& sharding : axes_.shardings()) {
        const bool same = to_string(sharding.kind) == *best_.data_parallel && sharding.zero == *best_.zero;
        if (!same || !(sharding.*wanted) || !(best_.*said) || *(sharding.*wanted) == *(best_.*said)) continue;
        add(axis, [&](JobRequest& plan) {
            plan.*said = sharding.*wanted;
            return true;
        });
        return;
    }
}

/// Recomputation of nothing, of attention and of everything; of a part of the layers what is next to the best plan's.
void NeighbourMaker::add_savings(const std::string& axis) {
    const std::vector<Saving> savings = form_savings(*best_.pp);
    if (axis == "recompute") {
        for (const Saving& saving : savings) {
            if (saving.whole() || saving.recompute != Recompute::full) add_saving(saving);
        }
        return;
    }
    for (const RecomputeMethod method : {RecomputeMethod::block, RecomputeMethod::uniform}) {
        std::vector<int> layers;
        for (const Saving& saving : savings) {
            if (saving.recompute == Recompute::full && !saving.whole() && saving.method == method) {
                layers.push_back(saving.layers);
            }
        }
        for (const std::vector<int>& way : both_ways(std::move(layers), layers_now(method))) {
            if (!way.empty()) add_saving({Recompute::full, method, way.front()});
        }
    }
}

void NeighbourMaker::add_saving(const Saving& saving) {
    const bool part = saving.recompute == Recompute::full && best_.recompute == "full";
    add(part ? "recompute_num_layers" : "recompute", [&](JobRequest& plan) {
        set_saving(saving, plan);
        return true;
    });
}

/// As a number of layers: of every stage, or at a time.
int NeighbourMaker::layers_now(RecomputeMethod method) const {
    const bool block = method == RecomputeMethod::block;
    if (best_.recompute != "full") return 0;
    if (!best_.recompute_method) return block ? std::numeric_limits<int>::max() : 1;
    const bool same = (best_.recompute_method == "block") == block;
    return same ? best_.recompute_num_layers.value_or(0) : 0;
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
    if (axis == "balance") return add_splits();
    if (axis == "zero") return add_shardings(false);
    if (axis == "data_parallel") return add_shardings(true);
    if (axis == "sp" || axis == "tp_comm_overlap") return add_sequence_parallel(axis);
    if (axis == "recompute" || axis == "recompute_num_layers") return add_savings(axis);
    if (axis == "precision") return add_words(axis, words_of(axes_.precisions(job_)));
    if (axis == "order") return add_words(axis, axes_.orders(job_));
    for (const auto& [name, wanted, said] : sharding_switches) {
        if (axis == name) return add_switch(axis, wanted, said);
    }
}

}  // namespace

std::vector<Neighbour> neighbour_plans(const SearchRequest& request, const SearchOutcome& outcome) {
    return NeighbourMaker(request, outcome).make();
}

}  // namespace foreshard
