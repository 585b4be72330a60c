#include "sim/search/space.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/error.hpp"
#include "sim/search/axes.hpp"
#include "sim/search/forms.hpp"
#include "sim/spec/catalogue.hpp"
#include "sim/spec/data_parallel.hpp"
#include "sim/spec/resolve_options.hpp"
#include "sim/spec/schedule_kinds.hpp"
#include "sim/spec/suggest.hpp"

namespace foreshard {

namespace {

class SpaceMaker {
public:
    explicit SpaceMaker(const SearchRequest& request) : axes_(request) {
        refuse_unsearched(request.base);
        space_.base = loaded(request.base);
        base_ = resolve(neutral());
        base_.plan.overlap_param_gather = false;  // goes with a sharded optimizer, which the neutral plan has not
    }

    Space make() {
        settle_choices();
        make_cells();
        space_.text = axes_.text();
        return std::move(space_);
    }

private:
    /// Names are looked up once.
    static JobRequest loaded(JobRequest base) {
        if (!base.model || !base.cluster || !base.gpus || !base.gbs) {
            throw InputError("search", "", "--model, --cluster, --gpus and --gbs are required");
        }
        if (const auto* name = std::get_if<std::string>(&*base.model)) base.model = load_model(*name);
        if (const auto* name = std::get_if<std::string>(&*base.cluster)) base.cluster = load_cluster(*name);
        if (!base.software) base.software = "megatron-core-te";
        if (const auto* name = std::get_if<std::string>(&*base.software)) base.software = load_software(*name);
        return base;
    }

    JobRequest neutral() const {
        JobRequest request = space_.base;
        request.tp = request.cp = request.ep = request.pp = request.vpp = 1;
        request.dp = *request.gpus;
        request.mbs = 1;
        request.schedule = "none";
        request.zero = 0;
        return request;
    }

    void settle_choices();
    void make_cells();
    void add_cell(int tp, int cp, int ep, int etp);
    void add_grid(Cell& cell, int pp);
    void add_branches(int cell);
    void make_templates(int first_form);
    void allow(std::int64_t microbatches);
    std::int64_t plans_of(const Grid& grid) const;
    std::uint8_t rule_index(const std::string& fields);
    const std::vector<int>& forms_of(int pp);
    static std::string broken_fields(const Job& job);

    SearchAxes axes_;
    Space space_;
    Job base_;
    std::map<int, std::vector<int>> forms_of_pp_;
};

void SpaceMaker::settle_choices() {
    space_.recompute = axes_.recompute(base_);
    space_.shardings = axes_.shardings();
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
            request.zero = sharding.zero;
            request.data_parallel = std::string(to_string(sharding.kind));
            templates.push_back(resolve(request));
            templates.back().assumptions.clear();
        }
    }
}

void SpaceMaker::make_cells() {
    const auto gpus = *space_.base.gpus;
    for (const int tp : axes_.degrees("tp", gpus)) {
        for (const int cp : axes_.degrees("cp", gpus)) {
            if (gpus % (std::int64_t{1} * tp * cp) != 0 && axes_.free("tp") && axes_.free("cp")) continue;
            for (const int ep : axes_.expert_degrees(base_.model, gpus)) {
                for (const int etp : axes_.expert_tp(base_.model, tp)) add_cell(tp, cp, ep, etp);
            }
        }
    }
}

void SpaceMaker::add_cell(int tp, int cp, int ep, int etp) {
    Cell cell{tp, cp, ep, etp, {}, {}};
    for (const int pp : axes_.pipelines(*space_.base.gpus, base_.model.num_layers)) add_grid(cell, pp);
    if (cell.grids.empty()) return;
    for (const bool sp : axes_.sequence_parallel(tp)) {
        Job job = base_;
        job.plan.tp = tp;
        job.plan.cp = cp;
        job.plan.ep = ep;
        job.plan.etp = etp;
        job.plan.dp = cell.grids.front().dp;
        job.plan.pp = 1;
        job.gpus = tp * cp * job.plan.dp;
        job.global_batch = job.plan.dp;
        job.plan.sequence_parallel = sp;
        const std::vector<BrokenRule> broken = check(job);
        const auto rule = std::find_if(broken.begin(), broken.end(),
                                       [](const BrokenRule& r) { return r.fields == "seq_length, cp, tp, sp"; });
        if (rule == broken.end()) {
            cell.sp.push_back(sp);
            continue;
        }
        for (const Grid& grid : cell.grids) space_.infeasible[rule->fields] += plans_of(grid);
    }
    if (cell.sp.empty()) return;
    space_.cells.push_back(std::move(cell));
    add_branches(static_cast<int>(space_.cells.size()) - 1);
}

std::int64_t SpaceMaker::plans_of(const Grid& grid) const {
    return static_cast<std::int64_t>(std::max<std::size_t>(grid.forms.size(), 1) * space_.shardings.size() *
                                     space_.recompute.size());
}

