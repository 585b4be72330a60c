#include "sim/plan/data_parallel/shard_buffers.hpp"

#include <algorithm>
#include <cmath>

#include "sim/plan/op_graph.hpp"

namespace foreshard {

namespace {

ByteCount bytes_of(double elements, double each) {
    return std::llround(elements * each);
}

void add_gathered(const Job& job, const GatheredParameters& use, std::vector<Holding>& all) {
    const ByteCount whole = bytes_of(use.elements, activation_bytes(job.plan.precision));
    const bool copies_out =
        job.plan.data_parallel == DataParallelKind::fsdp2 || job.plan.data_parallel == DataParallelKind::hsdp;
    if (!copies_out) {
        all.push_back({use.gather, use.last_use, false, false, whole, HoldingKind::gathered});
        return;
    }
    // The gathered buffer is copied out into the parameters when they are first used, and then freed.
    all.push_back({use.gather, use.first_use, true, false, whole, HoldingKind::gathered});
    all.push_back({use.first_use, use.last_use, false, false, whole, HoldingKind::gathered});
}

/// Gradients come in the precision of activations and are copied into the input of the reduction, which stays until
/// the next one starts (its stream waits); the rank's share comes out.
void add_reduced(const Job& job, const ReducedGradients& reduced, const ReducedGradients* next,
                 std::vector<Holding>& all) {
    const ByteCount input = bytes_of(reduced.elements, reduced_gradient_bytes(job));
    all.push_back({reduced.producer, reduced.producer, false, false,
                   bytes_of(reduced.elements, activation_bytes(job.plan.precision)), HoldingKind::gradients});
    Holding copy{reduced.producer, reduced.reduce, false, true, input, HoldingKind::gradients};
    if (next != nullptr) copy.to = next->reduce;
    if (next != nullptr) copy.until_start = true;
    all.push_back(copy);
    all.push_back({reduced.reduce, reduced.reduce, false, false, input / shard_size(job.plan), HoldingKind::gradients});
}

double largest_rank_parameters(const TaskGraph& graph) {
    double largest = 0.0;
    for (const std::vector<int>& stages : graph.rank_stages) {
        double sum = 0.0;
        for (const int stage : stages)
            sum += static_cast<double>(graph.stages[static_cast<std::size_t>(stage)].parameters());
        largest = std::max(largest, sum);
    }
    return largest;
}

}  // namespace

std::vector<Holding> shard_holdings(const Job& job, const TaskGraph& graph) {
    std::vector<Holding> all;
    for (const GatheredParameters& use : graph.gathered) add_gathered(job, use, all);
    for (std::size_t i = 0; i < graph.reduced.size(); ++i) {
        const bool follows = i + 1 < graph.reduced.size() &&
                             graph.rank_of(graph.reduced[i].reduce) == graph.rank_of(graph.reduced[i + 1].reduce);
        add_reduced(job, graph.reduced[i], follows ? &graph.reduced[i + 1] : nullptr, all);
    }
    return all;
}

std::vector<NamedBytes> data_parallel_workspaces(const Job& job, const TaskGraph& graph) {
    const ParallelPlan& plan = job.plan;
    std::vector<NamedBytes> parts;
    if (plan.dp * plan.cp <= 1) return parts;
    const double parameters = largest_rank_parameters(graph);
    const bool deepspeed = plan.data_parallel == DataParallelKind::ddp && plan.zero_stage == 2;
    if (deepspeed) {
        // reduce_bucket_size (5e8 elements); overlap_comm fills a second one (stage_1_and_2.py).
        const double limit = plan.bucket_mb > 0.0 ? plan.bucket_mb * 1e6 / gradient_bytes(job) : 5e8;
        const double bucket = std::min(limit, parameters) * gradient_bytes(job);
        parts.push_back({"ZeRO reduce buckets", bytes_of(bucket, plan.overlap_grad_reduce ? 2.0 : 1.0)});
    }
    if (plan.data_parallel == DataParallelKind::horovod) {
        parts.push_back({"Horovod fusion buffer", std::llround(plan.fusion_threshold_mb * 1e6)});
    }
    if (plan.data_parallel == DataParallelKind::dp) {
        const OpShapes shapes = op_shapes(job);
        parts.push_back({"gathered outputs", 4 * shapes.tokens * shapes.vocab * plan.dp});
        parts.push_back({"replicas' gradients being added", bytes_of(parameters, gradient_bytes(job))});
    }
    return parts;
}

}  // namespace foreshard
