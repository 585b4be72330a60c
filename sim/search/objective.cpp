#include "sim/search/objective.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "sim/error.hpp"
#include "sim/plan/buffer_plan.hpp"
#include "sim/plan/op_graph.hpp"
#include "sim/plan/parameters.hpp"
#include "sim/prefixes.hpp"

namespace foreshard {

namespace {

constexpr double seconds_per_hour = 3600.0;
constexpr double per_million = 1e6;

/// Seconds of a step that makes no progress weigh more than all others.
constexpr double no_progress = 1e200;

constexpr std::array<std::pair<Objective, std::string_view>, 5> all_objectives = {
    {{Objective::step_time, "step-time"},
     {Objective::tokens_per_s_per_gpu, "tokens-per-s-per-gpu"},
     {Objective::cost_per_token, "cost-per-token"},
     {Objective::energy_per_token, "energy-per-token"},
     {Objective::time_to_train, "time-to-train"}}};

double seconds_of(Picoseconds time) {
    return static_cast<double>(time) / picoseconds_per_second;
}

}  // namespace

std::string_view to_string(Objective objective) {
    for (const auto& [kind, name] : all_objectives) {
        if (kind == objective) return name;
    }
    return "";
}

std::optional<Objective> parse_objective(std::string_view text) {
    for (const auto& [kind, name] : all_objectives) {
        if (name == text) return kind;
    }
    return std::nullopt;
}

std::vector<std::string_view> objective_names() {
    std::vector<std::string_view> names;
    names.reserve(all_objectives.size());
    for (const auto& [kind, name] : all_objectives) names.push_back(name);
    return names;
}

Goodput best_goodput(double checkpoint_s, double restart_s, double mtbf_s) {
    Goodput best;
    best.checkpoint_interval_s = std::sqrt(2.0 * checkpoint_s * mtbf_s);
    // C / T and T / 2 M are equal there.
    const double lost = std::sqrt(2.0 * checkpoint_s / mtbf_s) + restart_s / mtbf_s;
    best.ratio = std::max(1.0 - lost, 0.0);
    return best;
}

double checkpoint_bytes(const Job& job) {
    Job whole = job;
    whole.plan = {};
    whole.plan.precision = job.plan.precision;
    whole.plan.dp = 1;
    whole.gpus = 1;
    std::int64_t dense = rank_embedding_parameters(whole) + rank_head_parameters(whole);
    std::int64_t experts = 0;
    const auto add = [&](std::int64_t layers, std::int64_t own, std::int64_t own_experts) {
        dense += layers * own;
        experts += layers * own_experts;
    };
    for (int i = 0; i < job.model.num_layers; ++i) {
        const RankParameters layer = rank_layer_parameters(whole, is_moe_layer(job.model, i));
        add(1, layer.dense, layer.expert);
    }
    if (job.model.mtp_layers > 0) {
        const OpBlock block = mtp_block(whole, op_shapes(whole));
        add(job.model.mtp_layers, block.parameters, block.expert_parameters);
    }
    const StateBytes states = state_bytes(whole, dense, experts);
    return static_cast<double>(states.weights + states.optimizer);
}

ObjectiveMeasure::ObjectiveMeasure(const ObjectiveRequest& request, const Job& job)
    : request_(request),
      operation_(merge(job.cluster.operation, request.operation)),
      cluster_(job.cluster.id),
      gpus_(job.gpus),
      nodes_((job.gpus + job.cluster.gpus_per_node - 1) / job.cluster.gpus_per_node),
      tokens_(static_cast<double>(job.global_batch) * static_cast<double>(job.seq_length)) {
    check_request();
    settle_failures(job);
    weights_ = weights_of(request.kind);
}

void ObjectiveMeasure::check_request() const {
    if (const auto fault = check(operation_)) throw InputError(operating_flag(fault->key), "", fault->reason);
    if (request_.train_tokens && !(*request_.train_tokens > 0.0 && std::isfinite(*request_.train_tokens))) {
        throw InputError("--train-tokens", "", fmt::format("{} must be positive", *request_.train_tokens));
    }
    const auto need = [&](bool known, const char* what, const char* key) {
        if (known) return;
        throw InputError("--objective", "",
                         fmt::format("{}: cluster {} says no {}; give {}, or operation/{} in a cluster file",
                                     to_string(request_.kind), cluster_, what, operating_flag(key), key));
    };
    const OperatingFigures& f = operation_;
    switch (request_.kind) {
        case Objective::step_time:
        case Objective::tokens_per_s_per_gpu:
            return;
        case Objective::cost_per_token:
            return need(f.price_usd_per_gpu_hour.has_value(), "price", "price_usd_per_gpu_hour");
        case Objective::energy_per_token:
            need(f.gpu_idle_w.has_value(), "power of a GPU that waits", "gpu_idle_W");
            return need(f.gpu_busy_w.has_value(), "power of a GPU that computes", "gpu_busy_W");
        case Objective::time_to_train:
            need(f.node_mtbf_h.has_value(), "time between failures", "node_mtbf_h");
            need(f.restart_s.has_value(), "restart time", "restart_s");
            need(f.checkpoint_s || f.storage_write_gb_per_s, "checkpoint time (or bandwidth to storage)",
                 "checkpoint_s");
            if (!request_.train_tokens) {
                throw InputError("--objective", "", "time-to-train: give --train-tokens, the tokens to train on");
            }
    }
}

void ObjectiveMeasure::settle_failures(const Job& job) {
    OperatingFigures& f = operation_;
    if (!f.checkpoint_s && f.storage_write_gb_per_s) {
        f.checkpoint_s = checkpoint_bytes(job) / (*f.storage_write_gb_per_s * giga);
    }
    if (!f.node_mtbf_h || !f.restart_s || !f.checkpoint_s) return;
    goodput_ = best_goodput(*f.checkpoint_s, *f.restart_s, *f.node_mtbf_h * seconds_per_hour / nodes_);
}

ObjectiveWeights ObjectiveMeasure::energy_weights() const {
    const double idle = *operation_.gpu_idle_w;
    const double all_idle = gpus_ * idle + nodes_ * operation_.node_rest_w.value_or(0.0);
    const double joules = 1.0 / picoseconds_per_second / tokens_;
    return {all_idle * joules, gpus_ * (*operation_.gpu_busy_w - idle) * joules};
}

/// All but that of step time are of one token, so that sizes and batches can be compared.
ObjectiveWeights ObjectiveMeasure::weights_of(Objective objective) const {
    switch (objective) {
        case Objective::step_time:
            break;
        case Objective::tokens_per_s_per_gpu:
        case Objective::cost_per_token:  // the price is that of the cluster
            return {gpus_ / tokens_, 0.0};
        case Objective::energy_per_token:
            return energy_weights();
        case Objective::time_to_train:
            return {goodput_->ratio > 0.0 ? 1.0 / (tokens_ * goodput_->ratio) : no_progress, 0.0};
    }
    return {};
}

PlanFigures ObjectiveMeasure::figures(Picoseconds step_time, Picoseconds busy_time) const {
    const OperatingFigures& f = operation_;
    const double step_s = seconds_of(step_time);
    PlanFigures figures;
    if (f.price_usd_per_gpu_hour) {
        figures.cost_usd_per_million_tokens =
            *f.price_usd_per_gpu_hour * gpus_ * step_s / seconds_per_hour / tokens_ * per_million;
    }
    if (f.gpu_idle_w && f.gpu_busy_w) {
        figures.energy_j_per_token = energy_weights().value(step_time, busy_time);
        if (step_time > 0) figures.power_kw = *figures.energy_j_per_token * tokens_ / step_s / 1000.0;
    }
    if (!goodput_) return figures;
    figures.goodput_ratio = goodput_->ratio;
    figures.checkpoint_interval_s = goodput_->checkpoint_interval_s;
    if (!request_.train_tokens || goodput_->ratio <= 0.0) return figures;
    figures.time_to_train_h = *request_.train_tokens / tokens_ * step_s / goodput_->ratio / seconds_per_hour;
    if (f.price_usd_per_gpu_hour) figures.train_cost_usd = *f.price_usd_per_gpu_hour * gpus_ * *figures.time_to_train_h;
    return figures;
}

}  // namespace foreshard
