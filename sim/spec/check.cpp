#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "sim/spec/job.hpp"
#include "sim/spec/layout.hpp"
#include "sim/spec/suggest.hpp"

namespace foreshard {

namespace {

using Rules = std::vector<BrokenRule>;

int expert_tp(const ParallelPlan& plan) {
    return plan.etp > 0 ? plan.etp : plan.tp;
}

void check_at_least(const std::vector<std::pair<const char*, std::int64_t>>& values, std::int64_t least, Rules& rules) {
    for (const auto& [name, value] : values) {
        if (value >= least) continue;
        rules.push_back(
            {name, fmt::format("{} is {}; it must be at least {}", name, value, least), std::to_string(least)});
    }
}

void check_positive(const Job& job, Rules& rules) {
    const ParallelPlan& plan = job.plan;
    check_at_least({{"tp", plan.tp},
                    {"pp", plan.pp},
                    {"vpp", plan.vpp},
                    {"cp", plan.cp},
                    {"ep", plan.ep},
                    {"gpus", job.gpus},
                    {"micro_batch_size", job.micro_batch},
                    {"global_batch_size", job.global_batch},
                    {"seq_length", job.seq_length},
                    {"num_layers", job.model.num_layers},
                    {"hidden_size", job.model.hidden},
                    {"ffn_hidden_size", job.model.ffn_hidden},
                    {"num_attention_heads", job.model.heads},
                    {"num_query_groups", job.model.kv_heads},
                    {"kv_channels", job.model.head_dim},
                    {"vocab_size", job.model.vocab_size}},
                   1, rules);
    if (!job.model.moe) return;
    check_at_least({{"num_experts", job.model.moe->num_experts}, {"moe_ffn_hidden_size", job.model.moe->ffn_hidden}}, 1,
                   rules);
}

/// Zero means "default" or "none" here; a negative value must not pass for it.
void check_not_negative(const Job& job, Rules& rules) {
    const ParallelPlan& plan = job.plan;
    check_at_least({{"dp", plan.dp},
                    {"etp", plan.etp},
                    {"microbatch_group_size", plan.microbatch_group_size},
                    {"decoder_first_pipeline_num_layers", plan.first_stage_layers.value_or(0)},
                    {"decoder_last_pipeline_num_layers", plan.last_stage_layers.value_or(0)},
                    {"recompute_num_layers", plan.recompute_num_layers},
                    {"make_vocab_size_divisible_by", job.model.vocab_divisor},
                    {"max_position_embeddings", job.model.max_positions},
                    {"mtp_num_layers", job.model.mtp_layers}},
                   0, rules);
}

void check_degrees(const Job& job, Rules& rules) {
    const ParallelPlan& plan = job.plan;
    const std::int64_t model_parallel = std::int64_t{1} * plan.tp * plan.pp * plan.cp;
    if (plan.dp < 1 || model_parallel * plan.dp != job.gpus) {
        const std::string product = plan.dp > 0 ? fmt::format("dp {} x tp {} x pp {} x cp {} = {}", plan.dp, plan.tp,
                                                              plan.pp, plan.cp, model_parallel * plan.dp)
                                                : fmt::format("tp {} x pp {} x cp {} = {}, which does not divide it",
                                                              plan.tp, plan.pp, plan.cp, model_parallel);
        rules.push_back({"gpus, dp, tp, pp, cp", fmt::format("{} GPUs, but {}", job.gpus, product),
                         job.gpus % model_parallel == 0
                             ? fmt::format("dp {}", job.gpus / model_parallel)
                             : fmt::format("{} GPUs", nearest_multiples(job.gpus, model_parallel))});
    }
}

void check_heads(const Job& job, Rules& rules) {
    const ModelSpec& model = job.model;
    const int tp = job.plan.tp;
    if (model.heads % tp != 0) {
        std::vector<int> in_node;
        for (const int d : divisors(model.heads)) {
            if (job.cluster.gpus_per_node > 0 && job.cluster.gpus_per_node % d == 0) in_node.push_back(d);
        }
        rules.push_back({"num_attention_heads, tp",
                         fmt::format("{} attention heads cannot be divided over tp {}", model.heads, tp),
                         fmt::format("tp {} (inside a node of {}: {})", join(divisors(model.heads)),
                                     job.cluster.gpus_per_node, join(in_node))});
    }
    if (model.kv_heads % tp != 0 && tp % model.kv_heads != 0) {
        rules.push_back({"num_query_groups, tp",
                         fmt::format("{} KV heads and tp {}: one must be a multiple of the other", model.kv_heads, tp),
                         fmt::format("tp {}, or a multiple of {}", join(divisors(model.kv_heads)), model.kv_heads)});
    }
    if (model.heads % model.kv_heads != 0) {
        rules.push_back({"num_attention_heads, num_query_groups",
                         fmt::format("{} attention heads cannot share {} KV heads evenly", model.heads, model.kv_heads),
                         fmt::format("num_query_groups {}", join(divisors(model.heads)))});
    }
}

void check_widths(const Job& job, Rules& rules) {
    const ModelSpec& model = job.model;
    const int tp = job.plan.tp;
    if (model.ffn_hidden % tp != 0) {
        rules.push_back({"ffn_hidden_size, tp",
                         fmt::format("the MLP width {} cannot be divided over tp {}", model.ffn_hidden, tp),
                         fmt::format("ffn_hidden_size {}", nearest_multiples(model.ffn_hidden, tp))});
    }
    const std::int64_t vocab = padded_vocab(model, tp);
    if (vocab % tp != 0) {
        const std::int64_t up = (vocab + tp - 1) / tp * tp;
        rules.push_back({"vocab_size, make_vocab_size_divisible_by, tp",
                         fmt::format("a vocabulary of {} without padding cannot be divided over tp {}", vocab, tp),
                         fmt::format("{}, or make_vocab_size_divisible_by 1 (pads to {}) or 128", up, up)});
    }
}

/// Megatron splits each sequence in 2 CP chunks and, under sequence parallelism, the CP-local sequence by TP:
/// the joint factor is lcm(2 CP, CP TP).
void check_sequence(const Job& job, Rules& rules) {
    const ParallelPlan& plan = job.plan;
    const std::int64_t by_cp = plan.cp > 1 ? 2 * plan.cp : 1;
    const std::int64_t by_sp = plan.sequence_parallel ? std::int64_t{1} * plan.cp * plan.tp : 1;
    const std::int64_t factor = std::lcm(by_cp, by_sp);
    if (job.seq_length % factor != 0) {
        rules.push_back(
            {"seq_length, cp, tp, sp",
             fmt::format("a sequence of {} must be a multiple of {}{}", job.seq_length, factor,
                         factor > 1 ? fmt::format(" = lcm({}, {}) for cp {}, tp {}{}", by_cp, by_sp, plan.cp, plan.tp,
                                                  plan.sequence_parallel ? " with sequence parallelism" : "")
                                    : ""),
             nearest_multiples(job.seq_length, factor)});
    }
    const bool bounded = job.model.positions == PositionKind::learned && job.model.max_positions > 0;
    if (bounded && job.seq_length > job.model.max_positions) {
        rules.push_back(
            {"seq_length, max_position_embeddings",
             fmt::format("a sequence of {} is longer than the {} learned positions", job.seq_length,
                         job.model.max_positions),
             fmt::format("at most {}, or --max-position-embeddings {}", job.model.max_positions, job.seq_length)});
    }
}

void check_experts(const Job& job, Rules& rules) {
    const ParallelPlan& plan = job.plan;
    const int etp = expert_tp(plan);
    if (!job.model.moe) {
        if (plan.ep > 1 || plan.etp > 1) {
            rules.push_back({"ep, etp",
                             fmt::format("ep {} and etp {} need a mixture-of-experts model; {} has no experts", plan.ep,
                                         etp, job.model.id.empty() ? "this model" : job.model.id),
                             "ep 1"});
        }
        return;
    }
    const MoeSpec& moe = *job.model.moe;
    const std::int64_t expert_parallel = std::int64_t{1} * etp * plan.ep * plan.pp;
    if (job.gpus % expert_parallel != 0) {
        rules.push_back(
            {"gpus, etp, ep, pp",
             fmt::format("{} GPUs cannot be divided by etp {} x ep {} x pp {} = {}{}", job.gpus, etp, plan.ep, plan.pp,
                         expert_parallel,
                         plan.etp == 0 && plan.tp > 1 ? fmt::format(" (etp defaults to tp {})", plan.tp) : ""),
             plan.etp == 0 && job.gpus % (std::int64_t{1} * plan.ep * plan.pp) == 0
                 ? "--etp 1"
                 : fmt::format("{} GPUs", nearest_multiples(job.gpus, expert_parallel))});
    }
    const std::int64_t data_ranks = std::int64_t{1} * std::max(plan.dp, 1) * plan.cp * plan.tp;
    if (data_ranks % plan.ep != 0) {
        rules.push_back({"ep, dp, cp, tp", fmt::format("ep {} must divide dp x cp x tp = {}", plan.ep, data_ranks),
                         fmt::format("ep {}", join(divisors(std::gcd(data_ranks, std::int64_t{moe.num_experts}))))});
    }
    if (moe.num_experts % plan.ep != 0) {
        rules.push_back({"num_experts, ep",
                         fmt::format("{} experts cannot be divided over ep {}", moe.num_experts, plan.ep),
                         fmt::format("ep {}", join(divisors(moe.num_experts)))});
    }
    if (moe.ffn_hidden % etp != 0) {
        rules.push_back({"moe_ffn_hidden_size, etp",
                         fmt::format("the expert width {} cannot be divided over etp {}", moe.ffn_hidden, etp),
                         fmt::format("moe_ffn_hidden_size {}", nearest_multiples(moe.ffn_hidden, etp))});
    }
    if (moe.topk < 1 || moe.topk > moe.num_experts) {
        rules.push_back({"moe_router_topk, num_experts",
                         fmt::format("top-k {} of {} experts", moe.topk, moe.num_experts),
                         fmt::format("1 to {}", moe.num_experts)});
    }
}

void check_batch(const Job& job, Rules& rules) {
    if (job.plan.dp < 1) return;
    const std::int64_t step = job.micro_batch * job.plan.dp;
    if (job.global_batch % step == 0) return;
    rules.push_back({"global_batch_size, micro_batch_size, dp",
                     fmt::format("a global batch of {} cannot be divided by micro-batch {} x dp {} = {}",
                                 job.global_batch, job.micro_batch, job.plan.dp, step),
                     nearest_multiples(job.global_batch, step)});
}

std::string legal_group_sizes(int pp, std::int64_t m) {
    std::vector<int> legal;
    for (int n = pp; n <= m; ++n) {
        if (m % n == 0 || m % n >= pp) legal.push_back(n);
    }
    return join(legal);
}

/// Megatron schedules.py: p <= N <= m, and m mod N must be 0 or at least p; other groups add bubbles or deadlock.
void check_interleaving(const Job& job, Rules& rules) {
    const ParallelPlan& plan = job.plan;
    const std::int64_t m = microbatch_count(job);
    if (m < plan.pp) {
        rules.push_back({"global_batch_size, micro_batch_size, dp, pp, vpp",
                         fmt::format("interleaved 1F1B needs at least pp micro-batches: {} < pp {}", m, plan.pp),
                         fmt::format("a global batch of {} or more, a smaller micro-batch or dp, or vpp 1",
                                     plan.pp * job.micro_batch * plan.dp)});
        return;
    }
    const int group = plan.microbatch_group_size > 0 ? plan.microbatch_group_size : plan.pp;
    const std::int64_t rest = group > 0 ? m % group : 0;
    if (group < plan.pp || group > m || (rest != 0 && rest < plan.pp)) {
        rules.push_back({"microbatch_group_size, pp, micro-batches",
                         fmt::format("group size {} with {} micro-batches and pp {}: it must lie in {} .. {}, and the "
                                     "remainder {} must be 0 or at least {}",
                                     group, m, plan.pp, plan.pp, m, rest, plan.pp),
                         fmt::format("microbatch_group_size {}; or {} micro-batches", legal_group_sizes(plan.pp, m),
                                     nearest_multiples(m, plan.pp))});
    }
    const bool overlap = plan.overlap_p2p.value_or(job.software.structure.overlap_p2p);
    if (plan.pp == 2 && !overlap) {
        rules.push_back({"pp, vpp, overlap_p2p",
                         "interleaving with pp 2 needs overlapped p2p: without it the previous and the next rank are "
                         "the same, and two messages of one batch cannot be told apart",
                         "--overlap-p2p, pp > 2, or vpp 1"});
    }
}

void check_schedule(const Job& job, Rules& rules) {
    const ParallelPlan& plan = job.plan;
    if (job.schedule_file) return;  // the file is validated as data
    const bool interleaved = plan.schedule == ScheduleKind::interleaved;
    if (plan.schedule == ScheduleKind::none && plan.pp > 1) {
        rules.push_back({"schedule, pp", fmt::format("schedule none runs on one pipeline rank, but pp is {}", plan.pp),
                         "1f1b, gpipe, naive, interleaved-1f1b, or pp 1"});
    }
    if (plan.vpp > 1 && plan.pp == 1) {
        rules.push_back({"vpp, pp", fmt::format("vpp {} needs a pipeline, but pp is 1", plan.vpp), "vpp 1, or pp > 1"});
    }
    if (plan.vpp > 1 && !interleaved) {
        rules.push_back(
            {"schedule, vpp",
             fmt::format("schedule {} has one chunk a rank, but vpp is {}", to_string(plan.schedule), plan.vpp),
             "interleaved-1f1b, or vpp 1"});
    }
    if (interleaved && plan.vpp == 1 && plan.pp > 1) {
        rules.push_back({"schedule, vpp", "interleaved-1f1b needs at least two chunks a rank, but vpp is 1",
                         "vpp 2, or schedule 1f1b"});
    }
    if (plan.placement && *plan.placement != (plan.vpp > 1 ? Placement::loop : Placement::linear)) {
        rules.push_back({"placement, schedule",
                         fmt::format("schedule {} places stages {}, not {}", to_string(plan.schedule),
                                     plan.vpp > 1 ? "loop" : "linear", to_string(*plan.placement)),
                         "leave --placement out, or give the order of actions with --schedule-file"});
    }
    const bool batch_divides = plan.dp > 0 && job.global_batch % (job.micro_batch * plan.dp) == 0;
    if (interleaved && plan.vpp > 1 && plan.pp > 1 && batch_divides) check_interleaving(job, rules);
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

void check_data_parallel(const Job& job, Rules& rules) {
    const ParallelPlan& plan = job.plan;
    if (plan.zero_stage < 0 || plan.zero_stage > 3) {
        rules.push_back({"zero", fmt::format("ZeRO stage {}", plan.zero_stage), "0, 1, 2 or 3"});
    } else if (plan.zero_stage > 1) {
        rules.push_back({"zero", fmt::format("ZeRO-{} is not simulated yet", plan.zero_stage), "0 or 1"});
    }
    const bool sharded = plan.distributed_optimizer || plan.zero_stage >= 1;
    if (plan.overlap_param_gather && !sharded) {
        rules.push_back({"overlap_param_gather, use_distributed_optimizer",
                         "only a distributed optimizer gathers parameters", "--use-distributed-optimizer"});
    }
    if (plan.overlap_param_gather && !plan.overlap_grad_reduce) {
        rules.push_back({"overlap_param_gather, overlap_grad_reduce",
                         "overlapped parameter gathers need overlapped gradient reduction (as in Megatron-LM)",
                         "--overlap-grad-reduce"});
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

std::vector<BrokenRule> check(const Job& job) {
    Rules rules;
    check_positive(job, rules);
    check_not_negative(job, rules);
    if (!rules.empty()) return rules;  // the other rules divide by these values
    check_degrees(job, rules);
    check_heads(job, rules);
    check_widths(job, rules);
    check_sequence(job, rules);
    check_experts(job, rules);
    const Rules layout = check_layout(job);
    rules.insert(rules.end(), layout.begin(), layout.end());
    check_batch(job, rules);
    check_schedule(job, rules);
    check_recompute(job, rules);
    check_data_parallel(job, rules);
    check_cluster(job, rules);
    check_order(job, rules);
    check_stage_times(job, rules);
    return rules;
}

}  // namespace foreshard
