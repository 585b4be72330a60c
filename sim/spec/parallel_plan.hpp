#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/spec/cluster_spec.hpp"

/// How a model is spread over ranks and how its micro-batches are ordered.
namespace foreshard {

/// What each of them is: schedule_kinds.hpp.
enum class ScheduleKind {
    none,
    naive,
    gpipe,
    one_f_one_b,
    interleaved,
    breadth_first,
    pipedream,
    pipedream_2bw,
    zb_h1,
    zb_h2,
    zb_1p,
    zb_2p,
    interleaved_zb,
    zb_v,
    v_half,
    v_min,
    dualpipe,
    dualpipe_v,
    chimera,
    hanayo,
};
std::string_view to_string(ScheduleKind kind);

/// Which rank runs which stage. `stage_count` stages over `p` ranks.
enum class Placement { linear, loop, v, snake, bidirectional };
std::string_view to_string(Placement placement);

enum class Recompute { none, selective, full };
std::string_view to_string(Recompute recompute);

enum class RecomputeMethod { uniform, block };

/// Degrees and options as asked for; zero or empty means "not given, a default applies".
struct ParallelPlan {
    int dp = 0;
    int tp = 1;
    int pp = 1;
    int vpp = 1;  ///< chunks per rank
    int cp = 1;
    int ep = 1;
    int etp = 0;  ///< 0: equal to tp
    bool sequence_parallel = false;

    ScheduleKind schedule = ScheduleKind::none;
    std::optional<Placement> placement;
    int microbatch_group_size = 0;  ///< 0: the schedule's own
    int skew_steps = 0;             ///< consecutive steps in which ranks may run apart; 0: one step, up to its makespan

    std::string layout;  ///< Megatron layout string or comma list of layers per stage
    std::optional<int> first_stage_layers;
    std::optional<int> last_stage_layers;
    bool embedding_in_split = false;  ///< the embedding counts as a layer when layers are divided
    bool loss_in_split = false;

    std::optional<bool> overlap_p2p;  ///< empty: by profile
    Recompute recompute = Recompute::none;
    RecomputeMethod recompute_method = RecomputeMethod::uniform;
    int recompute_num_layers = 0;  ///< 0: method's default

    int zero_stage = 0;
    bool distributed_optimizer = false;
    bool overlap_grad_reduce = false;
    bool overlap_param_gather = false;
    double bucket_mb = 0.0;  ///< 0: one bucket per chunk; 10^6 bytes

    Precision precision = Precision::bf16;
    std::string order = "tp-cp-ep-dp-pp";
};

}  // namespace foreshard
