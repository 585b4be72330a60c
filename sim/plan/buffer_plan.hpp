#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/plan/schedules.hpp"
#include "sim/plan/task_graph.hpp"

/// Which buffers every rank holds, and from which task to which: the memory report counts them, the runtime allocates
/// them. All sizes are exact bytes.
namespace foreshard {

/// Model states of one rank.
struct StateBytes {
    ByteCount weights = 0;
    ByteCount gradients = 0;
    ByteCount optimizer = 0;       ///< master weights and moments
    ByteCount moments = 0;         ///< of those: Adam moments, which first exist in the first optimizer step
    ByteCount optimizer_step = 0;  ///< fp32 copy of 16-bit gradients, only inside the optimizer task
    ByteCount total() const { return weights + gradients + optimizer; }
    ByteCount after_load() const { return total() - moments; }  ///< before the first step
};

/// Buffers of a pass, or of the part of one: `acquired` is held from its start, `released` is given back at its end.
struct PassBuffers {
    ByteCount acquired = 0;   ///< saved tensors of one micro-batch (forward)
    ByteCount released = 0;   ///< the same, given back (backward; where it is split, a part by I and the rest by W)
    ByteCount transient = 0;  ///< working set while its saved tensors are live
    ByteCount tail = 0;       ///< working set at the very end, its saved tensors already gone
};

struct NamedBytes {
    std::string name;
    ByteCount bytes = 0;
};

enum class HoldingKind : std::uint8_t {
    gathered,   ///< parameters
    gradients,  ///< whole ones, on their way to a reduction
    message,    ///< between pipeline ranks
};

/// A buffer that lives from one task to another of the same rank.
struct Holding {
    std::int32_t from = 0;  ///< task at whose start it is allocated
    std::int32_t to = 0;
    bool until_start = false;  ///< freed at the start of `to`, else at its end
    bool from_end = false;     ///< allocated at the end of `from`
    ByteCount bytes = 0;
    HoldingKind kind = HoldingKind::message;
};

struct BufferPlan {
    std::vector<StateBytes> states;      ///< per rank
    std::vector<PassBuffers> works;      ///< like TaskGraph::works
    std::vector<Holding> holdings;       ///< gathered parameters, gradients on their way, messages
    std::vector<NamedBytes> workspaces;  ///< held all the time inside the allocator, per rank
    std::vector<NamedBytes> runtime;     ///< outside the allocator: context, communicators
    double reserved_ratio = 1.0;         ///< reserved by the caching allocator over allocated

    ByteCount workspace_bytes() const;
    ByteCount runtime_bytes() const;
};

/// What F saves, I gives back and W gives back, of the stage that saves most; for schedules under a memory limit.
SplitMemory split_memory(const Job& job, const std::vector<StageOps>& stages);

/// States of a rank with so many parameters under the job's precision, sharding and framework.
StateBytes state_bytes(const Job& job, std::int64_t dense, std::int64_t expert);

BufferPlan plan_buffers(const Job& job, const TaskGraph& graph);

}  // namespace foreshard
