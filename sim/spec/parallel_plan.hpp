#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/spec/cluster_spec.hpp"
#include "sim/spec/variability.hpp"

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
    vocab_1,     ///< 1F1B, vocabulary layers over all ranks, two barriers a micro-batch
    vocab_2,     ///< the same with one barrier
    interlaced,  ///< the same, all ranks run the vocabulary layers at once
    v_half_vocab_1,
};
std::string_view to_string(ScheduleKind kind);

/// How the output layer, cut over the vocabulary, is spread over all pipeline ranks (vocabulary parallelism,
/// arXiv 2411.05288). Pass S computes a rank's logits, pass T its gradients.
enum class VocabularySplit {
    two_barriers,  ///< algorithm 1: softmax statistics are reduced after S, the input gradient after T
    one_barrier,   ///< algorithm 2: S gives the input gradient too, one reduction; T only weight gradients
    interlaced,    ///< S and T of all ranks at the same time, as under tensor parallelism, with exposed collectives
};
/// Empty for schedules that leave the output layer on the last stage.
std::optional<VocabularySplit> vocabulary_split(ScheduleKind kind);

/// Which rank runs which stage. `stage_count` stages over `p` ranks.
enum class Placement { linear, loop, v, snake, bidirectional };
std::string_view to_string(Placement placement);

enum class Recompute { none, selective, full };
std::string_view to_string(Recompute recompute);

enum class RecomputeMethod { uniform, block };

/// How replicas agree on gradients and where states lie (docs/data-parallel.md).
enum class DataParallelKind {
    ddp,               ///< one process a GPU, gradients all-reduced in buckets (torch DDP, Megatron, DeepSpeed ZeRO)
    dp,                ///< torch.nn.DataParallel: one process, scatter and gather through GPU 0
    horovod,           ///< tensor fusion in cycles
    mirrored,          ///< tf.distribute.MirroredStrategy: one host, one pack after backward
    fsdp1,             ///< torch FullyShardedDataParallel: flat parameters, a root unit that is kept
    fsdp2,             ///< torch fully_shard: per-parameter shards, copies out of the gathered buffer
    hsdp,              ///< fsdp2 inside groups, replicated over them
    parameter_server,  ///< synchronous
    async_sgd,         ///< n-softsync at a parameter server
    local_sgd,         ///< replicas agree every so many steps (local SGD, DiLoCo)
};
inline constexpr int data_parallel_kind_count = 10;
std::string_view to_string(DataParallelKind kind);

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
    bool balance = false;  ///< find the layers of every stage that minimise the step

    std::optional<bool> overlap_p2p;  ///< empty: by profile
    Recompute recompute = Recompute::none;
    RecomputeMethod recompute_method = RecomputeMethod::uniform;
    int recompute_num_layers = 0;  ///< 0: method's default

    DataParallelKind data_parallel = DataParallelKind::ddp;
    int zero_stage = 0;  ///< FSDP is 3, or 2 without resharding after forward
    bool distributed_optimizer = false;
    bool overlap_grad_reduce = false;
    bool overlap_param_gather = false;
    double bucket_mb = 0.0;        ///< 0: by profile; 10^6 bytes
    double first_bucket_mb = 0.0;  ///< 0: by profile
    bool reshard_after_forward = true;
    int fsdp_shard_size = 0;             ///< ranks that hold one copy of the parameters; 0: all replicas
    int zero_shard_size = 0;             ///< ranks that hold one copy of the optimizer state; 0: all replicas
    int prefetch_layers = 1;             ///< parameter gathers that run ahead of their layer
    bool sync_every_microbatch = false;  ///< gradients are reduced in every backward (false: no_sync but the last)
    double fusion_threshold_mb = 0.0;    ///< Horovod, 10^6 bytes
    double cycle_time_ms = 0.0;          ///< Horovod
    int local_steps = 1;                 ///< local SGD: inner steps between outer ones
    int local_group_size = 1;            ///< local SGD: ranks that agree at every inner step
    int softsync = 0;                    ///< async SGD: the server updates after floor(learners / n) gradients
    int parameter_servers = 1;           ///< shards of the parameter server, a host each
    bool offload_optimizer = false;      ///< optimizer states and update on the host
    bool offload_parameters = false;     ///< shards of the parameters on the host, copied in before every gather
    /// First layers of every stage whose saved tensors wait on the host from forward to backward.
    int offload_activation_layers = 0;

    Precision precision = Precision::bf16;
    std::string order = "tp-cp-ep-dp-pp";  ///< axes, inner to outer

    Contention contention = Contention::off;
    Variability variability;
    bool no_symmetry = false;      ///< every data-parallel replica is simulated by itself
    bool tp_comm_overlap = false;  ///< all-gather and reduce-scatter run under their GEMMs, in tiles
};

}  // namespace foreshard
