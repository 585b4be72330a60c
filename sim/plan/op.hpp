#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/spec/job.hpp"
#include "sim/units.hpp"

/// Kernels and collectives of one rank for one micro-batch: what is computed and moved, and no times.
namespace foreshard {

enum class OpKind : std::uint8_t {
    gemm,              ///< dense matrix product m x n x k
    attention_matmul,  ///< batched score or context products of unfused attention
    flash_attention,   ///< fused attention core
    memory,            ///< bound by the bytes it moves
    collective,        ///< over a group of the axis
};

/// Which group of ranks a collective runs over.
/// dp: all replicas; dp_shard: the first level of groups among them, dp_replica: ranks with the same place in it;
/// replica: the two ranks that hold a stage in a schedule with two directions; host: a GPU and its host.
enum class Axis : std::uint8_t { tp, cp, ep, dp, pp, embedding, dp_shard, dp_replica, replica, host };
std::string_view to_string(Axis axis);

struct Op {
    std::string_view name;  ///< points to static text
    OpKind kind = OpKind::memory;
    bool recompute = false;         ///< a forward op run again in backward
    bool backward = false;          ///< flash attention: the backward kernel
    bool measured_traffic = false;  ///< memory: bytes were measured per element, a framework's factor does not apply
    bool behind_previous = false;   ///< a collective that runs under the op before it; only the excess is exposed
    std::int64_t m = 0;
    std::int64_t n = 0;
    std::int64_t k = 0;      ///< attention: head dimension
    std::int64_t batch = 1;  ///< products of this shape
    Flops flops;             ///< done by this rank
    Bytes read;
    Bytes written;
    ByteCount saved = 0;  ///< kept for backward, per micro-batch
    CollectiveKind collective = CollectiveKind::all_reduce;
    Axis axis = Axis::tp;
    Bytes message;               ///< full size over all ranks of the group
    double exposed_share = 1.0;  ///< of a collective that is partly hidden by construction
};

enum class BlockKind : std::uint8_t { embedding, layer, mtp, head };

/// A block and how often it stands in a row. Ops are listed in execution order of each pass.
struct OpBlock {
    BlockKind kind = BlockKind::layer;
    int repeat = 1;
    int first_layer = 0;  ///< index of the first decoder layer (kind layer)
    std::vector<Op> forward;
    std::vector<Op> input_grad;  ///< with recomputation in front
    std::vector<Op> weight_grad;
    std::int64_t parameters = 0;         ///< of this rank, one repeat, replicated over dp x cp
    std::int64_t expert_parameters = 0;  ///< of this rank, one repeat, replicated over expert data parallelism
    ByteCount saved = 0;                 ///< held from forward to backward, one repeat, one micro-batch
    ByteCount working_set = 0;           ///< full saved tensors of the layers that recomputation rebuilds at a time
    Flops recompute_flops;               ///< extra work in backward, one repeat

    /// Inputs and output gradients of its linear layers, which a split backward keeps from I to W.
    ByteCount weight_grad_inputs() const;
};

/// Everything that one virtual stage does for one micro-batch, in forward order of blocks.
struct StageOps {
    std::vector<OpBlock> blocks;

    std::int64_t parameters() const;
    std::int64_t expert_parameters() const;
    ByteCount saved() const;
};

}  // namespace foreshard
