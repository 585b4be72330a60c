#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "sim/spec/check_run.hpp"
#include "sim/spec/job.hpp"
#include "sim/spec/layout.hpp"
#include "sim/spec/suggest.hpp"

namespace foreshard {

namespace {

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
                    {"offload_activation_layers", plan.offload_activation_layers},
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
    const std::int64_t vocab = padded_vocab(job);
    const int shares = vocabulary_shares(job.plan);
    const std::int64_t shards = std::int64_t{1} * tp * shares;
    if (vocab % shards != 0) {
        const std::int64_t up = (vocab + shards - 1) / shards * shards;
        rules.push_back({shares > 1 ? "vocab_size, make_vocab_size_divisible_by, tp, pp"
                                    : "vocab_size, make_vocab_size_divisible_by, tp",
                         fmt::format("a vocabulary of {} without padding cannot be divided over tp {}{}", vocab, tp,
                                     shares > 1 ? fmt::format(" x pp {}", shares) : ""),
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
    check_run(job, rules);
    return rules;
}

}  // namespace foreshard
