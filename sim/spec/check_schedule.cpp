#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "sim/spec/check_run.hpp"
#include "sim/spec/data_parallel.hpp"
#include "sim/spec/schedule_kinds.hpp"
#include "sim/spec/suggest.hpp"

namespace foreshard {

namespace {

constexpr const char* batch_fields = "global_batch_size, micro_batch_size, dp, pp, schedule";

/// Rules on a schedule's shape: pp ranks and m micro-batches.
class ShapeCheck {
public:
    ShapeCheck(const Job& job, Rules& rules)
        : job_(job),
          plan_(job.plan),
          id_(traits_of(job.plan.schedule).id),
          microbatches_(microbatch_count(job)),
          rules_(rules) {}

    void run() {
        switch (plan_.schedule) {
            case ScheduleKind::interleaved:
                check_interleaving();
                break;
            case ScheduleKind::interleaved_zb:
                check_even_groups();
                break;
            case ScheduleKind::pipedream_2bw:
                // arXiv 2006.09503: a batch must cover the pipeline; p - 1 is what the order needs.
                need_microbatches(plan_.pp - 1);
                need_one_replica();
                break;
            case ScheduleKind::pipedream:
                need_one_replica();
                break;
            case ScheduleKind::dualpipe:
                need_no_overlap();
                need_whole_parameters();
                need_even_ranks();
                need_even_microbatches();
                need_microbatches(std::int64_t{2} * plan_.pp);
                break;
            case ScheduleKind::dualpipe_v:
                need_microbatches(std::int64_t{2} * plan_.pp);
                break;
            case ScheduleKind::chimera:
                need_no_overlap();
                need_whole_parameters();
                need_even_ranks();
                break;
            case ScheduleKind::none:
            case ScheduleKind::naive:
            case ScheduleKind::gpipe:
            case ScheduleKind::one_f_one_b:
            case ScheduleKind::breadth_first:
            case ScheduleKind::zb_h1:
            case ScheduleKind::zb_h2:
            case ScheduleKind::zb_1p:
            case ScheduleKind::zb_2p:
            case ScheduleKind::zb_v:
            case ScheduleKind::v_half:
            case ScheduleKind::v_min:
            case ScheduleKind::hanayo:
            case ScheduleKind::vocab_1:
            case ScheduleKind::vocab_2:
            case ScheduleKind::interlaced:
            case ScheduleKind::v_half_vocab_1:
                break;
        }
    }

private:
    void check_interleaving();
    void check_even_groups();

    void need_even_ranks() {
        if (plan_.pp % 2 == 0) return;
        rules_.push_back({"pp, schedule",
                          fmt::format("{} runs two directions over pairs of ranks, but pp {} is odd", id_, plan_.pp),
                          fmt::format("pp {} or {}", std::max(plan_.pp - 1, 2), plan_.pp + 1)});
    }

    void need_even_microbatches() {
        if (microbatches_ % 2 == 0) return;
        rules_.push_back(
            {batch_fields,
             fmt::format("{} runs half of the micro-batches in each direction, but {} are odd", id_, microbatches_),
             fmt::format("{} or {} micro-batches", microbatches_ - 1, microbatches_ + 1)});
    }

    void need_microbatches(std::int64_t least) {
        if (microbatches_ >= least) return;
        rules_.push_back({batch_fields,
                          fmt::format("{} needs at least {} micro-batches with pp {}, but there are {}", id_, least,
                                      plan_.pp, microbatches_),
                          fmt::format("a global batch of {} or more, a smaller micro-batch or dp, or schedule 1f1b",
                                      least * job_.micro_batch * plan_.dp)});
    }

    void need_one_replica() {
        if (plan_.dp * plan_.cp == 1) return;
        rules_.push_back({"dp, cp, schedule",
                          fmt::format("{} updates the weights of every rank on its own; replicated stages (dp {} x cp "
                                      "{}) are not simulated",
                                      id_, plan_.dp, plan_.cp),
                          "dp 1 and cp 1, or schedule 1f1b"});
    }

