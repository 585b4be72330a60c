#include "runtime/parameter_store.hpp"

#include <algorithm>
#include <cassert>

namespace foreshard::runtime {

ParameterStore::ParameterStore(const Job& job, StageParameters layout, MemoryPool& pool, StoreOptions options)
    : layout_(std::move(layout)), device_(pool.device()), pool_(pool), options_(std::move(options)) {
    for (std::size_t g = 0; g < layout_.group_sizes.size(); ++g) add_group(job, static_cast<int>(g));
}

Buffer ParameterStore::buffer(MemoryKind kind, std::int64_t size) {
    return {pool_, kind, 1, size};
}

Buffer ParameterStore::state_buffer(MemoryKind kind, std::int64_t size) {
    return {pool_, kind, 1, size, device_.state_type()};
}

void ParameterStore::add_group(const Job& job, int index) {
    ParameterGroup group;
    group.size = layout_.group_sizes[static_cast<std::size_t>(index)];
    group.shard = shard_of(group.size, options_.shards, options_.shard);
    const bool sharded = options_.sharded == Sharded::yes;
    if (!sharded) group.shard = {0, group.size};
    Buffer weights = buffer(MemoryKind::weights, group.shard.size());
    Buffer gradients = state_buffer(MemoryKind::gradients, group.shard.size());
    device_.fill(gradients.tensor(), 0.0);
    (sharded ? group.weight_shard : group.weights) = std::move(weights);
    (sharded ? group.gradient_shard : group.gradients) = std::move(gradients);
    groups_.push_back(std::move(group));
    set_initial_values(job, index);
    const bool listed = !sharded && !options_.owned.empty();
    add_owned(listed ? options_.owned : std::vector<Range>{groups_.back().shard}, index);
}

void ParameterStore::set_initial_values(const Job& job, int index) {
    const ParameterGroup& held = group(index);
    const Tensor weights = (options_.sharded == Sharded::yes ? held.weight_shard : held.weights).tensor();
    for (const ParameterTensor& tensor : layout_.tensors) {
        if (tensor.group != index) continue;
        const std::int64_t first = std::max(held.shard.begin, tensor.offset);
        const std::int64_t last = std::min(held.shard.end, tensor.offset + tensor.size());
        if (first >= last) continue;
        std::vector<double> values(static_cast<std::size_t>(last - first));
        for (std::int64_t i = first; i < last; ++i) {
            values[static_cast<std::size_t>(i - first)] =
                initial_value(job.model, tensor, options_.seed, tensor.global_index(i - tensor.offset));
        }
        device_.store(weights.stretch(first - held.shard.begin, last - first), values);
    }
}

void ParameterStore::add_owned(const std::vector<Range>& ranges, int group) {
    for (const Range& range : ranges) {
        OwnedState state;
        state.range = range;
        state.group = group;
        if (device_.state_type() != device_.type()) {
            state.master = state_buffer(MemoryKind::optimizer, range.size());
            device_.copy(owned_weight(state), state.master.tensor());
        }
        if (options_.keeps_moments) {
            state.first_moment = state_buffer(MemoryKind::optimizer, range.size());
            state.second_moment = state_buffer(MemoryKind::optimizer, range.size());
            device_.fill(state.first_moment.tensor(), 0.0);
            device_.fill(state.second_moment.tensor(), 0.0);
        }
        owned_.push_back(std::move(state));
    }
}

/// Vectors are rows, whichever way their slices are laid out.
Tensor ParameterStore::shaped(const ParameterTensor& tensor, Tensor flat) const {
    Tensor shaped = flat.stretch(tensor.offset, tensor.size());
    if (tensor.columns == 1) return shaped;
    shaped.rows = tensor.rows;
    shaped.columns = tensor.columns;
    return shaped;
}

Tensor ParameterStore::weight(int unit, ParameterId id) const {
    const int index = layout_.find(unit, id);
    if (index < 0) return {};
    const ParameterTensor& tensor = layout_.tensors[static_cast<std::size_t>(index)];
    const Buffer& weights = groups_[static_cast<std::size_t>(tensor.group)].weights;
    assert(weights && "used before its gather");
    return shaped(tensor, weights.tensor());
}

Tensor ParameterStore::gradient(int unit, ParameterId id) {
    const int index = layout_.find(unit, id);
    if (index < 0) return {};
    const ParameterTensor& tensor = layout_.tensors[static_cast<std::size_t>(index)];
    const Buffer& gradients = group(tensor.group).gradients;
    assert(gradients && "not held");
    return shaped(tensor, gradients.tensor());
}

void ParameterStore::hold_gradients(int first_unit, int last_unit) {
    for (const ParameterTensor& tensor : layout_.tensors) {
        if (tensor.unit >= first_unit && tensor.unit <= last_unit && !group(tensor.group).gradients) {
            whole_gradients(tensor.group);
        }
    }
}

Elements ParameterStore::table_gradient() {
    for (const ParameterTensor& tensor : layout_.tensors) {
        if (tensor.id != ParameterId::embedding && tensor.id != ParameterId::output_weight) continue;
        const Tensor table = gradient(tensor.unit, tensor.id);
        return {{table.data, static_cast<std::size_t>(table.bytes())}, table.type};
    }
    return {};
}

void ParameterStore::zero_gradients() {
    for (ParameterGroup& held : groups_) {
        Buffer& kept = options_.sharded == Sharded::yes ? held.gradient_shard : held.gradients;
        device_.fill(kept.tensor(), 0.0);
    }
}

Elements ParameterStore::begin_gather(int index) {
    ParameterGroup& held = group(index);
    Buffer gathered(pool_, MemoryKind::weights, 1, held.size, Counted::later);
    const std::lock_guard lock(mutex_);
    if (!held.weights) {
        held.weights = std::move(gathered);
        return elements(held.weights);
    }
    held.gathered_ahead.push_back(std::move(gathered));
    return elements(held.gathered_ahead.back());
}

void ParameterStore::end_gather(int index) {
    ParameterGroup& held = group(index);
    const std::lock_guard lock(mutex_);
    (held.gathered_ahead.empty() ? held.weights : held.gathered_ahead.back()).begin_counting();
}

void ParameterStore::end_use(int index) {
    ParameterGroup& held = group(index);
    const std::lock_guard lock(mutex_);
    held.weights.reset();
    if (held.gathered_ahead.empty()) return;
    held.weights = std::move(held.gathered_ahead.front());
    held.gathered_ahead.pop_front();
}

Elements ParameterStore::detach_gradients(int index) {
    ParameterGroup& held = group(index);
    if (!held.gradients) return {};
    const std::lock_guard lock(mutex_);
    held.detached.push_back(std::move(held.gradients));
    return elements(held.detached.back());
}

void ParameterStore::end_reduce(int index) {
    const std::lock_guard lock(mutex_);
    group(index).detached.pop_front();
}

Elements ParameterStore::whole_gradients(int index) {
    ParameterGroup& held = group(index);
    held.gradients = state_buffer(MemoryKind::gradients, held.size);
    device_.fill(held.gradients.tensor(), 0.0);
    return elements(held.gradients);
}

std::vector<GradientPiece> ParameterStore::reduced_gradients() {
    std::vector<GradientPiece> pieces;
    for (const ParameterTensor& tensor : layout_.tensors) {
        ParameterGroup& held = group(tensor.group);
        const Buffer& kept = options_.sharded == Sharded::yes ? held.gradient_shard : held.gradients;
        const std::int64_t first = std::max(held.shard.begin, tensor.offset);
        const std::int64_t last = std::min(held.shard.end, tensor.offset + tensor.size());
        if (first >= last) continue;
        pieces.push_back({&tensor,
                          {first - tensor.offset, last - tensor.offset},
                          kept.tensor().stretch(first - held.shard.begin, last - first)});
    }
    return pieces;
}

Tensor ParameterStore::owned_weight(const OwnedState& state) {
    ParameterGroup& held = group(state.group);
    if (options_.sharded == Sharded::yes) return held.weight_shard.tensor();
    return held.weights.tensor().stretch(state.range.begin, state.range.size());
}

Tensor ParameterStore::owned_gradient(const OwnedState& state) {
    ParameterGroup& held = group(state.group);
    if (options_.sharded == Sharded::yes) return held.gradient_shard.tensor();
    return held.gradients.tensor().stretch(state.range.begin, state.range.size());
}

}  // namespace foreshard::runtime
