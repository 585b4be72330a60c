#include "sim/search/forms.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/plan/schedule.hpp"
#include "sim/search/balanced_splits.hpp"
#include "sim/spec/schedule_kinds.hpp"

namespace foreshard {

namespace {

/// Layers over stages where embedding and loss take the place of a layer each; what does not divide goes to the last
/// stages, whose ranks hold fewer micro-batches. Empty where a stage would be without layers.
std::vector<int> split_with_ends(int layers, int stages) {
    const int slots = layers + 2;
    std::vector<int> counts(static_cast<std::size_t>(stages), slots / stages);
    for (int i = stages - slots % stages; i < stages; ++i) ++counts[static_cast<std::size_t>(i)];
    --counts.front();
    --counts.back();
    if (*std::min_element(counts.begin(), counts.end()) < 1) return {};
    return counts;
}

class FormMaker {
public:
    FormMaker(const SearchAxes& axes, const Job& job, int pp, Space& space)
        : axes_(axes), job_(job), pp_(pp), layers_(job.model.num_layers), space_(space) {}

    void make() {
        for (const ScheduleKind kind : axes_.schedules()) {
            if ((kind == ScheduleKind::none) != (pp_ == 1)) continue;
            for (const int chunks : chunk_counts(traits_of(kind))) add(kind, chunks);
        }
    }

private:
    std::vector<int> chunk_counts(const ScheduleTraits& traits) const;
    bool divides(int stages) const { return layers_ % stages == 0 || (layers_ + 2) % stages == 0; }
    /// Layers of stages, and how the plan says it.
    struct Split {
        std::vector<int> counts;  ///< empty: some stage would have none
        std::string layout;
        bool ends_in_split = false;
    };
    void add(ScheduleKind kind, int chunks);
    void add(PipelineForm form, const Split& split);
    Split even_split(int stages) const;
    std::vector<std::vector<int>> balanced_splits(const PipelineForm& form, int stages);
    void place(PipelineForm& form);
    void add_savings(PipelineForm& form, const std::vector<StageContents>& layout);
    int kind_of(const StageContents& contents);

