#include "sim/engine/balance.hpp"

#include <algorithm>
#include <cassert>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/cost/calibrated.hpp"
#include "sim/cost/nccl_network.hpp"
#include "sim/cost/stage_costs.hpp"
#include "sim/engine/stoppable.hpp"
#include "sim/plan/dry_run.hpp"

namespace foreshard {

namespace {

/// Actions that one search may evaluate in dry runs and in the engine: about two seconds of work each.
constexpr double dry_budget = 40e6;
constexpr double engine_budget = 1e6;

using Counts = std::vector<int>;

Counts counts_of(const std::vector<StageContents>& layout) {
    Counts counts;
    for (const StageContents& stage : layout) counts.push_back(stage.layers);
    return counts;
}

Job with_layout(const Job& job, const std::vector<StageContents>& layout) {
    Job fixed = job;
    fixed.plan.layout = to_string(layout);
    fixed.plan.balance = false;
    return fixed;
}

/// Searches over layers per stage: first with dry runs, which are cheap, then with the engine.
class Balancer {
public:
    Balancer(const Job& job, const CostModel& cost, const NetworkModel& network, const std::stop_token& stop)
        : job_(job),
          stop_(stop),
          cost_(cost),
          coster_(job, cost, network),
          schedule_(schedule_of(job)),
          costs_(unit_costs(schedule_.stages)) {
        for (const auto& list : schedule_.actions) actions_ += static_cast<double>(list.size());
        for (const auto& list : schedule_.actions) split_ |= splits_backward(list);
        costs_.hop = to_picoseconds(slowest_hop(network));
        if (schedule_.vocabulary) {
            const StageCost share = coster_.vocabulary_share();
            costs_.vocab_forward = share.forward;
            costs_.vocab_backward = share.backward;
            share_parameters_ = share.parameters;
        }
    }

    std::vector<StageContents> run() {
        Counts counts = counts_of(stage_layout(job_));
        lower_busiest_rank(counts);
        descend(counts, dry_budget, [this](const Counts& c) { return dry_step(c); });
        descend(counts, engine_budget, [this](const Counts& c) { return engine_step(c); });
        return layout(counts);
    }

private:
    static bool splits_backward(const std::vector<Action>& list) {
        return std::any_of(list.begin(), list.end(), [](const Action& a) { return a.pass == Pass::input_grad; });
    }

    Seconds slowest_hop(const NetworkModel& network) const;
    std::vector<StageContents> layout(const Counts& counts) const;
    int fewest(std::size_t stage) const { return stage == 0 || stage + 1 == costs_.stages.size() ? 0 : 1; }
    void price(const Counts& counts);
    void price_optimizer(const std::vector<StageContents>& stages);
    std::vector<Picoseconds> rank_loads() const;
    Picoseconds dry_step(const Counts& counts);
    Picoseconds engine_step(const Counts& counts);
    void lower_busiest_rank(Counts& counts);
    std::vector<std::size_t> by_load(const Counts& counts);
    template <class Time>
    bool improve_once(Counts& counts, Picoseconds& best, double budget, Time time);
    template <class Time>
    void descend(Counts& counts, double budget, Time time);

