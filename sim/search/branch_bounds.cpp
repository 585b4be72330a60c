#include "sim/search/branch_bounds.hpp"

#include <algorithm>
#include <limits>

#include "sim/spec/data_parallel.hpp"
#include "sim/spec/schedule_kinds.hpp"

namespace foreshard {

namespace {

constexpr Picoseconds no_plans = std::numeric_limits<Picoseconds>::max();

bool same_groups(const PassGroups& a, const PassGroups& b) {
    return a.tp == b.tp && a.cp == b.cp && a.ep == b.ep;
}

}  // namespace

void BranchBounds::begin(int branch) {
    branch_ = branch;
    tables_.clear();
    yield_ = {};
    yield_.branch = branch;
    yield_.forbidden.assign(in_.space.rules.size(), 0);
}

BranchBounds::Tables& BranchBounds::tables_of(int grid) {
    const Branch& branch = in_.space.branches[static_cast<std::size_t>(branch_)];
    const Grid& shape = in_.space.cells[static_cast<std::size_t>(branch.cell)].grids[static_cast<std::size_t>(grid)];
    const GridCosts& costs = in_.grids[static_cast<std::size_t>(branch.cell)][static_cast<std::size_t>(grid)];
    for (const auto& known : tables_) {
        if (known->pipeline == (shape.pp > 1) && same_groups(known->groups, costs.groups)) return *known;
    }
    Tables& made = *tables_.emplace_back(std::make_unique<Tables>());
    made.pipeline = shape.pp > 1;
    made.groups = costs.groups;
    const PlanKey key{branch_, static_cast<std::int16_t>(grid), static_cast<std::int16_t>(shape.forms.front()), 0, 0};
    Job job = in_.space.templates[static_cast<std::size_t>(key.form)].front();
    set_plan(in_.space, key, job);
    const Bytes message = pipeline_message(job);
    const Cell& cell = in_.space.cells[static_cast<std::size_t>(branch.cell)];
    made.costs =
        std::make_unique<CostTable>(in_.space, std::move(job), in_.costs.of(cell.precision), network_, made.groups);
    if (!made.pipeline) return made;
    const auto total = [&](bool inside) {
        const CommTime time = in_.costs.tasks().send_recv(message, inside);
        return to_picoseconds(time.busy) + to_picoseconds(time.latency);
    };
    made.hop_inside = total(true);
    made.hop_across = total(false);
    return made;
}

/// The busiest rank does at least its share of all work, with the least recomputation.
Picoseconds BranchBounds::grid_floor(int grid, std::int64_t microbatches) {
    const Branch& branch = in_.space.branches[static_cast<std::size_t>(branch_)];
    const Grid& shape = in_.space.cells[static_cast<std::size_t>(branch.cell)].grids[static_cast<std::size_t>(grid)];
    return microbatches * tables_of(grid).costs->whole_model() / shape.pp;
}

/// States and workspaces of the rank with the most, of the form and sharding with the least.
BranchBounds::MemoryFloor BranchBounds::grid_memory_floor(int grid) const {
    const Branch& branch = in_.space.branches[static_cast<std::size_t>(branch_)];
    const GridCosts& costs = in_.grids[static_cast<std::size_t>(branch.cell)][static_cast<std::size_t>(grid)];
    constexpr ByteCount unknown = std::numeric_limits<ByteCount>::max();
    MemoryFloor floor{unknown, unknown};
    for (const FormSync& form : costs.forms) {
        const std::size_t classes = form.ranks.size() / in_.space.shardings.size();
        for (std::size_t s = 0; s < in_.space.shardings.size(); ++s) {
            ByteCount most = 0;
            for (std::size_t c = 0; c < classes; ++c) most = std::max(most, form.ranks[s * classes + c].held);
            floor.allocated = std::min(floor.allocated, most);
            floor.need = std::min(floor.need, most + form.runtime);
        }
    }
    return floor;
}

std::int64_t BranchBounds::count_plans(int grid, std::int64_t microbatches) const {
    const Branch& branch = in_.space.branches[static_cast<std::size_t>(branch_)];
    const Grid& shape = in_.space.cells[static_cast<std::size_t>(branch.cell)].grids[static_cast<std::size_t>(grid)];
    const Cell& cell = in_.space.cells[static_cast<std::size_t>(branch.cell)];
    std::int64_t count = 0;
    for (const int form : shape.forms) {
        const auto savings = static_cast<std::int64_t>(in_.space.forms[static_cast<std::size_t>(form)].savings.size());
        for (int s = 0; s < static_cast<int>(in_.space.shardings.size()); ++s) {
            if (in_.space.repeats(cell, shape, form, s, microbatches)) continue;
            if (in_.space.broken_rule(form, s, microbatches) == 0) count += savings;
        }
    }
    return count;
}

Picoseconds BranchBounds::floor(int branch) {
    begin(branch);
    const Branch& self = in_.space.branches[static_cast<std::size_t>(branch)];
    const Cell& cell = in_.space.cells[static_cast<std::size_t>(self.cell)];
    Picoseconds least = no_plans;
    for (std::size_t g = 0; g < cell.grids.size(); ++g) {
        const std::int64_t m = in_.space.microbatches(self, cell.grids[g]);
        if (m > 0 && in_.space.forbids.contains(m)) least = std::min(least, grid_floor(static_cast<int>(g), m));
    }
    return least;
}

BranchYield BranchBounds::expand(int branch, const Incumbents* known) {
    begin(branch);
    known_ = known;
    const Branch& self = in_.space.branches[static_cast<std::size_t>(branch)];
    const Cell& cell = in_.space.cells[static_cast<std::size_t>(self.cell)];
    for (std::size_t g = 0; g < cell.grids.size(); ++g) {
        const int grid = static_cast<int>(g);
        const std::int64_t m = in_.space.microbatches(self, cell.grids[g]);
        if (m <= 0 || !in_.space.forbids.contains(m)) continue;
        const GridYield before = counted();
        if (known_ == nullptr || !cut(grid, m)) expand_grid(grid, m);
        note_grid(grid, before);
    }
    return std::move(yield_);
}

/// Counts of the branch so far.
GridYield BranchBounds::counted() const {
    return {0, yield_.evaluated + yield_.pruned - yield_.too_large, yield_.too_large, yield_.forbidden};
}

void BranchBounds::note_grid(int grid, const GridYield& before) {
    GridYield now = counted();
    now.grid = grid;
    now.open -= before.open;
    now.too_large -= before.too_large;
    for (std::size_t rule = 0; rule < now.forbidden.size(); ++rule) now.forbidden[rule] -= before.forbidden[rule];
    yield_.grids.push_back(std::move(now));
}

bool BranchBounds::cut(int grid, std::int64_t microbatches) {
    const MemoryFloor floor = grid_memory_floor(grid);
    const bool fits = floor.need <= in_.memory_limit;
    // All work lies on the pipeline's ranks, whatever its cut: their mean busy time is the same share.
    const Picoseconds share = grid_floor(grid, microbatches);
    const std::vector<Job>& shardings = in_.space.templates.front();
    const bool all_keep =
        std::all_of(shardings.begin(), shardings.end(), [this](const Job& job) { return keeps_to_step(job); });
    if (fits && !known_->rule_out(share, floor.allocated, all_keep ? share : 0)) return false;
    const std::int64_t plans = count_plans(grid, microbatches);
    yield_.pruned += plans;
    if (!fits) yield_.too_large += plans;
    return true;
}

void BranchBounds::expand_grid(int grid, std::int64_t microbatches) {
    const Branch& branch = in_.space.branches[static_cast<std::size_t>(branch_)];
    const Grid& shape = in_.space.cells[static_cast<std::size_t>(branch.cell)].grids[static_cast<std::size_t>(grid)];
    for (std::size_t place = 0; place < shape.forms.size(); ++place) {
        expand_form(grid, static_cast<int>(place), microbatches);
    }
}

void BranchBounds::expand_form(int grid, int place, std::int64_t microbatches) {
    const Space& space = in_.space;
    const Branch& branch = space.branches[static_cast<std::size_t>(branch_)];
    const Cell& cell = space.cells[static_cast<std::size_t>(branch.cell)];
    const Grid& shape = cell.grids[static_cast<std::size_t>(grid)];
    const int form = shape.forms[static_cast<std::size_t>(place)];
    const GridCosts& costs = in_.grids[static_cast<std::size_t>(branch.cell)][static_cast<std::size_t>(grid)];
    PlanParts parts;
    parts.form = &space.forms[static_cast<std::size_t>(form)];
    parts.grid = &costs;
    parts.microbatches = microbatches;
    parts.run = run_traits(space.templates[static_cast<std::size_t>(form)].front(), *parts.form);
    const Tables& tables = tables_of(grid);
    parts.hop_inside = tables.hop_inside;
    parts.hop_across = tables.hop_across;
    for (const int saving : parts.form->savings) {
        Computed computed;
        for (std::size_t s = 0; s < space.shardings.size(); ++s) {
            if (space.repeats(cell, shape, form, static_cast<int>(s), microbatches)) continue;
            const int rule = space.broken_rule(form, static_cast<int>(s), microbatches);
            if (rule != 0) {
                ++yield_.forbidden[static_cast<std::size_t>(rule)];
                continue;
            }
            const Job& job = space.templates[static_cast<std::size_t>(form)][s];
            parts.table = &tables.costs->view(saving, shards_parameters(job.plan));
            judge(parts, costs.forms[static_cast<std::size_t>(place)],
                  {branch_, static_cast<std::int16_t>(grid), static_cast<std::int16_t>(form),
                   static_cast<std::int16_t>(s), static_cast<std::int16_t>(saving)},
                  computed);
        }
    }
}

/// Memory first; times only of plans that may fit. The pipeline's part is computed once for all shardings.
void BranchBounds::judge(PlanParts& parts, const FormSync& sync, PlanKey key, Computed& computed) {
    const Space& space = in_.space;
    const Job& job = space.templates[static_cast<std::size_t>(key.form)][static_cast<std::size_t>(key.sharding)];
    const Branch& branch = space.branches[static_cast<std::size_t>(branch_)];
    const Cell& cell = space.cells[static_cast<std::size_t>(branch.cell)];
    const bool replicated = cell.grids[static_cast<std::size_t>(key.grid)].dp * cell.cp > 1;
    const bool cut_forward = parts.table->offloads() || (replicated && shards_parameters(job.plan));
    const bool cut = cut_forward || (replicated && job.plan.overlap_grad_reduce);
    ++yield_.evaluated;
    const int group = group_size(job.plan, parts.microbatches);
    const ByteCount memory = memory_bound(parts, sync, key.sharding, cut, cut_forward, group);
    const ByteCount need = memory + sync.runtime;
    if (need > in_.memory_limit) {
        ++yield_.too_large;
        if (!yield_.closest_miss || need < yield_.closest_miss->need) yield_.closest_miss = {need, key};
        return;
    }
    parts.slack = cut ? Picoseconds{spent_count} : 0;
    if (computed.table != parts.table || computed.slack != parts.slack) pipeline_.compute(parts);
    computed = {parts.table, parts.slack};
    const StepOrder order = job.plan.skew_steps > 1                       ? StepOrder::flowing
                            : replicated && job.plan.overlap_param_gather ? StepOrder::by_rank
                                                                          : StepOrder::apart;
    const Candidate plan{pipeline_.step(parts, sync, key.sharding, order), memory, key,
                         keeps_to_step(job) ? pipeline_.busy_time(parts, sync, key.sharding) : 0};
    if (known_ == nullptr || !known_->rule_out(plan.step_time, memory, plan.busy_time)) {
        yield_.candidates.push_back(plan);
    }
}

}  // namespace foreshard
