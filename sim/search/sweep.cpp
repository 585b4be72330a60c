#include "sim/search/sweep.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <limits>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "sim/error.hpp"
#include "sim/search/relax.hpp"
#include "sim/search/sizes.hpp"
#include "sim/spec/catalogue.hpp"

namespace foreshard {

namespace {

/// Why a search found no plan.
std::string reason_of(const SearchOutcome& outcome) {
    if (outcome.stopped) return "interrupted before a plan was found";
    std::string reason;
    if (outcome.closest_need_gib) {
        reason = fmt::format("no plan fits: {:.2f} GiB of {:.2f} needed at least", *outcome.closest_need_gib,
                             outcome.memory_limit_gib);
    }
    for (const auto& [fields, plans] : outcome.infeasible) {
        if (fields == "memory") continue;
        reason += fmt::format("{}{} {} a rule on {}", reason.empty() ? "" : "; ", plans,
                              plans == 1 ? "plan breaks" : "plans break", fields);
    }
    return reason.empty() ? "the space has no plan of this size" : reason;
}

/// What a plan of the sweep is ordered by.
struct Ranked {
    SweepPlan place;
    double value = 0.0;
    double ms_per_sequence = 0.0;
    ByteCount memory = 0;
};

double ms_per_sequence(const SweepOutcome& result, std::size_t i) {
    return result.plan(i).summary.step_time_ms / static_cast<double>(result.points[result.plans[i].point].gbs);
}

void compare_sizes(SweepOutcome& result) {
    std::map<std::int64_t, double> smallest;  // by batch
    for (SweepPoint& point : result.points) {
        if (!point.feasible()) continue;
        const double speed = point.outcome->plans.front().summary.tokens_per_s_per_gpu;
        const double reference = smallest.emplace(point.gbs, speed).first->second;
        if (reference > 0.0) point.efficiency_ratio = speed / reference;
    }
}

void order_plans(SweepOutcome& result) {
    const bool by_step = result.objective == Objective::step_time;
    std::vector<Ranked> all;
    for (std::size_t p = 0; p < result.points.size(); ++p) {
        const SweepPoint& point = result.points[p];
        if (!point.feasible()) continue;
        for (std::size_t i = 0; i < point.outcome->plans.size(); ++i) {
            const FoundPlan& found = point.outcome->plans[i];
            const double ms = found.summary.step_time_ms / static_cast<double>(point.gbs);
            all.push_back({{p, i}, by_step ? ms : found.objective_value, ms, found.summary.peak_memory});
        }
    }
    std::sort(all.begin(), all.end(), [](const Ranked& a, const Ranked& b) {
        return std::tie(a.value, a.ms_per_sequence, a.memory, a.place.point, a.place.plan) <
               std::tie(b.value, b.ms_per_sequence, b.memory, b.place.point, b.place.plan);
    });
    for (const Ranked& ranked : all) result.plans.push_back(ranked.place);
}

/// Of all plans, those that none beats in time a token and this; the fastest first.
template <class Cost>
std::vector<std::size_t> front_against(const SweepOutcome& result, const Cost& cost) {
    std::vector<std::size_t> order(result.plans.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return std::tuple(ms_per_sequence(result, a), cost(a), a) < std::tuple(ms_per_sequence(result, b), cost(b), b);
    });
    std::vector<std::size_t> front;
    double least = std::numeric_limits<double>::infinity();
    for (const std::size_t i : order) {
        if (cost(i) < least) front.push_back(i);
        least = std::min(least, cost(i));
    }
    return front;
}

void find_fronts(SweepOutcome& result) {
    if (result.plans.empty()) return;
    result.front =
        front_against(result, [&](std::size_t i) { return static_cast<double>(result.plan(i).summary.peak_memory); });
    if (!result.plan(0).figures.cost_usd_per_million_tokens) return;
    result.cost_front = front_against(result, [&](std::size_t i) {
        return result.plan(i).figures.cost_usd_per_million_tokens.value_or(std::numeric_limits<double>::infinity());
    });
}

int gpus_per_node(const JobRequest& base) {
    if (!base.cluster) throw InputError("--cluster", "", "is required: a size is one of a cluster");
    const auto* name = std::get_if<std::string>(&*base.cluster);
    return name != nullptr ? load_cluster(*name).gpus_per_node : std::get<ClusterSpec>(*base.cluster).gpus_per_node;
}

class Sweeper {
public:
    Sweeper(const SweepRequest& request, const OnProgress& on_progress, const std::stop_token& stop,
            const OnSweepImprovement& on_improvement)
        : request_(request), on_progress_(on_progress), on_improvement_(on_improvement), stop_(stop) {}

    SweepOutcome run() {
        const auto start = std::chrono::steady_clock::now();
        result_.objective = request_.search.objective.kind;
        result_.top = request_.search.top;
        for (const int gpus : request_.gpus) {
            for (const std::int64_t gbs : request_.batches) result_.points.push_back({gpus, gbs, {}, {}, {}});
        }
        for (; at_ < result_.points.size(); ++at_) search_point(result_.points[at_]);
        if (!refused_.empty() && refused_.size() == result_.points.size()) std::rethrow_exception(refused_.front());
        compare_points(result_);
        relax_largest();
        result_.elapsed_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        return std::move(result_);
    }

private:
    void search_point(SweepPoint& point);
    SearchOutcome search_alone(const SweepPoint& point);
    void report(const SearchProgress& progress);
    void relax_largest();

