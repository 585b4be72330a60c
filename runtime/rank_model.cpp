#include "runtime/rank_model.hpp"

#include <algorithm>
#include <cassert>
#include <mutex>
#include <stdexcept>

#include <fmt/format.h>

#include "runtime/rank_setup.hpp"
#include "sim/spec/data_parallel.hpp"

namespace foreshard::runtime {

namespace {

/// Tensors of one stage and micro-batch between its passes.
struct StagePass {
    std::vector<UnitState> units;
    Buffer activation;  ///< between the parts of a forward
    Buffer gradient;    ///< between the parts of a backward
};

bool recomputes_all(const OpBlock& block) {
    if (block.input_grad.empty() || block.forward.empty()) return false;
    const Op& first = block.input_grad.front();
    return first.recompute && first.name == block.forward.front().name;
}

bool keeps_scores(const OpBlock& block) {
    for (const Op& op : block.forward) {
        if (op.name == "attention_softmax") return op.saved > 0;
    }
    return true;
}

/// Where a rank stands among those that share parameters: groups of neighbouring replicas.
std::pair<int, int> shard_place(const Job& job, const RankPosition& at) {
    const int size = shard_size(job.plan);
    return {size, at.dp % size};
}

}  // namespace

class RankModel::Implementation {
public:
    Implementation(const Job& job, const TaskGraph& graph, int rank, Device& device, Transport& transport,
                   ModelOptions options);

    void begin_step(int step);
    PassMemory run(const Work& work, int microbatch);
    std::span<std::byte> incoming(const MessageKey& key);
    std::span<const std::byte> outgoing(const MessageKey& key);
    void sent(const MessageKey& key);
    void finish_gradients();
    void optimizer_step();
    std::vector<Parameter> described_parameters();
    ParameterStore& store(int stage) { return stores_.at(stage); }
    ParameterStore* tied_store();

    RankContext context_;
    MemoryMeter meter_;

private:
    void add_store(int stage, std::size_t index);
    void find_table();
    UnitRun unit_run(int stage, int unit, StagePass& pass, int microbatch);
    void run_ops(std::span<const Op> ops, UnitRun& run);
    void forward(int stage, int microbatch, int unit);
    void input_grad(int stage, int microbatch, int unit);
    void weight_grad(int stage, int microbatch, int unit);
    void after_backward(const Work& work, int microbatch);
    Buffer take(const MessageKey& key);
    void give(const MessageKey& key, Buffer tensor);
    const OpBlock& block_of(int stage, int unit) const;
    int unit_count(int stage) const { return static_cast<int>(units_.at(stage).size()); }
    const MicroBatch& data(int microbatch);
    void sum_over(const std::vector<int>& group, const std::vector<Tensor>& pieces);
    std::vector<int> copies_group(int copies) const;

