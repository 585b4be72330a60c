#include "runtime/rank_setup.hpp"

#include <algorithm>
#include <cassert>

#include <fmt/format.h>

#include "runtime/supported.hpp"
#include "sim/error.hpp"
#include "sim/plan/parameters.hpp"
#include "sim/spec/schedule_kinds.hpp"

namespace foreshard::runtime {

namespace {

[[noreturn]] void refuse(const std::string& flag, const std::string& reason) {
    throw InputError(flag, "", reason);
}

void refuse_model(const ModelSpec& model) {
    const bool known = model.positions == PositionKind::learned || model.positions == PositionKind::rotary;
    if (!known) refuse("--model", fmt::format("{}: the runtime has learned and rotary positions only", model.id));
    if (model.moe) refuse("--model", fmt::format("{}: the runtime has no experts; take a dense model", model.id));
    if (model.mtp_layers > 0) refuse("--mtp-num-layers", "the runtime has no prediction layers; valid is 0");
    if (model.positions == PositionKind::rotary && model.head_dim % 2 != 0) {
        refuse("--kv-channels", fmt::format("{}: rotary positions turn pairs, so it must be even", model.head_dim));
    }
    if (model.token_types > 0 && model.norm != NormKind::layer_norm) {
        refuse("--model", fmt::format("{}: encoders have LayerNorm here", model.id));
    }
    if (model.token_types > 0 && model.mask != AttentionMask::bidirectional) {
        refuse("--model", fmt::format("{}: token types belong to encoders with bidirectional attention", model.id));
    }
}

void refuse_plan(const Job& job, ElementType type) {
    const ParallelPlan& plan = job.plan;
    if (plan.cp > 1) refuse("--cp", fmt::format("{}: the runtime has no context parallelism; valid is 1", plan.cp));
    if (plan.ep > 1) refuse("--ep", fmt::format("{}: the runtime has no experts; valid is 1", plan.ep));
    if (const Precision computed = plan_precision(type); plan.precision != computed) {
        refuse("--precision", fmt::format("{}: the runtime computes in {}; valid is {}", to_string(plan.precision),
                                          to_string(computed), to_string(computed)));
    }
    if (plan.offload_parameters) refuse("--offload-parameters", "the runtime has one memory; leave it out");
    if (plan.offload_activation_layers > 0) {
        refuse("--offload-activation-layers", "the runtime has one memory; valid is 0");
    }
    if (traits_of(plan.schedule).asynchronous) {
        refuse("--schedule", fmt::format("{}: the runtime has schedules with a flush", to_string(plan.schedule)));
    }
}

void refuse_ops(const Job& job, const std::vector<Op>& ops) {
    for (const Op& op : ops) {
        if (find_kernel(op.name) != nullptr) continue;
        refuse("--software", fmt::format("{}: the runtime has no kernel for its op {}; valid is foreshard",
                                         job.software.id, op.name));
    }
}

}  // namespace

void refuse_unsupported(const Job& job, const TaskGraph& graph, ElementType type) {
    refuse_model(job.model);
    refuse_plan(job, type);
    for (const StageOps& stage : graph.stages) {
        for (const OpBlock& block : stage.blocks) {
            refuse_ops(job, block.forward);
            refuse_ops(job, block.input_grad);
            refuse_ops(job, block.weight_grad);
        }
    }
}

RankPosition position_of(const Job& job, int rank) {
    const RankGrid grid = rank_grid(job);
    RankPosition at;
    for (at.pp = 0; at.pp < job.plan.pp; ++at.pp) {
        for (at.dp = 0; at.dp < job.plan.dp; ++at.dp) {
            for (at.tp = 0; at.tp < job.plan.tp; ++at.tp) {
                if (grid.rank(at) == rank) return at;
            }
        }
    }
    assert(false && "no such rank");
    return {};
}

std::vector<int> tensor_parallel_group(const Job& job, const RankPosition& at) {
    const RankGrid grid = rank_grid(job);
    std::vector<int> group;
    RankPosition member = at;
    for (member.tp = 0; member.tp < job.plan.tp; ++member.tp) group.push_back(grid.rank(member));
    return group;
}

AttentionShape attention_shape(const Job& job, const OpShapes& shapes) {
    AttentionShape shape;
    shape.sequences = shapes.micro_batch;
    shape.seq = shapes.seq;
    shape.heads = shapes.heads;
    shape.kv_heads = shapes.kv / shapes.head_dim;
    shape.head_dim = shapes.head_dim;
    shape.mask = job.model.mask;
    return shape;
}

VocabularyPart vocabulary_part(const Job& job, const RankPosition& at) {
    const std::int64_t rows = vocabulary_rows(job);
    const bool shared = vocabulary_shares(job.plan) > 1;
    const std::int64_t first = (shared ? std::int64_t{1} * at.pp * job.plan.tp + at.tp : at.tp) * rows;
    return {static_cast<std::int32_t>(first), std::clamp<std::int64_t>(job.model.vocab_size - first, 0, rows)};
}

int simulated_rank(const TaskGraph& graph, const RankPosition& at) {
    return graph.ranks > graph.pipeline_ranks ? at.dp * graph.pipeline_ranks + at.pp : at.pp;
}

std::set<MessageKey> sent_messages(const TaskGraph& graph, int simulated) {
    std::set<MessageKey> sent;
    for (const Stream& stream : graph.streams) {
        const bool sends = stream.lane == Lane::send_forward || stream.lane == Lane::send_backward;
        if (stream.rank != simulated || !sends) continue;
        const Direction direction = stream.lane == Lane::send_forward ? Direction::forward : Direction::backward;
        for (std::int32_t id = stream.first; id < stream.last; ++id) {
            const Task& task = graph.tasks[static_cast<std::size_t>(id)];
            sent.insert({task.stage, task.microbatch, direction});
        }
    }
    return sent;
}

}  // namespace foreshard::runtime
