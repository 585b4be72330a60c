#include "sim/spec/check_run.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include <fmt/format.h>

#include "sim/spec/layout.hpp"
#include "sim/spec/schedule_kinds.hpp"
#include "sim/spec/suggest.hpp"

namespace foreshard {

namespace {

void check_batch(const Job& job, Rules& rules) {
    if (job.plan.dp < 1) return;
    const std::int64_t step = job.micro_batch * job.plan.dp;
    if (job.global_batch % step == 0) return;
    rules.push_back({"global_batch_size, micro_batch_size, dp",
                     fmt::format("a global batch of {} cannot be divided by micro-batch {} x dp {} = {}",
                                 job.global_batch, job.micro_batch, job.plan.dp, step),
                     nearest_multiples(job.global_batch, step)});
}

/// A task graph grows with every action; beyond this it no longer fits into a laptop's memory.
constexpr double most_actions = 10e6;

void check_size(const Job& job, Rules& rules) {
    if (job.plan.dp < 1) return;
    std::int64_t m = microbatch_count(job);
    if (m < 1) return;
    if (!job.schedule_file && traits_of(job.plan.schedule).asynchronous && m <= std::numeric_limits<int>::max()) {
        m *= unrolled_steps(job.plan.pp, static_cast<int>(m)).total;
    }
    const double per_microbatch = 2.0 * stage_count(job);
    if (static_cast<double>(m) * per_microbatch <= most_actions) return;
    rules.push_back({"global_batch_size, micro_batch_size, dp, pp, vpp",
                     fmt::format("{} micro-batches on {} stages are more than {:.0f} million actions", m,
                                 stage_count(job), most_actions / 1e6),
                     fmt::format("at most {:.0f} micro-batches", most_actions / per_microbatch)});
}

void check_vocabulary(const Job& job, Rules& rules) {
    const ParallelPlan& plan = job.plan;
    if (!vocabulary_split(plan.schedule)) return;
    const std::string schedule(to_string(plan.schedule));
    if (plan.pp == 1) {
        rules.push_back({"schedule, pp",
                         fmt::format("schedule {} spreads the vocabulary over pipeline ranks, but pp is 1", schedule),
                         "pp > 1, or schedule none"});
    }
    if (job.model.mtp_layers > 0) {
        rules.push_back({"schedule, mtp_num_layers",
                         fmt::format("schedule {} runs the output layer once a micro-batch, but {} prediction layers "
                                     "run it too",
                                     schedule, job.model.mtp_layers),
                         "mtp_num_layers 0, or schedule 1f1b"});
    }
    if (job.model.token_types > 0) {
        rules.push_back({"schedule, model",
                         fmt::format("schedule {} is for decoders; {} has an encoder's head", schedule, job.model.id),
                         "schedule 1f1b"});
    }
}

void check_recompute(const Job& job, Rules& rules) {
    const ParallelPlan& plan = job.plan;
    if (plan.recompute != Recompute::full) {
        if (plan.recompute_num_layers > 0 || plan.recompute_method == RecomputeMethod::block) {
            rules.push_back({"recompute, recompute_method, recompute_num_layers",
                             fmt::format("a method or a number of layers belongs to full recompute, not to {}",
                                         to_string(plan.recompute)),
                             "--recompute full, or leave both out"});
        }
        return;
    }
    const int per_stage = (job.model.num_layers + stage_count(job) - 1) / stage_count(job);
    if (plan.recompute_num_layers > per_stage) {
        rules.push_back(
            {"recompute_num_layers, num_layers, pp, vpp",
             fmt::format("recompute of {} layers at a time, but a stage has {}", plan.recompute_num_layers, per_stage),
             fmt::format("1 to {}", per_stage)});
    }
}

void check_cluster(const Job& job, Rules& rules) {
    const ClusterSpec& cluster = job.cluster;
    if (cluster.nodes && job.gpus > *cluster.nodes * cluster.gpus_per_node) {
        rules.push_back({"gpus, cluster",
                         fmt::format("{} has {} nodes of {} GPUs, fewer than {}", cluster.id, *cluster.nodes,
                                     cluster.gpus_per_node, job.gpus),
                         fmt::format("at most {} GPUs", *cluster.nodes * cluster.gpus_per_node)});
    }
    const int reach = std::max(cluster.gpus_per_node, cluster.gpus_per_nvlink_domain);
    if (!cluster.inter_node && job.gpus > reach) {
        rules.push_back(
            {"gpus, cluster",
             fmt::format("{} has no network between nodes, so {} GPUs exceed its {}", cluster.id, job.gpus, reach),
             fmt::format("at most {} GPUs, or a cluster with inter_node", reach)});
    }
    if (!job.cluster.device.peak[static_cast<std::size_t>(job.plan.precision)]) {
        std::string known;
        for (int i = 0; i < precision_count; ++i) {
            if (!cluster.device.peak[static_cast<std::size_t>(i)]) continue;
            known += (known.empty() ? "" : ", ") + std::string(to_string(static_cast<Precision>(i)));
        }
        rules.push_back({"precision, cluster",
                         fmt::format("{} has no peak rate for {}", cluster.device.id, to_string(job.plan.precision)),
                         known});
    }
}

/// Buffers that are counted as the project's own runtime allocates them are known for what it runs only.
void check_counted_buffers(const Job& job, Rules& rules) {
    if (!job.software.structure.counts_buffers) return;
    if (job.plan.cp > 1) {
        rules.push_back({"software, cp",
                         fmt::format("{} counts the buffers of a runtime that has no context parallelism, but cp is {}",
                                     job.software.id, job.plan.cp),
                         "cp 1, or another profile"});
    }
    if (job.model.moe) {
        rules.push_back({"software, model",
                         fmt::format("{} counts the buffers of a runtime that has no experts, but {} has some",
                                     job.software.id, job.model.id),
                         "a dense model, or another profile"});
    }
}

void check_order(const Job& job, Rules& rules) {
    std::string sorted = job.plan.order;
    std::vector<std::string> axes;
    std::size_t begin = 0;
    while (begin <= sorted.size()) {
        const std::size_t end = std::min(sorted.find('-', begin), sorted.size());
        axes.push_back(sorted.substr(begin, end - begin));
        begin = end + 1;
    }
    std::sort(axes.begin(), axes.end());
    const std::vector<std::string> all = {"cp", "dp", "ep", "pp", "tp"};
    const std::vector<std::string> dense = {"cp", "dp", "pp", "tp"};
    if (axes == all || (axes == dense && job.plan.ep == 1)) return;
    rules.push_back(
        {"order", fmt::format("'{}' must name tp, cp, ep, dp and pp once each", job.plan.order), "tp-cp-ep-dp-pp"});
}

void check_stage_times(const Job& job, Rules& rules) {
    if (!job.stage_times) return;
    const int given = static_cast<int>(job.stage_times->stages.size());
    const int stages = stage_count(job);
    if (given == stages) return;
    rules.push_back({"stage_times, pp, vpp",
                     fmt::format("the stage times have {} stages, but pp {} x vpp {} = {}", given, job.plan.pp,
                                 job.plan.vpp, stages),
                     given % std::max(job.plan.pp, 1) == 0 ? fmt::format("vpp {}", given / job.plan.pp)
                                                           : fmt::format("pp {} with vpp 1", given)});
}

}  // namespace

void check_run(const Job& job, Rules& rules) {
    check_batch(job, rules);
    check_size(job, rules);
    check_schedule(job, rules);
    check_vocabulary(job, rules);
    check_recompute(job, rules);
    check_data_parallel(job, rules);
    check_cluster(job, rules);
    check_counted_buffers(job, rules);
    check_order(job, rules);
    check_stage_times(job, rules);
    check_variability(job, rules);
}

}  // namespace foreshard