    const SearchAxes& axes_;
    const Job& job_;
    int pp_;
    int layers_;
    Space& space_;
    std::vector<EndLoads> loads_;  ///< computed when first asked for
};

std::vector<int> FormMaker::chunk_counts(const ScheduleTraits& traits) const {
    std::vector<int> counts;
    const bool several = traits.chunk_rule == ChunkRule::any || traits.chunk_rule == ChunkRule::at_least_two ||
                         traits.chunk_rule == ChunkRule::even;
    const int least = traits.kind == ScheduleKind::interleaved || traits.chunk_rule == ChunkRule::even ? 2 : 1;
    const int step = traits.chunk_rule == ChunkRule::even ? 2 : 1;
    if (!several || pp_ == 1) {
        counts.push_back(pp_ == 1 ? 1 : traits.chunks);
    } else {
        for (int v = least; v <= layers_ / pp_; v += step) {
            if (axes_.full() || !axes_.free("vpp") || v == 2 || divides(pp_ * v)) counts.push_back(v);
        }
    }
    std::erase_if(counts, [&](int v) { return !axes_.allows("vpp", v); });
    return counts;
}

int FormMaker::kind_of(const StageContents& contents) {
    StageKind kind{contents.embedding, 0, 0, contents.mtp_layers, contents.loss};
    for (int i = 0; i < contents.layers; ++i) {
        (is_moe_layer(job_.model, contents.first_layer + i) ? kind.experts : kind.dense) += 1;
    }
    const auto same = [&](const StageKind& known) {
        return known.embedding == kind.embedding && known.dense == kind.dense && known.experts == kind.experts &&
               known.mtp == kind.mtp && known.loss == kind.loss;
    };
    const auto found = std::find_if(space_.kinds.begin(), space_.kinds.end(), same);
    if (found != space_.kinds.end()) return static_cast<int>(found - space_.kinds.begin());
    space_.kinds.push_back(kind);
    return static_cast<int>(space_.kinds.size()) - 1;
}

void FormMaker::add(ScheduleKind kind, int chunks) {
    PipelineForm form;
    form.pp = pp_;
    form.vpp = chunks;
    form.schedule = kind;
    ParallelPlan plan;
    plan.pp = pp_;
    plan.vpp = chunks;
    plan.schedule = kind;
    form.placement = placement_of(plan);
    const int stages = form.two_directions() ? pp_ : pp_ * chunks;
    if (layers_ < stages) return;
    std::vector<Split> splits = {even_split(stages)};
    for (const std::vector<int>& counts : balanced_splits(form, stages)) {
        const bool known =
            std::any_of(splits.begin(), splits.end(), [&](const Split& s) { return s.counts == counts; });
        if (!known) splits.push_back({counts, fmt::format("{}", fmt::join(counts, ",")), false});
    }
    // Where nothing is to be gained by balance, the even split is the balanced one.
    if (!axes_.splits(false) && splits.size() > 1) splits.erase(splits.begin());
    for (const Split& split : splits) {
        if (!split.counts.empty()) add(form, split);
    }
}

/// Layers that do not divide by the stages make room for embedding and loss.
FormMaker::Split FormMaker::even_split(int stages) const {
    if (layers_ % stages == 0) return {std::vector<int>(static_cast<std::size_t>(stages), layers_ / stages), "", false};
    std::vector<int> counts = split_with_ends(layers_, stages);
    const bool ends_in_split = (layers_ + 2) % stages == 0;
    const std::string layout = ends_in_split ? "" : fmt::format("{}", fmt::join(counts, ","));
    return {std::move(counts), layout, ends_in_split};
}

/// For layers that are kept and for recomputed ones, beside which the ends weigh less.
std::vector<std::vector<int>> FormMaker::balanced_splits(const PipelineForm& form, int stages) {
    if (pp_ == 1 || form.two_directions() || !axes_.splits(true)) return {};
    if (loads_.empty()) loads_ = {end_loads(job_, Recompute::none), end_loads(job_, Recompute::full)};
    const std::vector<int> ranks = stage_ranks(form.placement, pp_, stages);
    std::vector<std::vector<int>> splits;
    for (const EndLoads& loads : loads_) splits.push_back(split_by_load(layers_, ranks, loads));
    return splits;
}

void FormMaker::add(PipelineForm form, const Split& split) {
    form.layout = split.layout;
    form.ends_in_split = split.ends_in_split;
    Job job = job_;
    job.plan.pp = pp_;
    set_layout(form, job.plan);
    const std::vector<StageContents> layout = stage_layout(job);
    for (const StageContents& contents : layout) form.kind.push_back(kind_of(contents));
    place(form);
    add_savings(form, layout);
    space_.forms.push_back(std::move(form));
}

void FormMaker::add_savings(PipelineForm& form, const std::vector<StageContents>& layout) {
    const int stages = static_cast<int>(layout.size());
    SearchAxes::StageLayers layers{0, (layers_ + stages - 1) / stages};
    for (const StageContents& contents : layout) layers.largest = std::max(layers.largest, contents.layers);
    const SearchAxes::Savings own = axes_.savings(job_, layers);
    form.refused_savings = own.refused;
    for (const Saving& saving : own.all) {
        const auto known = std::find(space_.savings.begin(), space_.savings.end(), saving);
        form.savings.push_back(static_cast<int>(known - space_.savings.begin()));
        if (known == space_.savings.end()) space_.savings.push_back(saving);
    }
}

void FormMaker::place(PipelineForm& form) {
    const int stages = static_cast<int>(form.kind.size());
    form.rank =
        form.two_directions() ? stage_ranks(Placement::linear, pp_, stages) : stage_ranks(form.placement, pp_, stages);
    std::vector<std::vector<int>> held(static_cast<std::size_t>(pp_));
    for (std::size_t s = 0; s < form.kind.size(); ++s) {
        held[static_cast<std::size_t>(form.rank[s])].push_back(form.kind[s]);
    }
    for (std::size_t r = 0; form.two_directions() && r < held.size(); ++r) {
        held[r].push_back(form.kind[held.size() - 1 - r]);
    }
    for (const std::vector<int>& kinds : held) {
        const auto known = std::find(form.classes.begin(), form.classes.end(), kinds);
        form.rank_class.push_back(static_cast<int>(known - form.classes.begin()));
        if (known == form.classes.end()) form.classes.push_back(kinds);
    }
}

}  // namespace

void append_forms(const SearchAxes& axes, const Job& job, int pp, Space& space) {
    FormMaker(axes, job, pp, space).make();
}

void set_layout(const PipelineForm& form, ParallelPlan& plan) {
    plan.vpp = form.vpp;
    plan.schedule = form.schedule;
    plan.layout = form.layout;
    plan.embedding_in_split = plan.loss_in_split = form.ends_in_split;
}

}  // namespace foreshard
