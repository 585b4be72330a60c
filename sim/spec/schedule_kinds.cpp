#include "sim/spec/schedule_kinds.hpp"

#include <algorithm>
#include <cctype>

namespace foreshard {

namespace {

using Kind = ScheduleKind;

/// f, i, w: times of F, I and W of a chunk; b = i + w. Sources with closed forms are tested over grids.
const std::vector<ScheduleTraits>& table() {
    static const std::vector<ScheduleTraits> all = {
        {Kind::none,
         "none",
         {"gradientaccumulation"},
         Placement::linear,
         ChunkRule::one,
         1,
         false,
         false,
         "pp 1",
         "0",
         "1",
         "no pipeline"},
        {Kind::naive,
         "naive",
         {"modelparallel"},
         Placement::linear,
         ChunkRule::one,
         1,
         false,
         false,
         "",
         "m (p-1)(f+b)",
         "1",
         "one micro-batch in the whole pipeline at a time"},
        {Kind::gpipe,
         "gpipe",
         {},
         Placement::linear,
         ChunkRule::one,
         1,
         false,
         false,
         "",
         "(p-1)(f+b)",
         "m",
         "GPipe, arXiv 1811.06965"},
        {Kind::one_f_one_b,
         "1f1b",
         {"pipedreamflush", "dapple", "deepspeed", "trainschedule"},
         Placement::linear,
         ChunkRule::one,
         1,
         false,
         false,
         "",
         "(p-1)(f+b)",
         "min(m, p-r)",
         "PipeDream-flush, arXiv 2006.09503; Megatron-LM, DeepSpeed TrainSchedule"},
        {Kind::interleaved,
         "interleaved-1f1b",
         {"interleaved", "1f1binterleaved", "1f1bi", "vpp"},
         Placement::loop,
         ChunkRule::at_least_two,
         2,
         false,
         false,
         "m >= p; group N in p..m, m mod N = 0 or >= p",
         "(p-1)(f+b)",
         "min(m v, 2(p-1-r) + (v-1)N + 1)",
         "Megatron-LM, arXiv 2104.04473"},
        {Kind::breadth_first,
         "breadth-first",
         {"loopedbfs", "loopedbreadthfirst", "bfs"},
         Placement::loop,
         ChunkRule::any,
         2,
         false,
         false,
         "",
         "(p-1 + (v-1) max(0, p-m))(f+b)",
         "m v",
         "arXiv 2211.05953; torch LoopedBFS"},
        {Kind::pipedream,
         "pipedream",
         {"1f1basync", "asynchronous1f1b"},
         Placement::linear,
         ChunkRule::one,
         1,
         false,
         true,
         "dp 1",
         "0 in steady state",
         "p-r, and p-r versions of the weights",
         "PipeDream, SOSP'19"},
        {Kind::pipedream_2bw,
         "pipedream-2bw",
         {"2bw"},
         Placement::linear,
         ChunkRule::one,
         1,
         false,
         true,
         "m >= p-1, dp 1",
         "0 in steady state",
         "p-r, and 2 versions of the weights",
         "arXiv 2006.09503"},
        {Kind::zb_h1,
         "zb-h1",
         {"zbh1quickstart", "zerobubbleh1"},
         Placement::linear,
         ChunkRule::one,
         1,
         true,
         false,
         "",
         "(p-1)(i + max(0, f-w)) for m >= 2p",
         "p (p-r until I)",
         "arXiv 2401.10241"},
        {Kind::zb_h2,
         "zb-h2",
         {"zerobubbleh2"},
         Placement::linear,
         ChunkRule::one,
         1,
         true,
         false,
         "",
         "0 for f = i = w, m >= 2p-1",
         "2p-1 (2(p-r)-1 until I)",
         "arXiv 2401.10241"},
        {Kind::zb_1p,
         "zb-1p",
         {"zerobubble1p"},
         Placement::linear,
         ChunkRule::one,
         1,
         true,
         false,
         "",
         "by measured times; p-1 for f = i = w = 1",
         "p, I and W giving back half each",
         "arXiv 2401.10241; sail zerobubble/scheduler/zb.py"},
        {Kind::zb_2p,
         "zb-2p",
         {"zerobubble2p"},
         Placement::linear,
         ChunkRule::one,
         1,
         true,
         false,
         "",
         "by measured times; 0 for f = i = w, m >= 2p-1",
         "2p, I and W giving back half each",
         "arXiv 2401.10241; sail zerobubble/scheduler/zb.py"},
        {Kind::interleaved_zb,
         "interleaved-zb",
         {"interleavedzerobubble"},
         Placement::loop,
         ChunkRule::any,
         2,
         true,
         false,
         "m divisible by the group N",
         "p-1 for f = i = w = 1, m >= p",
         "min(m v, (v-1)N + p)",
         "torch InterleavedZeroBubble"},
        {Kind::zb_v,
         "zb-v",
         {"zbvzerobubble"},
         Placement::v,
         ChunkRule::two,
         2,
         true,
         false,
         "",
         "0 for f = i = w, m >= 2p-1",
         "2p",
         "arXiv 2401.10241 section 6; torch ZBVZeroBubble; sail zbv.py"},
        {Kind::v_half,
         "v-half",
         {},
         Placement::v,
         ChunkRule::two,
         2,
         true,
         false,
         "",
         "about half of 1F1B's",
         "2 ((p+2) div 2)",
         "arXiv 2405.15362; sail zbv_greedy.py"},
        {Kind::v_min,
         "v-min",
         {},
         Placement::v,
         ChunkRule::two,
         2,
         true,
         false,
         "",
         "about two thirds of 1F1B's for f = i = w",
         "2 ((p+4) div 3)",
         "arXiv 2405.15362; sail zbv_greedy.py"},
        {Kind::dualpipe,
         "dualpipe",
         {},
         Placement::bidirectional,
         ChunkRule::two,
         2,
         true,
         false,
         "p even, m even, m >= 2p",
         "(p/2-1)(F&B + b - 3w)",
         "p+1, and 2 replicas of the weights",
         "DeepSeek-V3, arXiv 2412.19437; deepseek-ai/DualPipe"},
        {Kind::dualpipe_v,
         "dualpipe-v",
         {},
         Placement::v,
         ChunkRule::two,
         2,
         true,
         false,
         "m >= 2p",
         "(p-1)(F&B + b - 3w)",
         "2p+1",
         "deepseek-ai/DualPipe dualpipev.py; torch DualPipeV"},
        {Kind::chimera,
         "chimera",
         {},
         Placement::bidirectional,
         ChunkRule::two,
         2,
         false,
         false,
         "p even",
         "(p-2)(m/p+1)f for b = 2f",
         "min(r, p-1-r) + p/2 + 1, and 2 replicas of the weights",
         "arXiv 2107.06925, direct concatenation"},
        {Kind::hanayo,
         "hanayo",
         {"wave"},
         Placement::snake,
         ChunkRule::even,
         2,
         false,
         false,
         "",
         "2(p-1)(m/p+1)f for b = 2f",
         "(v-1)p + r + 1",
         "arXiv 2308.15762, v = 2 x waves"},
    };
    return all;
}

/// Small letters and digits, without a leading "schedule".
std::string squashed(std::string_view name) {
    std::string text;
    for (const char c : name) {
        if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
            text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        }
    }
    constexpr std::string_view prefix = "schedule";
    if (text.starts_with(prefix)) text.erase(0, prefix.size());
    return text;
}

}  // namespace