/// Rules on degrees, heads, widths and the batch are looked at once a grid, with an even split of layers.
void SpaceMaker::add_grid(Cell& cell, int pp) {
    const std::int64_t model_ranks = std::int64_t{1} * cell.tp * cell.cp * pp;
    const std::int64_t gpus = *space_.base.gpus;
    if (gpus % model_ranks != 0) {
        if (axes_.named("tp", cell.tp) || axes_.named("cp", cell.cp) || axes_.named("pp", pp)) {
            ++space_.infeasible["gpus, dp, tp, pp, cp"];
        }
        return;
    }
    Grid grid{pp, static_cast<int>(gpus / model_ranks), {}};
    if (!axes_.allows("dp", grid.dp)) return;
    grid.forms = forms_of(pp);
    if (grid.forms.empty()) {
        ++space_.infeasible["num_layers, pp, vpp"];
        return;
    }
    Job job = base_;
    job.plan.tp = cell.tp;
    job.plan.cp = cell.cp;
    job.plan.ep = cell.ep;
    job.plan.etp = cell.etp;
    job.plan.pp = pp;
    job.plan.dp = grid.dp;
    job.plan.schedule = pp > 1 ? ScheduleKind::gpipe : ScheduleKind::none;
    job.plan.layout = to_string(even_layout(job.model.num_layers, pp));
    const std::string broken = broken_fields(job);
    if (!broken.empty()) {
        space_.infeasible[broken] += plans_of(grid);
        return;
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
                space_.infeasible["global_batch_size, micro_batch_size, dp"] +=
                    plans_of(grid) * static_cast<std::int64_t>(here.sp.size());
                continue;
            }
            sizes.push_back(mbs);
            allow(per_replica / mbs);
        }
    }
    std::sort(sizes.begin(), sizes.end());
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    for (const std::int64_t mbs : sizes) {
        for (const bool sp : here.sp) space_.branches.push_back({cell, mbs, sp});
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
            set_layout(space_.forms[f], job.plan);
            forbids.push_back(rule_index(broken_fields(job)));
        }
    }
}

}  // namespace

int Space::broken_rule(int form, int sharding, std::int64_t microbatches) const {
    const std::size_t at = static_cast<std::size_t>(form) * shardings.size() + static_cast<std::size_t>(sharding);
    return forbids.at(microbatches).at(at);
}

std::int64_t Space::microbatches(const Branch& branch, const Grid& grid) const {
    const std::int64_t step = branch.mbs * grid.dp;
    return *base.gbs % step == 0 ? *base.gbs / step : 0;
}

Space make_space(const SearchRequest& request) {
    return SpaceMaker(request).make();
}

JobRequest plan_request(const Space& space, const PlanKey& key) {
    const Branch& branch = space.branches[static_cast<std::size_t>(key.branch)];
    const Cell& cell = space.cells[static_cast<std::size_t>(branch.cell)];
    const Grid& grid = cell.grids[static_cast<std::size_t>(key.grid)];
    const PipelineForm& form = space.forms[static_cast<std::size_t>(key.form)];
    const Sharding& sharding = space.shardings[static_cast<std::size_t>(key.sharding)];
    JobRequest plan;
    plan.tp = cell.tp;
    plan.cp = cell.cp;
    plan.ep = cell.ep;
    if (cell.etp > 0) plan.etp = cell.etp;
    plan.pp = grid.pp;
    plan.dp = grid.dp;
    plan.vpp = form.vpp;
    plan.schedule = std::string(to_string(form.schedule));
    plan.mbs = branch.mbs;
    plan.sp = branch.sp;
    plan.recompute = std::string(to_string(space.recompute[static_cast<std::size_t>(key.recompute)]));
    plan.zero = sharding.zero;
    plan.data_parallel = std::string(to_string(sharding.kind));
    if (!form.layout.empty()) plan.layout = form.layout;
    if (form.ends_in_split) plan.account_for_embedding_in_pipeline_split = true;
    if (form.ends_in_split) plan.account_for_loss_in_pipeline_split = true;
    return plan;
}

void set_plan(const Space& space, const PlanKey& key, Job& job) {
    const Branch& branch = space.branches[static_cast<std::size_t>(key.branch)];
    const Cell& cell = space.cells[static_cast<std::size_t>(branch.cell)];
    const Grid& grid = cell.grids[static_cast<std::size_t>(key.grid)];
    ParallelPlan& plan = job.plan;
    plan.tp = cell.tp;
    plan.cp = cell.cp;
    plan.ep = cell.ep;
    plan.etp = cell.etp;
    plan.pp = grid.pp;
    plan.dp = grid.dp;
    plan.sequence_parallel = branch.sp;
    plan.recompute = space.recompute[static_cast<std::size_t>(key.recompute)];
    plan.recompute_num_layers = plan.recompute == Recompute::full ? 1 : 0;
    job.micro_batch = branch.mbs;
    if (plan.data_parallel == DataParallelKind::hsdp && !space.base.fsdp_shard_size) {
        plan.fsdp_shard_size = replicas_in_node(job);
    }
    const bool in_node = job.software.structure.zero_group_in_node && !is_fsdp(plan.data_parallel);
    if (in_node && shards_optimizer(plan) && !space.base.zero_shard_size) plan.zero_shard_size = replicas_in_node(job);
}

}  // namespace foreshard