    const Job& job_;
    const std::stop_token& stop_;
    const CostModel& cost_;
    StageCoster coster_;
    Schedule schedule_;
    PassCosts costs_;
    std::vector<Picoseconds> optimizer_;  ///< per rank
    std::int64_t share_parameters_ = 0;   ///< of the vocabulary, where every rank holds a share
    double actions_ = 0.0;
    double spent_ = 0.0;
    bool split_ = false;
};

Seconds Balancer::slowest_hop(const NetworkModel& network) const {
    const Bytes message = pipeline_message(job_);
    Seconds slowest;
    for (int r = 0; r < job_.plan.pp; ++r) {
        const int next = (r + 1) % job_.plan.pp;
        if (next == r) break;
        slowest = std::max(slowest, network.send_recv(message, share_domain(job_, r, next)).total());
    }
    return slowest;
}

std::vector<StageContents> Balancer::layout(const Counts& counts) const {
    std::vector<StageContents> stages(counts.size());
    int next = 0;
    for (std::size_t s = 0; s < counts.size(); ++s) {
        stages[s].first_layer = next;
        stages[s].layers = counts[s];
        next += counts[s];
    }
    stages.front().embedding = true;
    stages.back().loss = true;
    stages.back().mtp_layers = job_.model.mtp_layers;
    return stages;
}

void Balancer::price(const Counts& counts) {
    const std::vector<StageContents> stages = layout(counts);
    for (std::size_t s = 0; s < stages.size(); ++s) {
        const StageCost& cost = coster_.cost(stages[s]);
        const Picoseconds input = split_ ? cost.input_grad : cost.backward - cost.weight_grad;
        costs_.stages[s] = {cost.forward, input, cost.weight_grad};
    }
    price_optimizer(stages);
}

void Balancer::price_optimizer(const std::vector<StageContents>& stages) {
    const bool sharded = shards_optimizer(job_.plan);
    const double replicas = sharded ? job_.plan.dp * job_.plan.cp : 1.0;
    std::vector<double> owned(static_cast<std::size_t>(schedule_.ranks),
                              static_cast<double>(share_parameters_) / replicas);
    const double expert_replicas = sharded ? expert_data_parallel(job_) : 1.0;
    for (std::size_t i = 0; i < schedule_.stage_rank.size(); ++i) {
        const StageCost& cost = coster_.cost(stages[i % stages.size()]);
        owned[static_cast<std::size_t>(schedule_.stage_rank[i])] +=
            static_cast<double>(cost.parameters) / replicas +
            static_cast<double>(cost.expert_parameters) / expert_replicas;
    }
    optimizer_.clear();
    for (const double parameters : owned) {
        const Bytes moved(job_.software.numbers.optimizer_bytes_per_parameter * parameters);
        optimizer_.push_back(to_picoseconds(cost_.optimizer(parameters, moved).seconds));
    }
}

std::vector<Picoseconds> Balancer::rank_loads() const {
    std::vector<Picoseconds> loads(static_cast<std::size_t>(schedule_.ranks), 0);
    for (std::size_t i = 0; i < schedule_.stage_rank.size(); ++i) {
        const StageTimes::Stage& cost = costs_.stages[i % costs_.stages.size()];
        loads[static_cast<std::size_t>(schedule_.stage_rank[i])] += cost.forward + cost.input_grad + cost.weight_grad;
    }
    return loads;
}

/// Pipeline and what follows on every rank: the optimizer of its parameters.
Picoseconds Balancer::dry_step(const Counts& counts) {
    check_stop(stop_);
    price(counts);
    spent_ += actions_;
    const DryRun run = dry_run(schedule_, costs_);
    Picoseconds step = 0;
    for (std::size_t r = 0; r < run.end.size(); ++r) {
        if (!run.end[r].empty()) step = std::max(step, run.end[r].back() + optimizer_[r]);
    }
    return step;
}

Picoseconds Balancer::engine_step(const Counts& counts) {
    spent_ += actions_;
    return evaluate(with_layout(job_, layout(counts)), stop_).timeline.step_time();
}

/// Moves layers from the busiest rank to any other while that lowers the greatest load.
void Balancer::lower_busiest_rank(Counts& counts) {
    price(counts);
    while (true) {
        const std::vector<Picoseconds> loads = rank_loads();
        const Picoseconds greatest = *std::max_element(loads.begin(), loads.end());
        Picoseconds best = greatest;
        Counts better;
        for (std::size_t from = 0; from < counts.size(); ++from) {
            if (loads[static_cast<std::size_t>(schedule_.stage_rank[from])] < greatest) continue;
            if (counts[from] <= fewest(from)) continue;
            for (std::size_t to = 0; to < counts.size(); ++to) {
                if (to == from) continue;
                Counts moved = counts;
                --moved[from];
                ++moved[to];
                price(moved);
                const std::vector<Picoseconds> after = rank_loads();
                const Picoseconds load = *std::max_element(after.begin(), after.end());
                if (load >= best) continue;
                best = load;
                better = std::move(moved);
            }
        }
        if (better.empty()) break;
        counts = std::move(better);
        price(counts);
    }
}

/// Stages from the most to the least loaded rank.
std::vector<std::size_t> Balancer::by_load(const Counts& counts) {
    price(counts);
    std::vector<std::size_t> order(counts.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const std::vector<Picoseconds> loads = rank_loads();
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return loads[static_cast<std::size_t>(schedule_.stage_rank[a])] >
               loads[static_cast<std::size_t>(schedule_.stage_rank[b])];
    });
    return order;
}

/// Takes the first move of one layer, from a heavy stage to a light one, that shortens `time`; false when none does.
template <class Time>
bool Balancer::improve_once(Counts& counts, Picoseconds& best, double budget, Time time) {
    const std::vector<std::size_t> order = by_load(counts);
    for (const std::size_t from : order) {
        if (counts[from] <= fewest(from)) continue;
        for (std::size_t i = order.size(); i-- > 0;) {
            const std::size_t to = order[i];
            if (to == from || spent_ > budget) continue;
            Counts moved = counts;
            --moved[from];
            ++moved[to];
            const Picoseconds then = time(moved);
            if (then >= best) continue;
            best = then;
            counts = std::move(moved);
            return true;
        }
    }
    return false;
}

template <class Time>
void Balancer::descend(Counts& counts, double budget, Time time) {
    spent_ = 0.0;
    Picoseconds best = time(counts);
    while (spent_ <= budget && improve_once(counts, best, budget, time)) {
    }
}

std::string counts_text(const std::vector<StageContents>& layout) {
    return fmt::format("{}", fmt::join(counts_of(layout), ","));
}

bool better(const Summary& a, const Summary& b) {
    return a.fits != b.fits ? a.fits : a.step_time_ms < b.step_time_ms;
}

}  // namespace

std::vector<StageContents> balanced_layout(const Job& job, const std::stop_token& stop) {
    assert(!job.stage_times);
    const CalibratedCost cost(job);
    const NcclNetwork network(job);
    return Balancer(job, cost, network, stop).run();
}

Evaluation evaluate_balanced(const Job& job, const std::stop_token& stop) {
    const std::vector<StageContents> even = stage_layout(job);
    const std::vector<StageContents> balanced = balanced_layout(job, stop);
    Evaluation before = evaluate(with_layout(job, even), stop);
    Evaluation after = evaluate(with_layout(job, balanced), stop);
    const double even_ms = before.report.summary.step_time_ms;
    Evaluation& chosen = better(after.report.summary, before.report.summary) ? after : before;
    Balance& report = chosen.report.balance.emplace();
    report.layers = counts_of(chosen.graph.layout);
    report.even_layers = counts_of(even);
    report.even_step_time_ms = even_ms;
    report.gain_ms = even_ms - chosen.report.summary.step_time_ms;
    chosen.report.assumptions.push_back(fmt::format("balance: layers per stage {} instead of {}, {:.3f} ms less a step",
                                                    counts_text(chosen.graph.layout), counts_text(even),
                                                    report.gain_ms));
    return std::move(chosen);
}

}  // namespace foreshard