    const Job& job_;
    const TaskGraph& graph_;
    RankPosition at_;
    Device& device_;
    Transport& transport_;
    ModelOptions options_;
    std::map<int, ParameterStore> stores_;  ///< by stage
    std::map<int, std::vector<Unit>> units_;
    std::map<std::pair<int, int>, StagePass> passes_;  ///< by stage and micro-batch
    std::map<int, MicroBatch> data_;                   ///< of the step, by micro-batch
    std::set<MessageKey> sends_;
    std::mutex messages_;
    std::map<MessageKey, Buffer> incoming_;
    std::map<MessageKey, Buffer> outgoing_;
    int step_ = 0;
    std::int64_t updates_ = 0;
};

RankModel::Implementation::Implementation(const Job& job, const TaskGraph& graph, int rank, Device& device,
                                          Transport& transport, ModelOptions options)
    : context_{job, device, meter_, transport, op_shapes(job), {}, {}, 0, false, false, {}, 1.0, 0.0, nullptr, 0},
      job_(job),
      graph_(graph),
      at_(position_of(job, rank)),
      device_(device),
      transport_(transport),
      options_(std::move(options)) {
    refuse_unsupported(job, graph);
    context_.attention = attention_shape(job, context_.shapes);
    context_.tp_group = tensor_parallel_group(job, at_);
    context_.tp = at_.tp;
    context_.sequence_parallel = job.plan.sequence_parallel && job.plan.tp > 1;
    context_.post_norm = job.model.post_norm();
    context_.vocabulary = vocabulary_part(job, at_.tp);
    context_.loss_scale = 1.0 / static_cast<double>(job.global_batch * learnt_tokens(job));
    const int simulated = simulated_rank(graph, at_);
    sends_ = sent_messages(graph, simulated);
    const std::vector<int>& stages = graph.rank_stages[static_cast<std::size_t>(simulated)];
    for (std::size_t i = 0; i < stages.size(); ++i) add_store(stages[i], i);
    find_table();
}

void RankModel::Implementation::add_store(int stage, std::size_t index) {
    const StageOps& ops = graph_.stages[static_cast<std::size_t>(stage)];
    StoreOptions options;
    options.seed = options_.seed;
    options.sharded = shards_parameters(job_.plan) && job_.plan.dp > 1 ? Sharded::yes : Sharded::no;
    std::tie(options.shards, options.shard) = shard_place(job_, at_);
    options.keeps_moments = options_.optimizer == OptimizerKind::adamw;
    if (!options_.owned.empty()) options.owned = options_.owned.at(index);
    stores_.try_emplace(stage, job_, stage_parameters(job_, ops, at_.tp), device_, meter_, std::move(options));
    units_[stage] = stage_units(ops);
}

void RankModel::Implementation::find_table() {
    for (auto& [stage, held] : stores_) {
        for (int unit = 0; unit < unit_count(stage); ++unit) {
            if (!held.has(unit, ParameterId::embedding)) continue;
            context_.table_store = &held;
            context_.table_unit = unit;
        }
    }
}

void RankModel::Implementation::begin_step(int step) {
    step_ = step;
    context_.loss = 0.0;
    data_.clear();
    for (auto& [stage, held] : stores_) held.zero_gradients();
}

const MicroBatch& RankModel::Implementation::data(int microbatch) {
    const auto known = data_.find(microbatch);
    if (known != data_.end()) return known->second;
    const std::int64_t first = first_sequence(job_, step_, at_.dp, microbatch);
    return data_[microbatch] = make_microbatch(job_, options_.data, first);
}

const OpBlock& RankModel::Implementation::block_of(int stage, int unit) const {
    const Unit& at = units_.at(stage)[static_cast<std::size_t>(unit)];
    return graph_.stages[static_cast<std::size_t>(stage)].blocks[static_cast<std::size_t>(at.block)];
}

UnitRun RankModel::Implementation::unit_run(int stage, int unit, StagePass& pass, int microbatch) {
    return {context_,
            stores_.at(stage),
            unit,
            block_of(stage, unit).kind,
            true,
            pass.units[static_cast<std::size_t>(unit)],
            data(microbatch)};
}

void RankModel::Implementation::run_ops(std::span<const Op> ops, UnitRun& run) {
    for (const Op& op : ops) {
        if (options_.op_log != nullptr) options_.op_log->emplace_back(op.name);
        find_kernel(op.name)(run);
    }
}

Buffer RankModel::Implementation::take(const MessageKey& key) {
    const std::lock_guard lock(messages_);
    const auto found = incoming_.find(key);
    if (found == incoming_.end()) {
        throw std::logic_error(
            fmt::format("stage {} micro-batch {}: its input has not arrived", std::get<0>(key), std::get<1>(key)));
    }
    Buffer tensor = std::move(found->second);
    incoming_.erase(found);
    tensor.count_as(MemoryKind::activations);
    return tensor;
}

void RankModel::Implementation::give(const MessageKey& key, Buffer tensor) {
    tensor.count_as(MemoryKind::messages);
    const std::lock_guard lock(messages_);
    (sends_.contains(key) ? outgoing_ : incoming_)[key] = std::move(tensor);
}

std::span<std::byte> RankModel::Implementation::incoming(const MessageKey& key) {
    Buffer tensor(device_, meter_, MemoryKind::messages, context_.shapes.shard_tokens, context_.shapes.hidden);
    const std::lock_guard lock(messages_);
    Buffer& place = incoming_[key];
    place = std::move(tensor);
    return place.span();
}

std::span<const std::byte> RankModel::Implementation::outgoing(const MessageKey& key) {
    const std::lock_guard lock(messages_);
    return outgoing_.at(key).span();
}

void RankModel::Implementation::sent(const MessageKey& key) {
    const std::lock_guard lock(messages_);
    outgoing_.erase(key);
}

void RankModel::Implementation::forward(int stage, int microbatch, int unit) {
    StagePass& pass = passes_[{stage, microbatch}];
    pass.units.resize(static_cast<std::size_t>(unit_count(stage)));
    UnitRun run = unit_run(stage, unit, pass, microbatch);
    const OpBlock& block = block_of(stage, unit);
    run.keeps_scores = keeps_scores(block);
    if (unit > 0) {
        run.state[Slot::input] = std::move(pass.activation);
    } else if (run.kind != BlockKind::embedding) {
        run.state[Slot::input] = take({stage, microbatch, Direction::forward});
    }
    run_ops(block.forward, run);
    if (run.kind == BlockKind::head) return;
    pass.activation = std::move(run.state[unit_output(run)]);
    if (recomputes_all(block)) run.state.clear_but(Slot::input);
    if (unit + 1 == unit_count(stage)) give({stage + 1, microbatch, Direction::forward}, std::move(pass.activation));
}

/// Ops that run again come first; what they give beyond the unit's saved tensors is its output, which nobody needs.
void RankModel::Implementation::input_grad(int stage, int microbatch, int unit) {
    StagePass& pass = passes_.at({stage, microbatch});
    UnitRun run = unit_run(stage, unit, pass, microbatch);
    if (run.kind != BlockKind::head) {
        const bool last = unit + 1 == unit_count(stage);
        run.state[Slot::grad] = last ? take({stage, microbatch, Direction::backward}) : std::move(pass.gradient);
    }
    const std::vector<Op>& ops = block_of(stage, unit).input_grad;
    const auto again = std::partition_point(ops.begin(), ops.end(), [](const Op& op) { return op.recompute; });
    run_ops({ops.begin(), again}, run);
    if (again != ops.begin()) run.drop(unit_output(run));
    run_ops({again, ops.end()}, run);
    if (run.kind != BlockKind::embedding) pass.gradient = std::move(run.state[Slot::grad]);
}

void RankModel::Implementation::weight_grad(int stage, int microbatch, int unit) {
    StagePass& pass = passes_.at({stage, microbatch});
    UnitRun run = unit_run(stage, unit, pass, microbatch);
    run_ops(block_of(stage, unit).weight_grad, run);
    run.state.clear();
}

void RankModel::Implementation::after_backward(const Work& work, int microbatch) {
    if (work.first_unit > 0) return;
    const auto found = passes_.find({work.stage, microbatch});
    if (work.pass != Pass::weight_grad && work.stage > 0) {
        give({work.stage - 1, microbatch, Direction::backward}, std::move(found->second.gradient));
    }
    if (work.pass != Pass::input_grad) passes_.erase(found);
}

PassMemory RankModel::Implementation::run(const Work& work, int microbatch) {
    meter_.begin_pass();
    const int last = work.first_unit + work.units - 1;
    if (work.pass == Pass::forward) {
        for (int unit = work.first_unit; unit <= last; ++unit) forward(work.stage, microbatch, unit);
    } else {
        for (int unit = last; unit >= work.first_unit; --unit) {
            if (work.pass != Pass::weight_grad) input_grad(work.stage, microbatch, unit);
            if (work.pass != Pass::input_grad) weight_grad(work.stage, microbatch, unit);
        }
        after_backward(work, microbatch);
    }
    const std::int64_t before = meter_.activations_before();
    return {meter_.now().of(MemoryKind::activations) - before, meter_.most_activations() - before};
}

/// In one message. Ranks of the group hold pieces of the same sizes in the same order.
void RankModel::Implementation::sum_over(const std::vector<int>& group, const std::vector<Tensor>& pieces) {
    std::int64_t size = 0;
    for (const Tensor& piece : pieces) size += piece.size();
    if (size == 0) return;
    Buffer packed(device_, meter_, MemoryKind::gradients, 1, size);
    const auto each = [&](const auto& work) {
        Tensor at = packed.tensor();
        for (const Tensor& piece : pieces) {
            at.columns = piece.size();
            work(piece, at);
            at.data += piece.size() * static_cast<std::int64_t>(element_bytes(device_.type()));
        }
    };
    each([&](Tensor piece, Tensor place) { device_.copy(piece, place); });
    transport_.all_reduce({Axis::tp, Lane::compute}, group, {packed.span(), device_.type()}, Reduction::sum);
    each([&](Tensor piece, Tensor place) { device_.copy(place, piece); });
}

std::vector<int> RankModel::Implementation::copies_group(int copies) const {
    const auto first = context_.tp_group.begin() + at_.tp / copies * copies;
    return {first, first + copies};
}

void RankModel::Implementation::finish_gradients() {
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
            copied.push_back({piece.gradient.data + skipped * static_cast<std::int64_t>(element_bytes(device_.type())),
                              1, piece.elements.end - first});
        }
    }
    sum_over(context_.tp_group, whole);
    if (copies > 1) sum_over(copies_group(copies), copied);
}

