#include "runtime/rank_tasks.hpp"

#include <algorithm>
#include <stdexcept>

#include "sim/plan/data_parallel/shard_plan.hpp"
#include "sim/spec/data_parallel.hpp"

namespace foreshard::runtime {

namespace {

Elements part_of(Elements all, Range range) {
    const std::size_t element = element_bytes(all.type);
    return {all.bytes.subspan(static_cast<std::size_t>(range.begin) * element,
                              static_cast<std::size_t>(range.size()) * element),
            all.type};
}

int place_in(std::span<const int> group, int rank) {
    return static_cast<int>(std::find(group.begin(), group.end(), rank) - group.begin());
}

Elements own_part(Elements all, const Meeting& meeting, int rank) {
    const auto members = static_cast<int>(meeting.group.size());
    return part_of(all, shard_of(static_cast<std::int64_t>(all.count()), members, place_in(meeting.group, rank)));
}

Direction direction_of(const Task& task) {
    return task.pass == Pass::forward ? Direction::forward : Direction::backward;
}

Tensor tensor_of(Elements elements) {
    return {elements.bytes.data(), 1, static_cast<std::int64_t>(elements.count()), elements.type};
}

}  // namespace

RankTasks::RankTasks(const Job& job, const TaskGraph& graph, const Ranks& ranks, RankModel& model, Transport& transport)
    : job_(job),
      graph_(graph),
      ranks_(ranks),
      model_(model),
      transport_(transport),
      reductions_(plan_reductions(job, graph, ranks.position(transport.rank()).pp)) {
    two_levels_ = inner_group_size(job.plan) > 1 && inner_group_size(job.plan) < job.plan.dp;
    if (shards_parameters(job.plan) && job.plan.dp > 1) find_shard_tasks();
}

void RankTasks::find_shard_tasks() {
    std::vector<ShardGroups> groups;
    groups.reserve(graph_.stages.size());
    for (const StageOps& stage : graph_.stages) groups.push_back(shard_groups(job_, stage));
    const auto group_of = [&](std::int32_t pass) {
        const Work& work = graph_.works[static_cast<std::size_t>(graph_.tasks[static_cast<std::size_t>(pass)].work)];
        const ShardGroups& stage = groups[static_cast<std::size_t>(work.stage)];
        return ShardTask{work.stage, stage.of_unit[static_cast<std::size_t>(work.first_unit)]};
    };
    for (const GatheredParameters& gathered : graph_.gathered) {
        shard_tasks_[gathered.gather] = group_of(gathered.first_use);
        frees_[gathered.last_use].push_back(group_of(gathered.first_use));
    }
    for (const ReducedGradients& reduced : graph_.reduced) {
        shard_tasks_[reduced.reduce] = group_of(reduced.producer);
        completes_[reduced.producer].push_back(reduced.reduce);
        on_the_way_[reduced.reduce] = {};
    }
}

void RankTasks::spoil_if_asked(std::int32_t task, Elements payload) const {
    if (task == spoiled_ && payload.count() > 0) model_.device().spoil(tensor_of(payload));
}

std::optional<Met> RankTasks::perform(std::int32_t id) {
    MemoryMeter& meter = model_.memory().meter();
    const bool computes = graph_.stream_of(id).lane == Lane::compute;
    const auto kind = computes ? MemoryMeter::TaskKind::compute : MemoryMeter::TaskKind::communication;
    meter.begin_task(id, kind);
    const std::optional<Met> met = dispatch(id);
    meter.end_task(id, kind);
    return met;
}

std::optional<Met> RankTasks::dispatch(std::int32_t id) {
    const Task& task = graph_.tasks[static_cast<std::size_t>(id)];
    const bool sharded = shards_parameters(job_.plan);
    const auto meeting = [&] { return meeting_of(graph_, ranks_, transport_.rank(), id); };
    switch (task.kind) {
        case TaskKind::pass:
            run_pass(id, task);
            return std::nullopt;
        case TaskKind::send:
            return send(id, task, meeting());
        case TaskKind::recv:
            return receive(task, meeting());
        case TaskKind::grad_reduce:
            return sharded ? reduce_shard(id, meeting()) : reduce_pieces(id, meeting());
        case TaskKind::embedding_reduce:
            return reduce_tied(id, meeting());
        case TaskKind::optimizer:
            model_.finish_gradients();
            model_.optimizer_step();
            return std::nullopt;
        case TaskKind::param_gather:
            return sharded ? gather_shard(id, meeting())
                           : gather_pieces(task.stage, model_.parameters(task.stage), meeting());
        case TaskKind::vocabulary:
            return exchange(id, task, meeting());
        case TaskKind::offload:
        case TaskKind::reload:
            throw std::logic_error("tensors are not offloaded to a host");
        case TaskKind::step_end:
            return std::nullopt;
    }
    return std::nullopt;
}

void RankTasks::run_pass(std::int32_t id, const Task& task) {
    if (first_step_ + task.step != step_) {
        step_ = first_step_ + task.step;
        model_.begin_step(step_);
    }
    model_.run(graph_.works[static_cast<std::size_t>(task.work)], task.microbatch);
    if (const auto groups = completes_.find(id); groups != completes_.end()) {
        for (const std::int32_t reduction : groups->second) {
            const ShardTask& group = shard_tasks_.at(reduction);
            on_the_way_.at(reduction) = model_.detach_gradients(group.stage, group.group);
        }
    }
    if (const auto groups = frees_.find(id); groups != frees_.end()) {
        for (const ShardTask& group : groups->second) model_.end_use(group.stage, group.group);
    }
}

/// What is sent is needed by nobody else on this rank, so that it may be spoilt.
Met RankTasks::send(std::int32_t id, const Task& task, const Meeting& meeting) {
    const Elements whole = model_.outgoing(task.stage, task.microbatch, direction_of(task));
    spoil_if_asked(id, whole);
    const std::span<const std::byte> data = whole.bytes.first(whole.bytes.size() / (id == shortened_ ? 2 : 1));
    const Met met = transport_.send(meeting.channel, meeting.peer, data);
    if (!in_group_) model_.sent(task.stage, task.microbatch, direction_of(task));
    return met;
}

void RankTasks::begin_group() {
    in_group_ = true;
    transport_.begin_group();
}

void RankTasks::end_group() {
    transport_.end_group();
    in_group_ = false;
}

void RankTasks::finish(std::int32_t id) {
    const Task& task = graph_.tasks[static_cast<std::size_t>(id)];
    if (task.kind == TaskKind::send) model_.sent(task.stage, task.microbatch, direction_of(task));
}

Met RankTasks::receive(const Task& task, const Meeting& meeting) {
    const Met met = transport_.receive(meeting.channel, meeting.peer,
                                       model_.incoming(task.stage, task.microbatch, direction_of(task)));
    model_.arrived(task.stage, task.microbatch, direction_of(task));
    return met;
}

/// Gradients of whole parameters. Of a reduce-scatter a rank gets its part in place.
Met RankTasks::reduce_pieces(std::int32_t id, const Meeting& meeting) {
    std::optional<Met> first;
    for (const Piece& piece : reductions_.tasks.at(id)) {
        if (!first) spoil_if_asked(id, part_of(model_.gradients(piece.stage), piece.elements));
        const Met met = reduce_piece(piece, meeting);
        if (!first) first = met;
    }
    return first.value_or(Met{Clock::now()});
}

Met RankTasks::reduce_piece(const Piece& piece, const Meeting& meeting) {
    const Elements all = part_of(model_.gradients(piece.stage), piece.elements);
    if (meeting.kind == CollectiveKind::reduce_scatter) {
        return transport_.reduce_scatter(meeting.channel, meeting.group, all,
                                         own_part(all, meeting, transport_.rank()));
    }
    // Between groups of a sharded optimizer, every rank has its part only.
    const bool second = two_levels_ && shards_optimizer(job_.plan) && meeting.channel.axis == Axis::dp_replica;
    const Elements mine = second ? own_part(all, shard_meeting(), transport_.rank()) : all;
    return transport_.all_reduce(meeting.channel, meeting.group, mine, Reduction::sum);
}

/// The group inside which states are sharded, on a channel that no task uses.
Meeting RankTasks::shard_meeting() const {
    const Axis axis = inner_group_size(job_.plan) == job_.plan.dp ? Axis::dp : Axis::dp_shard;
    return {{axis, Lane::compute}, CollectiveKind::all_gather, ranks_.group(transport_.rank(), axis), -1};
}

/// Adds the rank's part of a reduced group to its shard; with two levels the second does, on its part.
Met RankTasks::reduce_shard(std::int32_t id, const Meeting& meeting) {
    const bool second = two_levels_ && meeting.channel.axis == Axis::dp_replica;
    const std::int32_t first_level = second ? graph_.deps[graph_.tasks[static_cast<std::size_t>(id)].first_dep] : id;
    const Elements all = on_the_way_.at(first_level);
    const Elements mine = own_part(all, shard_meeting(), transport_.rank());
    spoil_if_asked(id, second ? mine : all);
    const Met met = second ? transport_.all_reduce(meeting.channel, meeting.group, mine, Reduction::sum)
                           : transport_.reduce_scatter(meeting.channel, meeting.group, all, mine);
    if (second || !two_levels_) {
        const ShardTask& shard = shard_tasks_.at(first_level);
        model_.device().add(tensor_of(mine), tensor_of(model_.gradient_shard(shard.stage, shard.group)));
        model_.end_reduce(shard.stage, shard.group);
    }
    return met;
}

Met RankTasks::reduce_tied(std::int32_t id, const Meeting& meeting) {
    const Elements gradient = model_.tied_gradient();
    spoil_if_asked(id, gradient);
    return transport_.all_reduce(meeting.channel, meeting.group, gradient, Reduction::sum);
}

/// Between the shares of a vocabulary.
Met RankTasks::exchange(std::int32_t id, const Task& task, const Meeting& meeting) {
    const int root = broadcast_root(graph_, task.use);
    const int giver = root < 0 ? -1 : ranks_.on_pipeline_rank(transport_.rank(), root);
    const bool receives = root >= 0 && giver != transport_.rank();
    const Elements data = model_.begin_exchange(task.use, task.microbatch, receives);
    if (!receives) spoil_if_asked(id, data);
    const Reduction reduction = task.use == VocabularyUse::maximum ? Reduction::max : Reduction::sum;
    const Met met = root < 0 ? transport_.all_reduce(meeting.channel, meeting.group, data, reduction)
                             : transport_.broadcast(meeting.channel, meeting.group, giver, data);
    model_.end_exchange(task.use, task.microbatch);
    return met;
}

Met RankTasks::gather_shard(std::int32_t id, const Meeting& meeting) {
    const ShardTask& task = shard_tasks_.at(id);
    const Elements whole = model_.begin_gather(task.stage, task.group);
    Elements shard = model_.shard(task.stage, task.group);
    Buffer spoiled;
    if (id == spoiled_) {
        spoiled = Buffer(model_.memory(), MemoryKind::weights, 1, static_cast<std::int64_t>(shard.count()), shard.type,
                         Counted::later);
        model_.device().copy(tensor_of(shard), spoiled.tensor());
        shard.bytes = spoiled.span();
        spoil_if_asked(id, shard);
    }
    const Met met = transport_.all_gather(meeting.channel, meeting.group, shard.bytes, whole);
    model_.end_gather(task.stage, task.group);
    return met;
}

/// Every piece that a sharded optimizer shared out.
Met RankTasks::gather_pieces(int stage, Elements whole, const Meeting& meeting) {
    std::optional<Met> first;
    for (const Piece& piece : reductions_.shared_out[stage]) {
        const Elements all = part_of(whole, piece.elements);
        const Elements mine = own_part(all, meeting, transport_.rank());
        const Met met = transport_.all_gather(meeting.channel, meeting.group, mine.bytes, all);
        if (!first) first = met;
    }
    return first.value_or(Met{Clock::now()});
}

void RankTasks::make_whole() {
    if (job_.plan.dp == 1 || (!shards_optimizer(job_.plan) && !shards_parameters(job_.plan))) return;
    const Meeting meeting = shard_meeting();
    const int pp = ranks_.position(transport_.rank()).pp;
    for (const int stage : graph_.rank_stages[static_cast<std::size_t>(pp)]) {
        if (!shards_parameters(job_.plan)) {
            gather_pieces(stage, model_.gradients(stage), meeting);
            continue;
        }
        const ShardGroups groups = shard_groups(job_, graph_.stages[static_cast<std::size_t>(stage)]);
        for (std::size_t g = 0; g < groups.groups.size(); ++g) {
            if (groups.groups[g].elements > 0.0) make_group_whole(stage, static_cast<int>(g), meeting);
        }
    }
}

void RankTasks::make_group_whole(int stage, int group, const Meeting& meeting) {
    transport_.all_gather(meeting.channel, meeting.group, model_.shard(stage, group).bytes,
                          model_.begin_gather(stage, group));
    transport_.all_gather(meeting.channel, meeting.group, model_.gradient_shard(stage, group).bytes,
                          model_.whole_gradients(stage, group));
}

}  // namespace foreshard::runtime
