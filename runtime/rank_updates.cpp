#include <algorithm>

#include "runtime/rank_work.hpp"

/// What follows the passes of a step: sums of gradients over tensor parallel ranks, updates, and what is compared.
namespace foreshard::runtime {

/// In place, a message for every stretch without a gap. Ranks of the group hold pieces of the same sizes in the same
/// order.
void RankWork::sum_over(const std::vector<int>& group, const std::vector<Tensor>& pieces) {
    for (std::size_t i = 0; i < pieces.size();) {
        const ElementType type = pieces[i].type;
        std::byte* const first = pieces[i].data;
        std::byte* end = first;
        for (; i < pieces.size() && pieces[i].data == end; ++i) end += pieces[i].bytes();
        const std::span<std::byte> stretch(first, end);
        if (stretch.empty()) continue;
        transport_.all_reduce({Axis::tp, Lane::compute}, group, {stretch, type}, Reduction::sum);
    }
}

std::vector<int> RankWork::copies_group(int copies) const {
    const auto first = context_.tp_group.begin() + (at_.tp - at_.tp % copies);
    return {first, first + copies};
}

void RankWork::finish_gradients() {
    std::vector<Tensor> whole;
    std::vector<Tensor> copied;
    int copies = 1;
    for (auto& [stage, held] : stores_) {
        for (const GradientPiece& piece : held.reduced_gradients()) {
            const ParameterTensor& tensor = *piece.tensor;
            if (tensor.whole && context_.sequence_parallel) whole.push_back(piece.gradient);
            const std::int64_t first =
                std::max(piece.elements.begin, (tensor.rows - tensor.copied_rows) * tensor.columns);
            if (tensor.copies == 1 || first >= piece.elements.end) continue;
            copies = tensor.copies;
            const std::int64_t skipped = first - piece.elements.begin;
            copied.push_back(piece.gradient.stretch(skipped, piece.elements.end - first));
        }
    }
    sum_over(context_.tp_group, whole);
    if (copies > 1) sum_over(copies_group(copies), copied);
}

void RankWork::optimizer_step() {
    const Clock::time_point start = Clock::now();
    update_owned();
    if (spans_ != nullptr) spans_->add({op_index_.update(), -1, start, Clock::now()}, std::nullopt);
}

std::int64_t RankWork::updated_elements() {
    std::int64_t elements = 0;
    for (auto& [stage, held] : stores_) {
        for (OwnedState& state : held.owned()) elements += held.owned_gradient(state).size();
    }
    return elements;
}

void RankWork::update_owned() {
    AdamStep update = options_.update;
    update.step = ++updates_;
    for (auto& [stage, held] : stores_) {
        for (OwnedState& state : held.owned()) {
            const Tensor gradient = held.owned_gradient(state);
            // Where weights are 16-bit, the master weight is updated and copied.
            const bool master = static_cast<bool>(state.master);
            const Tensor weight = master ? state.master.tensor() : held.owned_weight(state);
            const Tensor copy = master ? held.owned_weight(state) : Tensor{};
            if (options_.optimizer == OptimizerKind::sgd) {
                device_.sgd(update.learning_rate, gradient, weight, copy);
            } else {
                device_.adamw(update, gradient, state.first_moment.tensor(), state.second_moment.tensor(), weight,
                              copy);
            }
        }
    }
}

ParameterStore* RankWork::tied_store() {
    for (auto& [stage, held] : stores_) {
        for (int unit = 0; unit < unit_count(stage); ++unit) {
            const bool copy = job_.model.tied_embeddings && held.has(unit, ParameterId::output_weight);
            if (copy || held.has(unit, ParameterId::embedding)) return &held;
        }
    }
    return nullptr;
}

std::vector<RankModel::Parameter> RankWork::described_parameters() {
    std::vector<RankModel::Parameter> all;
    for (auto& [stage, held] : stores_) {
        for (const ParameterTensor& tensor : held.layout().tensors) {
            RankModel::Parameter parameter;
            parameter.name = tensor.name;
            parameter.stage = stage;
            parameter.weight = held.weight(tensor.unit, tensor.id);
            parameter.gradient = held.gradient(tensor.unit, tensor.id);
            parameter.global_size = tensor.global_size();
            parameter.global.resize(static_cast<std::size_t>(tensor.size()));
            for (std::int64_t i = 0; i < tensor.size(); ++i) {
                parameter.global[static_cast<std::size_t>(i)] = tensor.global_index(i);
            }
            all.push_back(std::move(parameter));
        }
    }
    return all;
}

}  // namespace foreshard::runtime
