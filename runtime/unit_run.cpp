#include "runtime/unit_run.hpp"

#include <stdexcept>
#include <unordered_map>

#include <fmt/format.h>

namespace foreshard::runtime {

void UnitState::clear() {
    for (Buffer& slot : slots_) slot.reset();
}

void UnitState::clear_but(Slot kept) {
    for (std::size_t i = 0; i < slots_.size(); ++i) {
        if (i != static_cast<std::size_t>(kept)) slots_[i].reset();
    }
}

Tensor UnitRun::tensor(Slot slot) const {
    if (!has(slot)) {
        throw std::logic_error(
            fmt::format("op {} uses tensor {} of unit {} outside its lifetime", op, static_cast<int>(slot), unit));
    }
    return state[slot].tensor();
}

Tensor UnitRun::make(Slot slot, std::int64_t rows, std::int64_t columns, ElementType type) {
    state[slot] = Buffer(rank.pool, MemoryKind::activations, rows, columns, type);
    return state[slot].tensor();
}

Affine UnitRun::affine(ParameterId weight_id, ParameterId bias_id) const {
    return {weight(weight_id), weight(bias_id)};
}

Affine UnitRun::affine_grad(ParameterId weight_id, ParameterId bias_id) const {
    return {parameters.gradient(unit, weight_id), parameters.gradient(unit, bias_id)};
}

std::span<const std::int32_t> UnitRun::shard(const std::vector<std::int32_t>& ids) const {
    const auto size = static_cast<std::size_t>(shard_tokens());
    const std::size_t first = rank.sequence_parallel ? static_cast<std::size_t>(rank.tp) * size : 0;
    return std::span(ids).subspan(first, size);
}

Slot linear_input(const UnitRun& run, int half) {
    if (run.kind == BlockKind::head) return Slot::norm1;
    if (run.rank.post_norm) return half == 0 ? Slot::input : Slot::norm1;
    return norm_output(half);
}

Slot residual_source(const UnitRun& run, int half) {
    if (half == 0) return Slot::input;
    return run.rank.post_norm ? Slot::norm1 : Slot::middle;
}

Slot norm_input(const UnitRun& run, int index) {
    if (run.rank.post_norm) return index == 0 ? Slot::middle : Slot::sum;
    return index == 0 ? Slot::input : Slot::middle;
}

Slot unit_output(const UnitRun& run) {
    if (run.kind == BlockKind::embedding) {
        return run.parameters.has(run.unit, ParameterId::embedding_norm_weight) ? Slot::norm1 : Slot::sum;
    }
    return run.rank.post_norm ? Slot::norm2 : Slot::sum;
}

int forward_half(const UnitRun& run) {
    return run.residuals == 0 ? 0 : 1;
}

int backward_half(const UnitRun& run) {
    if (run.kind == BlockKind::head) return 0;
    return (run.rank.post_norm ? run.norm_grads : run.residual_grads) == 2 ? 0 : 1;
}

OpKernel find_kernel(std::string_view op) {
    static const auto table = [] {
        std::unordered_map<std::string_view, OpKernel> all;
        for (const auto list : {layer_kernels(), attention_kernels(), end_kernels(), collective_kernels()}) {
            for (const NamedKernel& entry : list) all.emplace(entry.name, entry.kernel);
        }
        return all;
    }();
    const auto found = table.find(op);
    return found == table.end() ? nullptr : found->second;
}

}  // namespace foreshard::runtime
