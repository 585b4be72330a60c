#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/spec/parallel_plan.hpp"

/// What is known about each named schedule before any list is made; the lists are in plan/.
namespace foreshard {

enum class ChunkRule : std::uint8_t { one, any, at_least_two, two, even };

struct ScheduleTraits {
    ScheduleKind kind;
    std::string_view id;
    /// Other names, in small letters and digits only: names are compared without case, hyphens, underscores and a
    /// leading "Schedule" (class names of torch.distributed.pipelining).
    std::vector<std::string_view> aliases;
    Placement placement;  ///< with more than one chunk a rank; loop is linear with one
    ChunkRule chunk_rule;
    int chunks;                  ///< default
    bool split_backward;         ///< runs I and W apart, at least in part
    bool asynchronous;           ///< no flush: ranks update their weights without waiting for the whole batch
    std::string_view needs;      ///< constraints on ranks and micro-batches, in words; empty: none
    std::string_view bubble;     ///< idle time of the longest rank's span, per rank, in words
    std::string_view in_flight;  ///< most micro-batches whose saved tensors rank r holds, in chunks of 1/v
    std::string_view source;
};

/// All schedules, in the order in which they are listed.
const std::vector<ScheduleTraits>& schedule_kinds();
const ScheduleTraits& traits_of(ScheduleKind kind);

/// The schedule with this id or alias.
std::optional<ScheduleKind> find_schedule(std::string_view name);

/// An asynchronous schedule is unrolled over several steps: pipelines that fill, then the step that figures are taken
/// from, then those that it needs to run into.
struct UnrolledSteps {
    int window = 0;
    int total = 1;
};
UnrolledSteps unrolled_steps(int ranks, int microbatches);

/// Micro-batches per chunk turn of a schedule that takes chunks in turns: as asked for, else its own default, which is
/// pp, or for interleaved-zb that of torch.distributed.pipelining, m div max(1, m div pp).
int group_size(const ParallelPlan& plan, std::int64_t microbatches);

}  // namespace foreshard
