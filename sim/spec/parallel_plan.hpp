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

enum class ScheduleKind {
    none,
    naive,
    gpipe,
    one_f_one_b,
    interleaved,
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
    int microbatch_group_size = 0;  ///< 0: pp

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

    int zero_stage = 0;
    bool distributed_optimizer = false;
    bool overlap_grad_reduce = false;
    bool overlap_param_gather = false;
    double bucket_mb = 0.0;  ///< 0: one bucket per chunk; 10^6 bytes

    Precision precision = Precision::bf16;
    std::string order = "tp-cp-ep-dp-pp";  ///< axes, inner to outer

    Contention contention = Contention::off;
    Variability variability;
    bool no_symmetry = false;      ///< every data-parallel replica is simulated by itself
    bool tp_comm_overlap = false;  ///< all-gather and reduce-scatter run under their GEMMs, in tiles
};

}  // namespace foreshard
