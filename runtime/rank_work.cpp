#include "runtime/rank_work.hpp"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "runtime/arena_size.hpp"
#include "sim/spec/data_parallel.hpp"

namespace foreshard::runtime {

namespace {

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

std::size_t pool_bytes(const Job& job, const TaskGraph& graph, int rank, ElementType type) {
    return static_cast<std::size_t>(arena_bytes(job, graph, simulated_rank(graph, position_of(job, rank)), type));
}

}  // namespace

RankWork::RankWork(const Job& job, const TaskGraph& graph, int rank, Device& device, Transport& transport,
                   ModelOptions options)
    : job_(job),
      graph_(graph),
      pool_(device, pool_bytes(job, graph, rank, device.type()), options.poison),
      context_{job, device, pool_, transport, op_shapes(job), {}, {}, 0, false, false, {}, 1.0, {}, nullptr, 0},
      at_(position_of(job, rank)),
      device_(device),
      transport_(transport),
      options_(std::move(options)),
      op_index_(graph),
      losses_(pool_, MemoryKind::activations, 1, graph.steps, ElementType::fp64, Counted::later) {
    pool_.meter().log_to(options_.memory_log);
    refuse_unsupported(job, graph, device.type());
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

void RankWork::add_store(int stage, std::size_t index) {
    const StageOps& ops = graph_.stages[static_cast<std::size_t>(stage)];
    StoreOptions options;
    options.seed = options_.seed;
    options.sharded = shards_parameters(job_.plan) && job_.plan.dp > 1 ? Sharded::yes : Sharded::no;
    std::tie(options.shards, options.shard) = shard_place(job_, at_);
    options.keeps_moments = options_.optimizer == OptimizerKind::adamw;
    if (!options_.owned.empty()) options.owned = options_.owned.at(index);
    stores_.try_emplace(stage, job_, stage_parameters(job_, ops, at_.tp), pool_, std::move(options));
    units_[stage] = stage_units(ops);
}

void RankWork::find_table() {
    for (auto& [stage, held] : stores_) {
        for (int unit = 0; unit < unit_count(stage); ++unit) {
            if (!held.has(unit, ParameterId::embedding)) continue;
            context_.table_store = &held;
            context_.table_unit = unit;
        }
    }
}

void RankWork::begin_step(int step) {
    step_ = step;
    context_.loss = losses_.tensor().stretch(step % graph_.steps, 1);
    device_.fill(context_.loss, 0.0);
    data_.clear();
    const Clock::time_point start = Clock::now();
    for (auto& [stage, held] : stores_) held.zero_gradients();
    if (spans_ != nullptr) spans_->add({op_index_.zeroing(), -1, start, Clock::now()}, std::nullopt);
}

double RankWork::loss() const {
    return device_.load(context_.loss).front();
}

std::vector<double> RankWork::losses() const {
    return device_.load(losses_.tensor());
}

const MicroBatch& RankWork::data(int microbatch) {
    const auto known = data_.find(microbatch);
    if (known != data_.end()) return known->second;
    const std::int64_t first = first_sequence(job_, step_, at_.dp, microbatch);
    return data_[microbatch] = make_microbatch(job_, options_.data, first);
}

const OpBlock& RankWork::block_of(int stage, int unit) const {
    const Unit& at = units_.at(stage)[static_cast<std::size_t>(unit)];
    return graph_.stages[static_cast<std::size_t>(stage)].blocks[static_cast<std::size_t>(at.block)];
}

UnitRun RankWork::unit_run(int stage, int unit, StagePass& pass, int microbatch) {
    return {context_,
            stores_.at(stage),
            unit,
            block_of(stage, unit).kind,
            true,
            pass.units[static_cast<std::size_t>(unit)],
            data(microbatch)};
}

void RankWork::run_ops(std::span<const Op> ops, UnitRun& run) {
    std::int32_t number = spans_ != nullptr && !ops.empty() ? op_index_.number_of(ops.data()) : 0;
    for (const Op& op : ops) {
        if (options_.op_log != nullptr) options_.op_log->emplace_back(op.name);
        run.op = op.name;
        const OpKernel kernel = find_kernel(op.name);
        if (spans_ == nullptr) {
            kernel(run);
        } else {
            time_op(kernel, run, number++);
        }
    }
}

void RankWork::time_op(OpKernel kernel, UnitRun& run, std::int32_t number) {
    OpSpan span{number, -1, Clock::now(), {}};
    run.call.reset();
    kernel(run);
    span.end = Clock::now();
    spans_->add(span, run.call);
}

Buffer RankWork::take(const MessageKey& key) {
    const std::lock_guard lock(messages_);
    std::deque<Buffer>& waiting = incoming_[key];
    if (waiting.empty()) {
        throw std::logic_error(
            fmt::format("stage {} micro-batch {}: its input has not arrived", std::get<0>(key), std::get<1>(key)));
    }
    Buffer tensor = std::move(waiting.front());
    waiting.pop_front();
    tensor.count_as(MemoryKind::activations);
    return tensor;
}

void RankWork::give(const MessageKey& key, Buffer tensor) {
    tensor.count_as(MemoryKind::messages);
    const std::lock_guard lock(messages_);
    (sends_.contains(key) ? outgoing_ : incoming_)[key].push_back(std::move(tensor));
}

std::span<std::byte> RankWork::incoming(const MessageKey& key) {
    Buffer tensor(pool_, MemoryKind::messages, context_.shapes.shard_tokens, context_.shapes.hidden, Counted::later);
    const std::lock_guard lock(messages_);
    return incoming_[key].emplace_back(std::move(tensor)).span();
}

void RankWork::arrived(const MessageKey& key) {
    const std::lock_guard lock(messages_);
    incoming_.at(key).back().begin_counting();
}

Elements RankWork::outgoing(const MessageKey& key) {
    const std::lock_guard lock(messages_);
    const Buffer& tensor = outgoing_.at(key).front();
    return {tensor.span(), tensor.tensor().type};
}

void RankWork::sent(const MessageKey& key) {
    const std::lock_guard lock(messages_);
    outgoing_.at(key).pop_front();
}

void RankWork::forward(int stage, int microbatch, int unit) {
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
    if (kept_of(block) == Kept::input) run.state.clear_but(Slot::input);
    if (kept_of(block) == Kept::nothing) run.state.clear();
    if (unit + 1 == unit_count(stage)) give({stage + 1, microbatch, Direction::forward}, std::move(pass.activation));
}

/// The forward of units that are rebuilt together, from the input of the first.
void RankWork::rebuild(int stage, int microbatch, int last, int units) {
    StagePass& pass = passes_.at({stage, microbatch});
    std::span<const Op> ops = block_of(stage, last).input_grad;
    for (int unit = last - units + 1; unit < last; ++unit) {
        UnitRun run = unit_run(stage, unit, pass, microbatch);
        const std::size_t count = block_of(stage, unit).forward.size();
        run_ops(ops.first(count), run);
        ops = ops.subspan(count);
        pass.units[static_cast<std::size_t>(unit) + 1][Slot::input] = std::move(run.state[unit_output(run)]);
    }
}

/// Ops that run again come first; what they give beyond the unit's saved tensors is its output, which nobody needs.
void RankWork::input_grad(int stage, int microbatch, int unit) {
    StagePass& pass = passes_.at({stage, microbatch});
    UnitRun run = unit_run(stage, unit, pass, microbatch);
    if (run.kind != BlockKind::head) {
        const bool last = unit + 1 == unit_count(stage);
        run.state[Slot::grad] = last ? take({stage, microbatch, Direction::backward}) : std::move(pass.gradient);
    }
    const OpBlock& block = block_of(stage, unit);
    const std::vector<Op>& ops = block.input_grad;
    const auto again = std::partition_point(ops.begin(), ops.end(), [](const Op& op) { return op.recompute; });
    const int units = rebuilt_layers(block);
    if (units > 1) rebuild(stage, microbatch, unit, units);
    const auto own = units > 1 ? again - static_cast<std::ptrdiff_t>(block.forward.size()) : ops.begin();
    run_ops({own, again}, run);
    if (again != ops.begin()) run.drop(unit_output(run));
    run_ops({again, ops.end()}, run);
    if (run.kind != BlockKind::embedding) pass.gradient = std::move(run.state[Slot::grad]);
}

void RankWork::weight_grad(int stage, int microbatch, int unit) {
    StagePass& pass = passes_.at({stage, microbatch});
    UnitRun run = unit_run(stage, unit, pass, microbatch);
    run_ops(block_of(stage, unit).weight_grad, run);
    run.state.clear();
}

void RankWork::after_backward(const Work& work, int microbatch) {
    if (work.first_unit > 0) return;
    const auto found = passes_.find({work.stage, microbatch});
    if (work.pass != Pass::weight_grad && work.stage > 0) {
        give({work.stage - 1, microbatch, Direction::backward}, std::move(found->second.gradient));
    }
    if (work.pass != Pass::input_grad) passes_.erase(found);
}

PassMemory RankWork::run(const Work& work, int microbatch) {
    MemoryMeter& meter = pool_.meter();
    meter.begin_pass();
    const int last = work.first_unit + work.units - 1;
    if (work.pass != Pass::forward) stores_.at(work.stage).hold_gradients(work.first_unit, last);
    if (work.pass == Pass::forward) {
        for (int unit = work.first_unit; unit <= last; ++unit) forward(work.stage, microbatch, unit);
    } else {
        for (int unit = last; unit >= work.first_unit; --unit) {
            if (work.pass != Pass::weight_grad) input_grad(work.stage, microbatch, unit);
            if (work.pass != Pass::input_grad) weight_grad(work.stage, microbatch, unit);
        }
        after_backward(work, microbatch);
    }
    const std::int64_t before = meter.activations_before();
    return {meter.now().of(MemoryKind::activations) - before, meter.most_activations() - before};
}

}  // namespace foreshard::runtime
