#include "sim/search/space.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/error.hpp"
#include "sim/search/axes.hpp"
#include "sim/search/forms.hpp"
#include "sim/spec/calibration.hpp"
#include "sim/spec/catalogue.hpp"
#include "sim/spec/data_parallel.hpp"
#include "sim/spec/request_text.hpp"
#include "sim/spec/resolve_options.hpp"
#include "sim/spec/schedule_kinds.hpp"
#include "sim/spec/suggest.hpp"

namespace foreshard {

namespace {

/// A calibration brings the machine and the profile that it was measured with, as resolve() has it.
void take_calibration(JobRequest& base) {
    if (!base.calibration) return;
    if (const auto* name = std::get_if<std::string>(&*base.calibration)) base.calibration = load_calibration(*name);
    const Calibration& calibration = *std::get<SharedCalibration>(*base.calibration);
    if (!base.cluster && calibration.cluster) base.cluster = *calibration.cluster;
    if (!base.software && !calibration.machine.software.empty()) base.software = calibration.machine.software;
}

class SpaceMaker {
public:
    explicit SpaceMaker(const SearchRequest& request) : axes_(request) {
        refuse_unsearched(request.base);
        space_.base = with_specs(request.base);
        settle_numerics();
    }

    Space make() {
        settle_choices();
        make_cells();
        space_.text = axes_.text();
        return std::move(space_);
    }

private:
    JobRequest neutral() const {
        JobRequest request = space_.base;
        request.tp = request.cp = request.ep = request.pp = request.vpp = 1;
        request.dp = *request.gpus;
        request.mbs = 1;
        request.schedule = "none";
        request.zero = 0;
        return request;
    }

    void settle_numerics();
    void settle_choices();
    void find_alike();
    void make_cells();
    void make_cells(Precision precision, int order);
    void add_cell(Cell cell);
    void add_grid(Cell& cell, int pp);
    void add_branches(int cell);
    void make_templates(int first_form);
    void allow(std::int64_t microbatches);
    std::int64_t plans_of(const Grid& grid) const;
    std::uint8_t rule_index(const std::string& fields);
    const std::vector<int>& forms_of(int pp);
    static std::string broken_fields(const Job& job);
    void refuse_malformed(const std::string& order) const;
    bool repeats(const Cell& cell, const Grid& grid) const;