    /// Sharded parameters have no replica on another pipeline rank to be summed with.
    void need_whole_parameters() {
        if (!shards_parameters(plan_)) return;
        rules_.push_back(
            {"data_parallel, schedule",
             fmt::format("{} keeps two whole replicas of every stage; parameters sharded over data parallel "
                         "ranks are not simulated with it",
                         id_),
             "--data-parallel ddp, or schedule dualpipe-v"});
    }

    void need_no_overlap() {
        if (!plan_.overlap_grad_reduce || plan_.dp * plan_.cp == 1) return;
        rules_.push_back({"overlap_grad_reduce, schedule",
                          fmt::format("{} first sums the gradients of a stage's two replicas, so they are reduced over "
                                      "data parallel ranks after the last pass",
                                      id_),
                          "--no-overlap-grad-reduce and --no-overlap-param-gather"});
    }

    const Job& job_;
    const ParallelPlan& plan_;
    std::string_view id_;
    std::int64_t microbatches_;
    Rules& rules_;
};

std::string legal_group_sizes(int pp, std::int64_t m) {
    std::vector<int> legal;
    for (int n = pp; n <= m; ++n) {
        if (m % n == 0 || m % n >= pp) legal.push_back(n);
    }
    return join(legal);
}

/// Megatron schedules.py: p <= N <= m, and m mod N must be 0 or at least p; other groups add bubbles or deadlock.
void ShapeCheck::check_interleaving() {
    const std::int64_t m = microbatches_;
    if (m < plan_.pp) {
        rules_.push_back({"global_batch_size, micro_batch_size, dp, pp, vpp",
                          fmt::format("interleaved 1F1B needs at least pp micro-batches: {} < pp {}", m, plan_.pp),
                          fmt::format("a global batch of {} or more, a smaller micro-batch or dp, or vpp 1",
                                      plan_.pp * job_.micro_batch * plan_.dp)});
        return;
    }
    const int group = group_size(plan_, m);
    const std::int64_t rest = group > 0 ? m % group : 0;
    if (group < plan_.pp || group > m || (rest != 0 && rest < plan_.pp)) {
        rules_.push_back({"microbatch_group_size, pp, micro-batches",
                          fmt::format("group size {} with {} micro-batches and pp {}: it must lie in {} .. {}, and the "
                                      "remainder {} must be 0 or at least {}",
                                      group, m, plan_.pp, plan_.pp, m, rest, plan_.pp),
                          fmt::format("microbatch_group_size {}; or {} micro-batches", legal_group_sizes(plan_.pp, m),
                                      nearest_multiples(m, plan_.pp))});
    }
    const bool overlap = plan_.overlap_p2p.value_or(job_.software.structure.overlap_p2p);
    if (plan_.pp == 2 && !overlap) {
        rules_.push_back({"pp, vpp, overlap_p2p",
                          "interleaving with pp 2 needs overlapped p2p: without it the previous and the next rank are "
                          "the same, and two messages of one batch cannot be told apart",
                          "--overlap-p2p, pp > 2, or vpp 1"});
    }
}

/// torch.distributed.pipelining: the micro-batches must fill whole groups, of at least pp where there are as many.
void ShapeCheck::check_even_groups() {
    const int group = group_size(plan_, microbatches_);
    const std::int64_t least = std::min<std::int64_t>(plan_.pp, microbatches_);
    if (group >= least && group <= microbatches_ && microbatches_ % group == 0) return;
    std::vector<int> legal;
    for (const int n : divisors(static_cast<int>(microbatches_))) {
        if (n >= least) legal.push_back(n);
    }
    rules_.push_back({"microbatch_group_size, pp, micro-batches",
                      fmt::format("{} takes micro-batches in whole groups of at least {}, but {} are not divided by {}",
                                  id_, least, microbatches_, group),
                      fmt::format("microbatch_group_size {}; or {} micro-batches", join(legal),
                                  nearest_multiples(microbatches_, plan_.pp))});
}

bool admits(ChunkRule rule, int chunks) {
    switch (rule) {
        case ChunkRule::one:
            return chunks == 1;
        case ChunkRule::any:
            return chunks >= 1;
        case ChunkRule::at_least_two:
            return chunks >= 2;
        case ChunkRule::two:
            return chunks == 2;
        case ChunkRule::even:
            return chunks >= 2 && chunks % 2 == 0;
    }
    return false;
}

std::string wanted_chunks(ChunkRule rule) {
    switch (rule) {
        case ChunkRule::one:
            return "has one chunk a rank";
        case ChunkRule::any:
            return "has one chunk a rank or more";
        case ChunkRule::at_least_two:
            return "needs at least two chunks a rank";
        case ChunkRule::two:
            return "has two chunks a rank";
        case ChunkRule::even:
            return "has an even number of chunks a rank, two for each wave";
    }
    return "";
}

std::string nearest_chunks(const ScheduleTraits& traits, int chunks) {
    if (traits.chunk_rule == ChunkRule::one) return "interleaved-1f1b, or vpp 1";
    if (traits.chunk_rule == ChunkRule::even && chunks > 2) return fmt::format("vpp {} or {}", chunks - 1, chunks + 1);
    return traits.kind == ScheduleKind::interleaved ? "vpp 2, or schedule 1f1b" : "vpp 2, or leave --vpp out";
}

void check_chunks(const ParallelPlan& plan, const ScheduleTraits& traits, Rules& rules) {
    if (plan.vpp > 1 && plan.pp == 1) {
        rules.push_back({"vpp, pp", fmt::format("vpp {} needs a pipeline, but pp is 1", plan.vpp), "vpp 1, or pp > 1"});
    }
    const bool pipeline_missing = plan.pp == 1 && plan.vpp == 1 && traits.chunks > 1;
    if (pipeline_missing && traits.kind != ScheduleKind::interleaved) {
        rules.push_back({"schedule, pp", fmt::format("schedule {} needs a pipeline, but pp is 1", traits.id),
                         "pp > 1, or schedule none"});
    }
    if (plan.pp == 1 && plan.vpp == 1) return;
    if (admits(traits.chunk_rule, plan.vpp)) return;
    rules.push_back(
        {"schedule, vpp",
         fmt::format("schedule {} {}, but vpp is {}", traits.id, wanted_chunks(traits.chunk_rule), plan.vpp),
         nearest_chunks(traits, plan.vpp)});
}

void check_placement(const ParallelPlan& plan, Rules& rules) {
    ParallelPlan unplaced = plan;
    unplaced.placement.reset();
    const Placement own = placement_of(unplaced);
    const bool same_v = own == Placement::snake && plan.vpp == 2 && plan.placement == Placement::v;
    if (!plan.placement || *plan.placement == own || same_v) return;
    rules.push_back({"placement, schedule",
                     fmt::format("schedule {} places stages {}, not {}", to_string(plan.schedule), to_string(own),
                                 to_string(*plan.placement)),
                     "leave --placement out, or give the order of actions with --schedule-file"});
}

void check_skew(const Job& job, Rules& rules) {
    const int steps = job.plan.skew_steps;
    if (steps != 0 && !job.schedule_file && traits_of(job.plan.schedule).asynchronous) {
        rules.push_back(
            {"skew_steps, schedule",
             fmt::format("{} has no end of a step over which ranks could be skewed", to_string(job.plan.schedule)),
             "leave --skew-steps out"});
    }
    if (steps >= 0 && steps != 1) return;
    rules.push_back({"skew_steps", fmt::format("a skew of ranks over {} steps is none", steps),
                     "0 (off), or 2 and more; 3 reach the steady state of most plans"});
}

}  // namespace

void check_schedule(const Job& job, Rules& rules) {
    const ParallelPlan& plan = job.plan;
    check_skew(job, rules);
    if (job.schedule_file) return;  // the file is validated as data
    const ScheduleTraits& traits = traits_of(plan.schedule);
    if (plan.schedule == ScheduleKind::none && plan.pp > 1) {
        rules.push_back({"schedule, pp", fmt::format("schedule none runs on one pipeline rank, but pp is {}", plan.pp),
                         "1f1b, gpipe, naive, interleaved-1f1b, or pp 1"});
    }
    check_chunks(plan, traits, rules);
    check_placement(plan, rules);
    const bool batch_divides = plan.dp > 0 && job.global_batch % (job.micro_batch * plan.dp) == 0;
    const bool shaped = plan.pp > 1 && (plan.schedule != ScheduleKind::interleaved || plan.vpp > 1);
    if (shaped && batch_divides) ShapeCheck(job, rules).run();
}

}  // namespace foreshard
