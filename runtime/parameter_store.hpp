#pragma once

#include <deque>
#include <mutex>
#include <optional>
#include <vector>

#include "runtime/memory_pool.hpp"
#include "runtime/parameter_layout.hpp"
#include "runtime/transport.hpp"

/// Weights, gradients and optimizer state of one rank, in flat buffers.
namespace foreshard::runtime {

/// Parameters that lie and move together: a stage, or a shard group of one.
struct ParameterGroup {
    std::int64_t size = 0;
    Range shard;  ///< that the rank keeps; everything where parameters are not sharded
    Buffer weights;
    Buffer gradients;
    Buffer weight_shard;  ///< only where parameters are sharded
    Buffer gradient_shard;
    std::deque<Buffer> gathered_ahead;  ///< copies of the weights that come after the one in use
    std::deque<Buffer> detached;        ///< whole gradients on their way to their reduction, oldest first
};

/// Optimizer state of a stretch that the rank owns.
struct OwnedState {
    Range range;  ///< in the group
    int group = 0;
    Buffer master;  ///< weights in the state's type; none where they are of it anyway
    Buffer first_moment;
    Buffer second_moment;
};

/// A stretch of one tensor that is present in the rank's reduced gradients.
struct GradientPiece {
    const ParameterTensor* tensor = nullptr;
    Range elements;  ///< of the tensor
    Tensor gradient;
};

enum class Sharded : std::uint8_t { no, yes };

struct StoreOptions {
    std::uint64_t seed = 1;
    Sharded sharded = Sharded::no;
    int shards = 1;  ///< over how many ranks, and which of them this is
    int shard = 0;
    bool keeps_moments = true;
    std::vector<Range> owned;  ///< empty: all
};

/// Of one stage.
class ParameterStore {
public:
    ParameterStore(const Job& job, StageParameters layout, MemoryPool& pool, StoreOptions options);

    const StageParameters& layout() const { return layout_; }
    bool has(int unit, ParameterId id) const { return layout_.find(unit, id) >= 0; }
    /// None where the unit has no such tensor. Precondition of both: it is gathered, where parameters are sharded.
    Tensor weight(int unit, ParameterId id) const;
    /// Precondition: hold_gradients, where parameters are sharded.
    Tensor gradient(int unit, ParameterId id);
    /// Makes the whole gradients of the units' sharded groups, as zeros, unless they are there since the last
    /// detach_gradients.
    void hold_gradients(int first_unit, int last_unit);

    ParameterGroup& group(int index) { return groups_[static_cast<std::size_t>(index)]; }
    Elements elements(const Buffer& buffer) const { return {buffer.span(), buffer.tensor().type}; }

    /// Of the embedding matrix, or of the output layer's copy of it; nothing where the stage has neither.
    Elements table_gradient();

    void zero_gradients();
    /// Sharded groups. Another copy may be gathered while one is in use, which end_use frees. Detached gradients are no
    /// longer added to; end_reduce frees the oldest. Gathers and reductions may be on another thread than uses.
    Elements begin_gather(int group);
    void end_gather(int group);
    void end_use(int group);
    Elements detach_gradients(int group);
    void end_reduce(int group);
    /// Zeros, in place of what hold_gradients() makes.
    Elements whole_gradients(int group);

    /// Of all tensors, in order, what the rank's reduced gradients hold.
    std::vector<GradientPiece> reduced_gradients();
    /// Owned stretches and their state. Moments are zero at first.
    std::vector<OwnedState>& owned() { return owned_; }
    Tensor owned_weight(const OwnedState& state);
    Tensor owned_gradient(const OwnedState& state);

private:
    void add_group(const Job& job, int index);
    void add_owned(const std::vector<Range>& ranges, int group);
    Tensor shaped(const ParameterTensor& tensor, Tensor flat) const;
    void set_initial_values(const Job& job, int group);
    Buffer buffer(MemoryKind kind, std::int64_t size);
    Buffer state_buffer(MemoryKind kind, std::int64_t size);

    StageParameters layout_;
    Device& device_;
    MemoryPool& pool_;
    StoreOptions options_;
    std::mutex mutex_;  ///< of buffers that come and go
    std::vector<ParameterGroup> groups_;
    std::vector<OwnedState> owned_;
};

}  // namespace foreshard::runtime