    SearchAxes axes_;
    Space space_;
    Job base_;
    std::map<int, std::vector<int>> forms_of_pp_;
};

/// Number formats and orders; the first of each stands for what follows.
void SpaceMaker::settle_numerics() {
    for (const SearchAxis& axis : search_axes()) {
        if (axis.kept && !axes_.free(axis.name)) space_.base = with_value(std::move(space_.base), axis.name, "");
    }
    base_ = resolve(neutral());
    base_.plan.overlap_param_gather = false;  // goes with a sharded optimizer, which the neutral plan has not
    if (base_.plan.offload_activation_layers < 0) {
        throw InputError("--offload-activation-layers", "", "must not be negative; nearest: 0");
    }
    space_.precisions = axes_.precisions(base_);
    space_.orders = axes_.orders(base_);
    space_.names_precision = !axes_.free("precision") || space_.precisions.size() > 1;
    space_.names_order = !axes_.free("order") || space_.orders.size() > 1;
    if (space_.names_precision) space_.base.precision = std::string(to_string(space_.precisions.front()));
    if (space_.names_order) space_.base.order = space_.orders.front();
    base_ = resolve(neutral());
    base_.plan.overlap_param_gather = false;  // goes with a sharded optimizer, which the neutral plan has not
    for (const std::string& order : space_.orders) refuse_malformed(order);
}

void SpaceMaker::refuse_malformed(const std::string& order) const {
    Job job = base_;
    job.plan.order = order;
    for (const BrokenRule& rule : check(job)) {
        if (rule.fields == "order") throw InputError("--order", "", fmt::format("{}; {}", rule.rule, rule.nearest));
    }
}

void SpaceMaker::settle_choices() {
    space_.least_work = axes_.least_work(base_);
    space_.savings = {space_.least_work};
    space_.shardings = axes_.shardings();
    find_alike();
    space_.names_tp_overlap = axes_.full() || !axes_.free("tp_comm_overlap");
    space_.names_offload = axes_.full() || !axes_.free("offload_activation_layers");
}

void SpaceMaker::find_alike() {
    const auto without_overlaps = [&](Sharding sharding) {
        if (axes_.free("overlap_grad_reduce")) sharding.overlap_grad_reduce.reset();
        if (axes_.free("overlap_param_gather")) sharding.overlap_param_gather.reset();
        return sharding;
    };
    for (const Sharding& sharding : space_.shardings) {
        const auto first = std::find_if(space_.shardings.begin(), space_.shardings.end(), [&](const Sharding& other) {
            return without_overlaps(other) == without_overlaps(sharding);
        });
        space_.first_alike.push_back(static_cast<int>(first - space_.shardings.begin()));
    }
}

std::string SpaceMaker::broken_fields(const Job& job) {
    const std::vector<BrokenRule> broken = check(job);
    return broken.empty() ? "" : broken.front().fields;
}

const std::vector<int>& SpaceMaker::forms_of(int pp) {
    const auto known = forms_of_pp_.find(pp);
    if (known != forms_of_pp_.end()) return known->second;
    const int first = static_cast<int>(space_.forms.size());
    append_forms(axes_, base_, pp, space_);
    make_templates(first);
    std::vector<int>& forms = forms_of_pp_[pp];
    for (int f = first; f < static_cast<int>(space_.forms.size()); ++f) forms.push_back(f);
    return forms;
}

void SpaceMaker::make_templates(int first_form) {
    for (auto f = static_cast<std::size_t>(first_form); f < space_.forms.size(); ++f) {
        const PipelineForm& form = space_.forms[f];
        std::vector<Job>& templates = space_.templates.emplace_back();
        for (const Sharding& sharding : space_.shardings) {
            JobRequest request = neutral();
            request.pp = form.pp;
            request.vpp = form.vpp;
            request.dp.reset();
            request.schedule = std::string(to_string(form.schedule));
            set_sharding(sharding, request);
            templates.push_back(resolve(request));
            templates.back().assumptions.clear();
        }
    }
}

void SpaceMaker::make_cells() {
    for (const Precision precision : space_.precisions) {
        for (int order = 0; order < static_cast<int>(space_.orders.size()); ++order) make_cells(precision, order);
    }
}

void SpaceMaker::make_cells(Precision precision, int order) {
    const auto gpus = *space_.base.gpus;
    for (const int tp : axes_.degrees("tp", gpus)) {
        for (const int cp : axes_.degrees("cp", gpus)) {
            if (gpus % (std::int64_t{1} * tp * cp) != 0 && axes_.free("tp") && axes_.free("cp")) continue;
            for (const int ep : axes_.expert_degrees(base_.model, gpus)) {
                for (const int etp : axes_.expert_tp(base_.model, tp)) add_cell({precision, order, tp, cp, ep, etp});
            }
        }
    }
}

void SpaceMaker::add_cell(Cell cell) {
    for (const int pp : axes_.pipelines(*space_.base.gpus, base_.model.num_layers)) add_grid(cell, pp);
    if (cell.grids.empty()) return;
    for (const SequenceParallel sp : axes_.sequence_parallel(cell.tp)) {
        Job job = base_;
        set_cell(space_, cell, job.plan);
        job.plan.dp = cell.grids.front().dp;
        job.plan.pp = 1;
        job.gpus = cell.tp * cell.cp * job.plan.dp;
        job.global_batch = job.plan.dp;
        job.plan.sequence_parallel = sp.on;
        job.plan.tp_comm_overlap = sp.overlap;
        const std::vector<BrokenRule> broken = check(job);
        const auto rule = std::find_if(broken.begin(), broken.end(), [](const BrokenRule& r) {
            return r.fields == "seq_length, cp, tp, sp" || r.fields == "tp_comm_overlap, tp, sp";
        });
        if (rule == broken.end()) {
            cell.sp.push_back(sp);
            continue;
        }
        for (const Grid& grid : cell.grids) space_.refuse(cell.tp, grid.pp, rule->fields, plans_of(grid));
    }
    if (cell.sp.empty()) return;
    space_.cells.push_back(std::move(cell));
    add_branches(static_cast<int>(space_.cells.size()) - 1);
}

std::int64_t SpaceMaker::plans_of(const Grid& grid) const {
    std::size_t count = 0;
    for (const int form : grid.forms) count += space_.forms[static_cast<std::size_t>(form)].savings.size();
    return static_cast<std::int64_t>(std::max<std::size_t>(count, 1) * space_.shardings.size());
}

/// The same plans with ranks of the pipeline and replicas in another order, where one of them is a single rank.
bool SpaceMaker::repeats(const Cell& cell, const Grid& grid) const {
    const bool own = cell.order > 0 && axes_.free("order");
    return own && (grid.pp == 1 || grid.dp == 1);
}

/// Rules on degrees, heads, widths and the batch are looked at once a grid, with an even split of layers.
void SpaceMaker::add_grid(Cell& cell, int pp) {
    const std::int64_t model_ranks = std::int64_t{1} * cell.tp * cell.cp * pp;
    const std::int64_t gpus = *space_.base.gpus;
    if (gpus % model_ranks != 0) {
        if (axes_.named("tp", cell.tp) || axes_.named("cp", cell.cp) || axes_.named("pp", pp)) {
            space_.refuse(cell.tp, pp, "gpus, dp, tp, pp, cp", 1);
        }
        return;
    }
    Grid grid{pp, static_cast<int>(gpus / model_ranks), {}};
    if (!axes_.allows("dp", grid.dp) || repeats(cell, grid)) return;
    grid.forms = forms_of(pp);
    if (grid.forms.empty()) {
        space_.refuse(cell.tp, pp, "num_layers, pp, vpp", 1);
        return;
    }
    Job job = base_;
    set_cell(space_, cell, job.plan);
    job.plan.tp_comm_overlap = false;                                     // is looked at with sequence parallelism
    job.plan.offload_parameters = job.plan.overlap_param_gather = false;  // and these with the sharding
    job.plan.offload_activation_layers = 0;                               // and this with the form
    job.plan.pp = pp;
    job.plan.dp = grid.dp;
    job.plan.schedule = pp > 1 ? ScheduleKind::gpipe : ScheduleKind::none;
    job.plan.layout = to_string(even_layout(job.model.num_layers, pp));
    const std::string broken = broken_fields(job);
    if (!broken.empty()) {
        space_.refuse(cell.tp, pp, broken, plans_of(grid));
        return;
    }
    std::int64_t refused = 0;
    for (const int form : grid.forms) refused += space_.forms[static_cast<std::size_t>(form)].refused_savings;
    if (refused > 0) {
        space_.refuse(cell.tp, pp, "recompute_num_layers, offload_activation_layers, num_layers, pp, vpp",
                      refused * static_cast<std::int64_t>(space_.shardings.size()));
    }
    cell.grids.push_back(std::move(grid));
}

void SpaceMaker::add_branches(int cell) {
    const Cell& here = space_.cells[static_cast<std::size_t>(cell)];
    std::vector<std::int64_t> sizes;
    for (const Grid& grid : here.grids) {
        const std::int64_t per_replica = *space_.base.gbs / grid.dp;
        for (const std::int64_t mbs : axes_.micro_batches(per_replica)) {
            if (per_replica % mbs != 0) {
                space_.refuse(here.tp, grid.pp, "global_batch_size, micro_batch_size, dp",
                              plans_of(grid) * static_cast<std::int64_t>(here.sp.size()));
                continue;
            }
            sizes.push_back(mbs);
            allow(per_replica / mbs);
        }
    }
    std::sort(sizes.begin(), sizes.end());
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    for (const std::int64_t mbs : sizes) {
        for (const SequenceParallel sp : here.sp) space_.branches.push_back({cell, mbs, sp});
    }
}

std::uint8_t SpaceMaker::rule_index(const std::string& fields) {
    const auto known = std::find(space_.rules.begin(), space_.rules.end(), fields);
    if (known == space_.rules.end()) space_.rules.push_back(fields);
    return static_cast<std::uint8_t>(std::find(space_.rules.begin(), space_.rules.end(), fields) -
                                     space_.rules.begin());
}

/// Rules on the schedule and on sharding depend on the form and on how many micro-batches there are.
void SpaceMaker::allow(std::int64_t microbatches) {
    const std::size_t shardings = space_.shardings.size();
    std::vector<std::uint8_t>& forbids = space_.forbids[microbatches];
    for (std::size_t f = forbids.size() / shardings; f < space_.forms.size(); ++f) {
        for (const Job& known : space_.templates[f]) {
            Job job = known;
            // Groups of replicas follow from the grid (set_plan) where they are not given.
            job.plan.dp = 4;
            if (!space_.base.fsdp_shard_size) job.plan.fsdp_shard_size = std::min(job.plan.fsdp_shard_size, 2);
            if (!space_.base.zero_shard_size) job.plan.zero_shard_size = std::min(job.plan.zero_shard_size, 2);
            job.gpus = 4 * job.plan.pp;
            job.global_batch = 4 * microbatches;
            job.plan.tp_comm_overlap = false;
            job.plan.offload_activation_layers = 0;
            set_layout(space_.forms[f], job.plan);
            forbids.push_back(rule_index(broken_fields(job)));
        }
    }
}

}  // namespace

void Space::refuse(int tp, int pp, const std::string& fields, std::int64_t plans) {
    infeasible[fields] += plans;
    refused[{tp, pp}][fields] += plans;
}

int Space::broken_rule(int form, int sharding, std::int64_t microbatches) const {
    const std::size_t at = static_cast<std::size_t>(form) * shardings.size() + static_cast<std::size_t>(sharding);
    return forbids.at(microbatches).at(at);
}

bool Space::repeats(const Cell& cell, const Grid& grid, int form, int sharding, std::int64_t microbatches) const {
    const int first = first_alike[static_cast<std::size_t>(sharding)];
    if (first == sharding || broken_rule(form, first, microbatches) != 0) return false;
    const int ranks = cell.tp * cell.cp * grid.dp;
    const int expert_replicas = ranks / (cell.ep * (cell.etp > 0 ? cell.etp : cell.tp));
    return grid.dp * cell.cp == 1 && expert_replicas <= 1;
}

std::int64_t Space::microbatches(const Branch& branch, const Grid& grid) const {
    const std::int64_t step = branch.mbs * grid.dp;
    return *base.gbs % step == 0 ? *base.gbs / step : 0;
}

JobRequest with_specs(JobRequest base) {
    take_calibration(base);
    if (!base.model || !base.cluster || !base.gpus || !base.gbs) {
        throw InputError("search", "", "--model, --cluster, --gpus and --gbs are required");
    }
    if (const auto* name = std::get_if<std::string>(&*base.model)) base.model = load_model(*name);
    if (const auto* name = std::get_if<std::string>(&*base.cluster)) base.cluster = load_cluster(*name);
    if (!base.software) base.software = "megatron-core-te";
    if (const auto* name = std::get_if<std::string>(&*base.software)) base.software = load_software(*name);
    return base;
}

Space make_space(const SearchRequest& request) {
    return SpaceMaker(request).make();
}

}  // namespace foreshard