const std::vector<ScheduleTraits>& schedule_kinds() {
    return table();
}

const ScheduleTraits& traits_of(ScheduleKind kind) {
    const auto has_kind = [&](const ScheduleTraits& traits) { return traits.kind == kind; };
    return *std::find_if(table().begin(), table().end(), has_kind);
}

std::string_view to_string(ScheduleKind kind) {
    return traits_of(kind).id;
}

std::optional<ScheduleKind> find_schedule(std::string_view name) {
    const std::string wanted = squashed(name);
    for (const ScheduleTraits& traits : table()) {
        const auto same = [&](std::string_view known) { return squashed(known) == wanted; };
        if (same(traits.id) || std::any_of(traits.aliases.begin(), traits.aliases.end(), same)) return traits.kind;
    }
    return std::nullopt;
}

UnrolledSteps unrolled_steps(int ranks, int microbatches) {
    const auto steps_of = [&](int count) { return (count + microbatches - 1) / microbatches; };
    const int window = steps_of(2 * ranks);
    return {window, window + 1 + steps_of(ranks)};
}

int group_size(const ParallelPlan& plan, std::int64_t microbatches) {
    if (plan.microbatch_group_size > 0) return plan.microbatch_group_size;
    if (plan.schedule != ScheduleKind::interleaved_zb) return plan.pp;
    return static_cast<int>(microbatches / std::max<std::int64_t>(1, microbatches / std::max(plan.pp, 1)));
}

}  // namespace foreshard
