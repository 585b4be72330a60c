#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "sim/search/search_request.hpp"
#include "sim/spec/job.hpp"
#include "sim/spec/layout.hpp"

/// The plans of a search, in a canonical order. A plan is a cell (number format, order of axes, degrees inside a
/// pipeline stage), a grid of it (pipeline and data-parallel sizes), a micro-batch, sequence parallelism or not, a
/// pipeline form, a sharding of the states, and what happens to saved tensors. Whatever does not depend on the rest is
/// kept once.
namespace foreshard {

/// What a virtual stage holds, dense layers in front of those with experts; stages of a kind cost the same.
struct StageKind {
    bool embedding = false;
    int dense = 0;  ///< layers
    int experts = 0;
    int mtp = 0;
    bool loss = false;
};

/// How the layers stand on stages, and stages on ranks, whatever is inside them.
struct PipelineForm {
    int pp = 1;
    int vpp = 1;
    ScheduleKind schedule = ScheduleKind::none;
    Placement placement = Placement::linear;
    std::string layout;                     ///< list of layers per stage; empty: even, or the ends count as layers
    bool ends_in_split = false;             ///< embedding and loss count as a layer each
    std::vector<int> kind;                  ///< per stage: index of Space::kinds
    std::vector<int> rank;                  ///< per stage; with two directions that of the first
    std::vector<int> rank_class;            ///< per rank: ranks of a class hold stages of the same kinds
    std::vector<std::vector<int>> classes;  ///< kinds of the stages of a rank, in the order of stages
    std::vector<int> savings;               ///< of Space::savings: those that its stages have layers for
    int refused_savings = 0;  ///< that were asked for by themselves, and that they have too few layers for
    bool two_directions() const { return placement == Placement::bidirectional; }
};

/// What is not said is the job's own or the default.
struct Sharding {
    DataParallelKind kind = DataParallelKind::ddp;
    int zero = 0;
    std::optional<bool> offload_optimizer = std::nullopt;
    std::optional<bool> offload_parameters = std::nullopt;
    std::optional<bool> overlap_grad_reduce = std::nullopt;
    std::optional<bool> overlap_param_gather = std::nullopt;
    bool operator==(const Sharding&) const = default;
};

/// What happens to tensors between forward and backward.
struct Saving {
    Recompute recompute = Recompute::none;
    RecomputeMethod method = RecomputeMethod::uniform;
    int layers = 0;     ///< of full recomputation: rebuilt at a time (uniform), or of every stage (block; 0: all)
    int offloaded = 0;  ///< first layers of every stage whose tensors wait on the host
    bool operator==(const Saving&) const = default;
    /// Every layer, each by itself.
    bool whole() const {
        return recompute == Recompute::full && (method == RecomputeMethod::uniform ? layers <= 1 : layers == 0);
    }
};

struct Grid {
    int pp = 1;
    int dp = 1;
    std::vector<int> forms;  ///< of Space::forms
};

/// Sequence parallelism, and its communication under GEMMs.
struct SequenceParallel {
    bool on = false;
    bool overlap = false;
};

struct Cell {
    Precision precision = Precision::bf16;
    int order = 0;  ///< of Space::orders
    int tp = 1;
    int cp = 1;
    int ep = 1;
    int etp = 0;  ///< 0: as tp
    std::vector<SequenceParallel> sp = {};
    std::vector<Grid> grids = {};
};

/// Plans of one cell, micro-batch and choice of sequence parallelism.
struct Branch {
    int cell = 0;
    std::int64_t mbs = 1;
    SequenceParallel sp;
};

/// A plan by its place in the space.
struct PlanKey {
    std::int32_t branch = 0;
    std::int16_t grid = 0;
    std::int16_t form = 0;  ///< of Space::forms
    std::int16_t sharding = 0;
    std::int16_t saving = 0;
    bool operator==(const PlanKey&) const = default;
    bool operator<(const PlanKey& other) const {
        return std::tie(branch, grid, form, sharding, saving) <
               std::tie(other.branch, other.grid, other.form, other.sharding, other.saving);
    }
};

/// Another order of axes than the usual one: pipeline ranks next to each other, replicas apart.
inline constexpr const char* pipeline_inside = "tp-cp-ep-pp-dp";

struct Space {
    JobRequest base;   ///< with the specs themselves in place of names
    std::string text;  ///< in words
    std::vector<PipelineForm> forms;
    std::vector<StageKind> kinds;
    std::vector<Sharding> shardings;
    /// By sharding the first that says the same but for overlaps which no constraint names.
    std::vector<int> first_alike;
    std::vector<Saving> savings;
    Saving least_work;                ///< no saving takes less time on any stage
    std::vector<std::string> orders;  ///< of axes, inner to outer
    std::vector<Precision> precisions;
    /// Axes that differ between plans or from the base, so that plans name them.
    bool names_precision = false;
    bool names_order = false;
    bool names_tp_overlap = false;
    bool names_offload = false;  ///< of saved tensors
    std::vector<Cell> cells;
    std::vector<Branch> branches;
    std::vector<std::vector<Job>> templates;  ///< [form][sharding]: defaults resolved, degrees to be set
    /// Plans that a rule of check(job) forbids, by the fields of the rule.
    std::map<std::string, std::int64_t> infeasible;
    std::map<std::pair<int, int>, std::map<std::string, std::int64_t>> refused;  ///< the same by TP and PP
    void refuse(int tp, int pp, const std::string& fields, std::int64_t plans);

    /// The rule that forbids the form with the sharding and so many micro-batches: an index of `rules`; 0: none.
    int broken_rule(int form, int sharding, std::int64_t microbatches) const;
    /// Whether a sharding is that of another plan again: without replicas nothing is reduced or gathered, and so
    /// nothing overlaps.
    bool repeats(const Cell& cell, const Grid& grid, int form, int sharding, std::int64_t microbatches) const;
    std::vector<std::string> rules = {""};                      ///< fields of rules
    std::map<std::int64_t, std::vector<std::uint8_t>> forbids;  ///< by micro-batches: [form * shardings + sharding]

    std::int64_t microbatches(const Branch& branch, const Grid& grid) const;
};

/// The request with the specs themselves in place of names, so that they are looked up once.
/// @throws InputError where model, cluster, GPUs or batch are not given
JobRequest with_specs(JobRequest base);

/// @throws InputError for malformed or contradictory constraints, and for what the search does not cover
Space make_space(const SearchRequest& request);

/// Schedule, chunks and layers of stages of a plan, in place of those that it has.
void set_form(const PipelineForm& form, JobRequest& plan);

/// Recomputation of a plan, in place of what it has; every layer by itself is the default of full recomputation.
void set_saving(const Saving& saving, JobRequest& plan);

/// What has to be said beyond the space's base to get the plan; with every axis given.
JobRequest plan_request(const Space& space, const PlanKey& key);

/// Scheme, stage, and what else the sharding says.
void set_sharding(const Sharding& sharding, JobRequest& plan);

/// Degrees inside a stage, number format and order of axes of a job's plan.
void set_cell(const Space& space, const Cell& cell, ParallelPlan& plan);

/// The template of a plan with all its degrees, without its layout: what costs and memory depend on.
void set_plan(const Space& space, const PlanKey& key, Job& job);

}  // namespace foreshard