    const SweepRequest& request_;
    const OnProgress& on_progress_;
    const OnSweepImprovement& on_improvement_;
    const std::stop_token& stop_;
    SweepOutcome result_;
    std::size_t at_ = 0;  ///< the point that is searched
    double done_ratio_ = 0.0;
    std::int64_t evaluated_ = 0;
    std::int64_t simulated_ = 0;
    std::optional<double> best_ms_;
    std::vector<std::exception_ptr> refused_;
};

/// As search(), without looking for what to relax.
SearchOutcome Sweeper::search_alone(const SweepPoint& point) {
    const SearchRequest request = point_request(request_, point);
    const OnProgress pass_on = [this](const SearchProgress& progress) { report(progress); };
    OnImprovement tell;
    if (on_improvement_) tell = [&](const Improvement& improvement) { on_improvement_(point, improvement); };
    SearchOutcome outcome = search_once(request, pass_on, stop_, tell);
    if (!outcome.plans.empty() || outcome.stopped || request.exhaustive) return outcome;
    SearchRequest all = request;
    all.exhaustive = true;
    return search_once(all, pass_on, stop_);
}

/// A size that the request does not suit is one without a plan; where it suits none, the fault is the request's.
void Sweeper::search_point(SweepPoint& point) {
    if (result_.stopped || stop_.stop_requested()) {
        result_.stopped = true;
        point.reason = "interrupted before it was searched";
        return;
    }
    try {
        point.outcome = search_alone(point);
    } catch (const InputError& error) {
        refused_.push_back(std::current_exception());
        point.reason = error.what();
        return;
    }
    result_.stopped = point.outcome->stopped;
    evaluated_ += point.outcome->evaluated;
    simulated_ += point.outcome->simulated;
    if (!point.feasible()) {
        point.reason = reason_of(*point.outcome);
    } else if (const double ms = point.outcome->plans.front().summary.step_time_ms; !best_ms_ || ms < *best_ms_) {
        best_ms_ = ms;
    }
}

/// Bounds and simulation of a size count half each, and all sizes alike. A size without a plan is bounded twice, which
/// must not look like a step back.
void Sweeper::report(const SearchProgress& progress) {
    if (!on_progress_) return;
    const bool bounds = std::string_view(progress.phase) == "bounds";
    const double share = bounds ? 0.5 * progress.done_ratio : 0.5 + 0.5 * progress.done_ratio;
    done_ratio_ =
        std::max(done_ratio_, (static_cast<double>(at_) + share) / static_cast<double>(result_.points.size()));
    SearchProgress all{"sweep", done_ratio_, evaluated_ + progress.evaluated, simulated_ + progress.simulated,
                       best_ms_};
    if (progress.best_ms && (!best_ms_ || *progress.best_ms < *best_ms_)) all.best_ms = progress.best_ms;
    on_progress_(all);
}

void Sweeper::relax_largest() {
    if (!result_.plans.empty() || result_.stopped || !request_.search.relax) return;
    const auto largest = std::find_if(result_.points.rbegin(), result_.points.rend(),
                                      [](const SweepPoint& point) { return point.outcome.has_value(); });
    if (largest == result_.points.rend()) return;
    largest->outcome->relaxations = relax(point_request(request_, *largest), *largest->outcome, stop_);
}

}  // namespace

SweepRequest with_sizes(SearchRequest search, const SizeTexts& texts) {
    SweepRequest request;
    JobRequest& base = search.base;
    if (texts.gpus && texts.nodes) throw InputError("--nodes", "", "and --gpus say the same: give one of them");
    if (texts.gpus || texts.nodes) {
        const int node = gpus_per_node(base);
        request.gpus = texts.gpus ? parse_gpu_sizes(*texts.gpus, node) : parse_node_sizes(*texts.nodes, node);
    } else if (base.gpus) {
        request.gpus = {*base.gpus};
    }
    if (texts.batches) {
        request.batches = parse_batch_sizes(*texts.batches);
    } else if (base.gbs) {
        request.batches = {*base.gbs};
    }
    if (!request.gpus.empty()) base.gpus = request.gpus.front();
    if (!request.batches.empty()) base.gbs = request.batches.front();
    request.search = std::move(search);
    return request;
}

bool one_size(const SweepRequest& request) {
    return request.gpus.size() * request.batches.size() <= 1;
}

void compare_points(SweepOutcome& result) {
    result.plans.clear();
    result.front.clear();
    result.cost_front.clear();
    compare_sizes(result);
    order_plans(result);
    find_fronts(result);
}

SearchRequest point_request(const SweepRequest& request, const SweepPoint& point) {
    SearchRequest alone = request.search;
    alone.base.gpus = point.gpus;
    alone.base.gbs = point.gbs;
    return alone;
}

SweepOutcome sweep(const SweepRequest& request, const OnProgress& on_progress, const std::stop_token& stop,
                   const OnSweepImprovement& on_improvement) {
    if (request.search.top < 1) {
        throw InputError("--top", "", fmt::format("{}: at least 1 plan must be wanted", request.search.top));
    }
    return Sweeper(request, on_progress, stop, on_improvement).run();
}

}  // namespace foreshard