void RankModel::Implementation::optimizer_step() {
    AdamStep update = options_.update;
    update.step = ++updates_;
    for (auto& [stage, held] : stores_) {
        for (OwnedState& state : held.owned()) {
            const Tensor gradient = held.owned_gradient(state);
            const Tensor weight = held.owned_weight(state);
            if (options_.optimizer == OptimizerKind::sgd) {
                device_.sgd(update.learning_rate, gradient, weight);
            } else {
                device_.adamw(update, gradient, state.first_moment.tensor(), state.second_moment.tensor(), weight);
            }
        }
    }
}

ParameterStore* RankModel::Implementation::tied_store() {
    for (auto& [stage, held] : stores_) {
        for (int unit = 0; unit < unit_count(stage); ++unit) {
            const bool copy = job_.model.tied_embeddings && held.has(unit, ParameterId::output_weight);
            if (copy || held.has(unit, ParameterId::embedding)) return &held;
        }
    }
    return nullptr;
}

std::vector<RankModel::Parameter> RankModel::Implementation::described_parameters() {
    std::vector<Parameter> all;
    for (auto& [stage, held] : stores_) {
        for (const ParameterTensor& tensor : held.layout().tensors) {
            Parameter parameter;
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

RankModel::RankModel(const Job& job, const TaskGraph& graph, int rank, Device& device, Transport& transport,
                     ModelOptions options)
    : implementation_(std::make_unique<Implementation>(job, graph, rank, device, transport, std::move(options))) {}
RankModel::~RankModel() = default;

void RankModel::begin_step(int step) {
    implementation_->begin_step(step);
}
PassMemory RankModel::run(const Work& work, int microbatch) {
    return implementation_->run(work, microbatch);
}
std::span<std::byte> RankModel::incoming(int stage, int microbatch, Direction direction) {
    return implementation_->incoming({stage, microbatch, direction});
}
std::span<const std::byte> RankModel::outgoing(int stage, int microbatch, Direction direction) {
    return implementation_->outgoing({stage, microbatch, direction});
}
void RankModel::sent(int stage, int microbatch, Direction direction) {
    implementation_->sent({stage, microbatch, direction});
}
Elements RankModel::parameters(int stage) {
    ParameterStore& held = implementation_->store(stage);
    return held.elements(held.group(0).weights);
}
Elements RankModel::gradients(int stage) {
    ParameterStore& held = implementation_->store(stage);
    return held.elements(held.group(0).gradients);
}
Elements RankModel::shard(int stage, int group) {
    ParameterStore& held = implementation_->store(stage);
    return held.elements(held.group(group).weight_shard);
}
Elements RankModel::begin_gather(int stage, int group) {
    return implementation_->store(stage).begin_gather(group);
}
void RankModel::end_use(int stage, int group) {
    implementation_->store(stage).end_use(group);
}
Elements RankModel::detach_gradients(int stage, int group) {
    return implementation_->store(stage).detach_gradients(group);
}
Elements RankModel::whole_gradients(int stage, int group) {
    return implementation_->store(stage).whole_gradients(group);
}
ElementType RankModel::element_type() const {
    return implementation_->context_.device.type();
}
Elements RankModel::gradient_shard(int stage, int group) {
    ParameterStore& held = implementation_->store(stage);
    return held.elements(held.group(group).gradient_shard);
}
void RankModel::end_reduce(int stage, int group) {
    implementation_->store(stage).end_reduce(group);
}
Elements RankModel::tied_gradient() {
    ParameterStore* held = implementation_->tied_store();
    if (held == nullptr) return {};
    return held->table_gradient();
}
void RankModel::finish_gradients() {
    implementation_->finish_gradients();
}
void RankModel::optimizer_step() {
    implementation_->optimizer_step();
}
double RankModel::loss() const {
    return implementation_->context_.loss;
}
MemoryMeter& RankModel::memory() {
    return implementation_->meter_;
}
std::vector<RankModel::Parameter> RankModel::described_parameters() {
    return implementation_->described_parameters();
}

}  // namespace foreshard::runtime
