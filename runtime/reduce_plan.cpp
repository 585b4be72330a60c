#include "runtime/reduce_plan.hpp"

#include <cmath>

#include "runtime/parameter_layout.hpp"
#include "sim/plan/parameters.hpp"
#include "sim/spec/data_parallel.hpp"

namespace foreshard::runtime {

namespace {

const CommClass& class_of(const TaskGraph& graph, const Task& task) {
    const Comm& comm = graph.comms[static_cast<std::size_t>(task.comm)];
    return graph.comm_classes[static_cast<std::size_t>(comm.comm_class)];
}

class Planner {
public:
    Planner(const Job& job, const TaskGraph& graph, int pp) : job_(job), graph_(graph), pp_(pp) {
        two_levels_ = inner_group_size(job.plan) > 1 && inner_group_size(job.plan) < job.plan.dp;
    }

    ReducePlan plan() {
        for (const Stream& stream : graph_.streams) {
            if (stream.rank != pp_) continue;
            for (std::int32_t id = stream.first; id < stream.last; ++id) add_task(id);
        }
        return std::move(plan_);
    }

private:
    void add_task(std::int32_t id) {
        const Task& task = graph_.tasks[static_cast<std::size_t>(id)];
        if (task.kind != TaskKind::grad_reduce) return;
        const CommClass& kind = class_of(graph_, task);
        std::vector<Piece>& pieces = plan_.tasks[id];
        if (kind.axis == Axis::replica) {
            pieces = {{task.stage, {0, parameters_of(task.stage)}}};
        } else if (kind.axis == Axis::dp_replica && two_levels_) {
            pieces = last_;
        } else {
            pieces = first_level(task, kind);
            last_ = pieces;
            if (task.step > 0) return;
            for (const Piece& piece : pieces) plan_.shared_out[piece.stage].push_back(piece);
        }
    }

    std::int64_t parameters_of(int stage) const { return graph_.stages[static_cast<std::size_t>(stage)].parameters(); }

    std::vector<Piece> first_level(const Task& task, const CommClass& kind) {
        std::vector<Piece> pieces;
        if (task.stage < 0) {
            for (const int stage : graph_.rank_stages[static_cast<std::size_t>(pp_)]) {
                add_cut(stage, {0, parameters_of(stage)}, pieces);
            }
            return pieces;
        }
        const std::int64_t elements = std::llround(kind.message.value / reduced_gradient_bytes(job_));
        std::int64_t& cursor = cursors_[task.stage];
        if (cursor == parameters_of(task.stage)) cursor = 0;  // a step later
        add_cut(task.stage, {cursor, cursor + elements}, pieces);
        cursor += elements;
        return pieces;
    }

    /// The tied embedding apart from what stands before and behind it.
    void add_cut(int stage, Range range, std::vector<Piece>& pieces) const {
        const Range tied = shards_optimizer(job_.plan) ? tied_range(job_, graph_, stage) : Range{};
        std::int64_t begin = range.begin;
        for (const std::int64_t cut : {tied.begin, tied.end, range.end}) {
            if (cut <= begin || cut > range.end) continue;
            pieces.push_back({stage, {begin, cut}});
            begin = cut;
        }
    }

    const Job& job_;
    const TaskGraph& graph_;
    int pp_;
    bool two_levels_ = false;
    ReducePlan plan_;
    std::vector<Piece> last_;
    std::map<int, std::int64_t> cursors_;
};

}  // namespace

ReducePlan plan_reductions(const Job& job, const TaskGraph& graph, int pp) {
    if (shards_parameters(job.plan)) return {};
    return Planner(job, graph, pp).plan();
}

Range tied_range(const Job& job, const TaskGraph& graph, int stage) {
    if (!ties_embedding_across_ranks(job)) return {};
    const StageContents& contents = graph.layout[static_cast<std::size_t>(stage)];
    if (!contents.embedding && !contents.loss) return {};
    const ParameterId wanted = contents.embedding ? ParameterId::embedding : ParameterId::output_weight;
    // Sizes are the same on all tensor parallel ranks.
    for (const ParameterTensor& tensor :
         stage_parameters(job, graph.stages[static_cast<std::size_t>(stage)], 0, 0).tensors) {
        if (tensor.id == wanted) return {tensor.offset, tensor.offset + tensor.size()};
    }
    return {};
}

std::vector<std::vector<Range>> owned_ranges(const Job& job, const TaskGraph& graph, int pp, int members, int member) {
    if (!shards_optimizer(job.plan) || shards_parameters(job.plan) || members == 1) return {};
    const ReducePlan plan = plan_reductions(job, graph, pp);
    std::vector<std::vector<Range>> owned;
    for (const int stage : graph.rank_stages[static_cast<std::size_t>(pp)]) {
        owned.emplace_back();
        const auto found = plan.shared_out.find(stage);
        if (found == plan.shared_out.end()) continue;
        for (const Piece& piece : found->second) {
            const Range part = shard_of(piece.elements.size(), members, member);
            owned.back().push_back({piece.elements.begin + part.begin, piece.elements.begin + part.end});
        }
    }
    return owned;
}

}  // namespace foreshard::runtime
