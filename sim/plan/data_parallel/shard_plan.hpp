#pragma once

#include <cstdint>
#include <vector>

#include "sim/plan/op.hpp"
#include "sim/plan/schedule.hpp"

/// When sharded parameters are gathered and freed, and gradients reduced, while a rank works through its actions: FSDP
/// and ZeRO-3 (torch.distributed.fsdp, arXiv 2304.11277; DeepSpeed stage 3, arXiv 1910.02054). Pure functions of the
/// order of actions; no times.
namespace foreshard {

/// Parameters that are gathered, freed and reduced together.
struct ShardGroup {
    double elements = 0.0;
    bool kept = false;  ///< stays gathered from forward to backward
};

/// How a stage's units (see stage_units) are grouped. Units of one group need not be neighbours.
struct ShardGroups {
    std::vector<ShardGroup> groups;
    std::vector<std::int32_t> of_unit;
};

/// A stretch of compute on one group: neighbouring units of one pass.
struct ShardItem {
    std::int32_t action = 0;  ///< index in the rank's list
    std::int32_t first_unit = 0;
    std::int32_t units = 0;
    std::int32_t gather = -1;        ///< that must have arrived; -1: the group is there already, or not needed
    std::int32_t after_reduce = -1;  ///< a micro-batch starts when the last backward's reductions are done
    std::int32_t under_gather = -1;  ///< gather and reduction that are in flight while it computes
    std::int32_t under_reduce = -1;
};

struct ShardGather {
    std::int32_t stage = 0;
    std::int32_t group = 0;
    std::int32_t first_item = 0;   ///< needs it
    std::int32_t last_item = 0;    ///< the group is freed at its end
    std::int32_t after_item = -1;  ///< may start when this item is done: limit of gathers in flight
};

struct ShardReduce {
    std::int32_t stage = 0;
    std::int32_t group = 0;
    std::int32_t item = 0;  ///< completes the gradients
};

/// One entry of the communication lane, in issue order.
struct ShardLaneEntry {
    bool reduce = false;
    std::int32_t index = 0;  ///< of gathers or reduces
};

struct ShardPlan {
    std::vector<ShardItem> items;  ///< in compute order
    std::vector<ShardGather> gathers;
    std::vector<ShardReduce> reduces;
    std::vector<ShardLaneEntry> lane;
};

struct ShardOptions {
    int prefetch = 1;               ///< gathers ahead of the one in use (FSDP's limit_all_gathers is 2 in all)
    bool every_microbatch = true;   ///< reduce in every backward; else in a stage's last one only
    bool frees_in_backward = true;  ///< kept groups are freed after every backward; else after a stage's last one
    bool drains = true;             ///< a forward waits for all reductions before it (no pipeline)
};

/// @param groups per stage
ShardPlan plan_shards(const std::vector<Action>& actions, const std::vector<ShardGroups>& groups,
                      const ShardOptions& options);

/// Grouping of one stage. Every layer is a group, or those that are rebuilt together. FSDP1 (and any scheme with tied
/// ends on one rank) has one root of embedding and head, which is kept; FSDP2 keeps the head, whose backward comes at
/// once (torchtitan). ZeRO-3 keeps what is used again within 1e9 parameters (DeepSpeed stage3_max_reuse_distance).
ShardGroups shard_groups(const Job& job, const StageOps& stage);

}  // namespace foreshard
