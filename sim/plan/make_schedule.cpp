#include "sim/plan/schedule_csv.hpp"
#include "sim/plan/schedules.hpp"
#include "sim/spec/layout.hpp"
#include "sim/spec/schedule_kinds.hpp"

namespace foreshard {

namespace {

Schedule read_schedule_file(const Job& job) {
    const ScheduleFile& file = *job.schedule_file;
    ScheduleShape shape{.ranks = job.plan.pp,
                        .microbatches = static_cast<int>(microbatch_count(job)),
                        .chunks = std::nullopt,
                        .placement = job.plan.placement,
                        .vocabulary = vocabulary_split(job.plan.schedule)};
    if (file.vpp_given) shape.chunks = job.plan.vpp;
    return parse_schedule_csv(file.name, file.text, shape);
}

Schedule make_named(const ParallelPlan& plan, int m, const PassCosts& costs, SplitMemory memory) {
    const int p = plan.pp;
    switch (plan.schedule) {
        case ScheduleKind::none:
            return gradient_accumulation(m);
        case ScheduleKind::naive:
            return naive_schedule(p, m);
        case ScheduleKind::gpipe:
            return gpipe_schedule(p, m);
        case ScheduleKind::one_f_one_b:
            return one_f_one_b_schedule(p, m);
        case ScheduleKind::interleaved:
            return interleaved_schedule(p, m, plan.vpp, group_size(plan, m));
        case ScheduleKind::breadth_first:
            return breadth_first_schedule(p, m, plan.vpp);
        case ScheduleKind::pipedream:
            return pipedream_schedule(p, m);
        case ScheduleKind::pipedream_2bw:
            return pipedream_2bw_schedule(p, m);
        case ScheduleKind::zb_h1:
            return zb_h1_schedule(p, m);
        case ScheduleKind::zb_h2:
            return zb_h2_schedule(p, m);
        case ScheduleKind::zb_1p:
            return zb_1p_schedule(p, m, costs, memory);
        case ScheduleKind::zb_2p:
            return zb_2p_schedule(p, m, costs, memory);
        case ScheduleKind::interleaved_zb:
            return interleaved_zb_schedule(p, m, plan.vpp, group_size(plan, m));
        case ScheduleKind::zb_v:
            return zb_v_schedule(p, m, costs, memory);
        case ScheduleKind::v_half:
            return v_half_schedule(p, m);
        case ScheduleKind::v_min:
            return v_min_schedule(p, m);
        case ScheduleKind::dualpipe:
            return dualpipe_schedule(p, m);
        case ScheduleKind::dualpipe_v:
            return dualpipe_v_schedule(p, m);
        case ScheduleKind::chimera:
            return chimera_schedule(p, m);
        case ScheduleKind::hanayo:
            return hanayo_schedule(p, m, plan.vpp);
        case ScheduleKind::vocab_1:
        case ScheduleKind::vocab_2:
        case ScheduleKind::interlaced:
            return vocabulary_schedule(p, m, *vocabulary_split(plan.schedule));
        case ScheduleKind::v_half_vocab_1:
            return v_half_vocabulary_schedule(p, m, costs);
    }
    return {};
}

}  // namespace

bool follows_times(const Job& job) {
    if (job.schedule_file) return false;
    const ScheduleKind kind = job.plan.schedule;
    return kind == ScheduleKind::zb_1p || kind == ScheduleKind::zb_2p || kind == ScheduleKind::zb_v ||
           kind == ScheduleKind::v_half_vocab_1;
}

Schedule make_schedule(const Job& job) {
    if (job.stage_times) return make_schedule(job, {job.stage_times->stages, job.stage_times->hop});
    return make_schedule(job, unit_costs(stage_count(job)));
}

Schedule make_schedule(const Job& job, const PassCosts& costs, SplitMemory memory) {
    if (job.schedule_file) return read_schedule_file(job);
    return make_named(job.plan, static_cast<int>(microbatch_count(job)), costs, memory);
}

}  // namespace foreshard
