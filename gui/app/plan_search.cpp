#include "gui/app/plan_search.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "sim/error.hpp"
#include "sim/search/json_search.hpp"
#include "sim/search/json_sweep.hpp"
#include "sim/search/space.hpp"
#include "sim/search/text_search.hpp"
#include "sim/search/text_sweep.hpp"
#include "sim/spec/request_text.hpp"
#include "sim/stop.hpp"

namespace foreshard::gui {

namespace {

using Degrees = std::pair<int, int>;  ///< TP, PP

constexpr const char* search_name = "search";

/// Every TP with every PP that some plan of the space has.
std::set<Degrees> degreesOf(const SearchRequest& request) {
    std::set<int> tp;
    std::set<int> pp;
    for (const foreshard::Cell& cell : make_space(request).cells) {
        tp.insert(cell.tp);
        for (const Grid& grid : cell.grids) pp.insert(grid.pp);
    }
    std::set<Degrees> degrees;
    for (const int t : tp) {
        for (const int p : pp) degrees.emplace(t, p);
    }
    return degrees;
}

Degrees degreesOf(const FoundPlan& found) {
    return {found.plan.tp.value_or(1), found.plan.pp.value_or(1)};
}

/// The best of all plans is the best of its degrees; one that is only on the front need not be. What cannot run is
/// known too.
std::set<Degrees> known(const FoundPlans& found) {
    std::set<Degrees> degrees;
    for (const InfeasibleCell& cell : found.result.infeasible_cells) degrees.emplace(cell.tp, cell.pp);
    const auto count = std::min(found.result.plans.size(), static_cast<std::size_t>(found.request.search.top));
    for (std::size_t i = 0; i < count; ++i) degrees.insert(degreesOf(found.result.plans[i]));
    return degrees;
}

SearchRequest onlyOf(const SearchRequest& request, const Degrees& degrees) {
    SearchRequest only = request;
    only.constraints["tp"] = std::to_string(degrees.first);
    only.constraints["pp"] = std::to_string(degrees.second);
    only.top = 1;
    return only;
}

/// Bounds tell what fits nowhere. Only the others are searched.
SearchOutcome searchOf(const SearchRequest& only, const std::stop_token& stop) {
    SearchRequest all = only;
    all.exhaustive = true;
    SearchOutcome bounds = bound_plans(all, stop);
    const auto too_large = bounds.infeasible.find("memory");
    const std::int64_t misses = too_large == bounds.infeasible.end() ? 0 : too_large->second;
    return misses == bounds.evaluated ? bounds : search(only, {}, stop);
}

void add(const SearchOutcome& cell, const Degrees& degrees, FoundPlans& found) {
    if (cell.stopped) return;
    if (!cell.plans.empty()) {
        found.result.plans.push_back(cell.plans.front());
    } else {
        found.result.infeasible_cells.push_back({degrees.first, degrees.second, cell.infeasible});
    }
}

/// The fastest first: none is faster with as little memory.
std::vector<std::size_t> frontOf(const std::vector<FoundPlan>& plans) {
    std::vector<std::size_t> byTime(plans.size());
    std::iota(byTime.begin(), byTime.end(), std::size_t{0});
    std::stable_sort(byTime.begin(), byTime.end(), [&](std::size_t a, std::size_t b) {
        return std::pair(plans[a].summary.step_time_ms, plans[a].summary.peak_memory) <
               std::pair(plans[b].summary.step_time_ms, plans[b].summary.peak_memory);
    });
    std::vector<std::size_t> front;
    for (const std::size_t i : byTime) {
        const bool less = front.empty() || plans[i].summary.peak_memory < plans[front.back()].summary.peak_memory;
        if (less) front.push_back(i);
    }
    return front;
}

/// Best first, each once; the front is that of all.
void order(SearchOutcome& result) {
    const auto key = [](const FoundPlan& plan) {
        return std::tuple(plan.objective_value, plan.summary.step_time_ms, plan.summary.peak_memory,
                          request_flags(plan.plan));
    };
    std::stable_sort(result.plans.begin(), result.plans.end(),
                     [&](const FoundPlan& a, const FoundPlan& b) { return key(a) < key(b); });
    const auto twin = std::unique(result.plans.begin(), result.plans.end(),
                                  [&](const FoundPlan& a, const FoundPlan& b) { return key(a) == key(b); });
    result.plans.erase(twin, result.plans.end());
    result.front = frontOf(result.plans);
}

/// The text is the structure's only source: what is saved is what is shown.
void writeOut(std::string text, FoundPlans& found) {
    found.text = std::move(text);
    found.shown = parse_search(search_name, found.text);
}

/// Left out where the search is ended meanwhile.
void explain(SearchOutcome& result, const SearchRequest& request, const std::stop_token& stop) {
    if (result.stopped) return;
    try {
        result.neighbours = neighbours_of_best(request, result, stop);
    } catch (const Stopped&) {
        result.stopped = true;
    }
}

template <class Work>
void guarded(FoundPlans& found, const Work& work) {
    try {
        work();
    } catch (const InputError& error) {
        found.flag = error.source();
        found.error = error.what();
    } catch (const std::exception& error) {
        found.error = std::string("internal error: ") + error.what();
    }
}

void fillMap(FoundPlans& found, const OnProgress& onProgress, const std::stop_token& stop) {
    const SearchRequest& request = found.request.search;
    const std::set<Degrees> all = degreesOf(request);
    const std::set<Degrees> done = known(found);
    SearchProgress progress{"map", 0.0, found.result.evaluated, found.result.simulated, std::nullopt};
    if (!found.result.plans.empty()) progress.best_ms = found.result.plans.front().summary.step_time_ms;
    std::size_t looked_at = 0;
    for (const Degrees& degrees : all) {
        if (stop.stop_requested()) break;
        progress.done_ratio = static_cast<double>(looked_at++) / static_cast<double>(all.size());
        if (onProgress) onProgress(progress);
        if (done.contains(degrees)) continue;
        const SearchOutcome cell = searchOf(onlyOf(request, degrees), stop);
        progress.simulated += cell.simulated;
        add(cell, degrees, found);
    }
    order(found.result);
    writeOut(search_json(found.result), found);
}

void findOfOneSize(FoundPlans& found, const OnProgress& onProgress, const std::stop_token& stop,
                   const OnSweepImprovement& onImprovement) {
    const SearchRequest& request = found.request.search;
    const SweepPoint size{request.base.gpus.value_or(0), request.base.gbs.value_or(0), {}, {}, {}};
    found.result = search(request, onProgress, stop, [&](const Improvement& improvement) {
        if (onImprovement) onImprovement(size, improvement);
    });
    explain(found.result, request, stop);
    found.stopped = found.result.stopped;
    writeOut(search_json(found.result), found);
    found.advice = search_advice(found.result);
}

void findOfSizes(FoundPlans& found, const OnProgress& onProgress, const std::stop_token& stop,
                 const OnSweepImprovement& onImprovement) {
    SweepOutcome result = sweep(found.request, onProgress, stop, onImprovement);
    found.stopped = result.stopped;
    if (!result.plans.empty() && !result.stopped) {
        SweepPoint& best = result.best_point();
        explain(*best.outcome, point_request(found.request, best), stop);
        found.stopped = best.outcome->stopped;
    }
    found.mapped = true;
    writeOut(sweep_json(result), found);
    found.advice = sweep_advice(result);
}

}  // namespace

PlansSoFar::PlansSoFar(const SweepRequest& request) : request_(request) {
    result_.objective = request.search.objective.kind;
    result_.top = request.search.top;
    for (const int gpus : request.gpus) {
        for (const std::int64_t gbs : request.batches)
            result_.points.push_back({gpus, gbs, {}, "not searched yet", {}});
    }
    if (result_.points.empty()) result_.points.emplace_back();
}

void PlansSoFar::add(const SweepPoint& size, const Improvement& improvement) {
    const auto is = [&](const SweepPoint& point) { return point.gpus == size.gpus && point.gbs == size.gbs; };
    const auto found = std::find_if(result_.points.begin(), result_.points.end(), is);
    SweepPoint& point = found == result_.points.end() ? result_.points.front() : *found;
    if (!point.outcome) {
        point.reason.clear();
        point.outcome.emplace();
        point.outcome->base = one_size(request_) ? request_.search.base : point_request(request_, point).base;
        point.outcome->loaded = with_specs(point.outcome->base);
        point.outcome->objective = result_.objective;
    }
    SearchOutcome& outcome = *point.outcome;
    outcome.evaluated = improvement.evaluated;
    outcome.simulated = improvement.simulated;
    outcome.plans.push_back(improvement.found);
    order(outcome);
    const std::set<std::size_t> front(outcome.front.begin(), outcome.front.end());
    std::vector<FoundPlan> kept;
    for (std::size_t i = 0; i < outcome.plans.size(); ++i) {
        if (i < static_cast<std::size_t>(result_.top) || front.contains(i)) kept.push_back(std::move(outcome.plans[i]));
    }
    outcome.plans = std::move(kept);
    outcome.front = frontOf(outcome.plans);
}

ReadSearch PlansSoFar::shown() const {
    if (one_size(request_)) {
        const std::optional<SearchOutcome>& outcome = result_.points.front().outcome;
        return parse_search(search_name, search_json(outcome.value_or(SearchOutcome())));
    }
    SweepOutcome sizes = result_;
    compare_points(sizes);
    return parse_search(search_name, sweep_json(sizes));
}

FoundPlans findPlans(const SweepRequest& request, const OnProgress& onProgress, const std::stop_token& stop,
                     const OnSweepImprovement& onImprovement) {
    FoundPlans found;
    found.request = request;
    guarded(found, [&] {
        one_size(request) ? findOfOneSize(found, onProgress, stop, onImprovement)
                          : findOfSizes(found, onProgress, stop, onImprovement);
    });
    return found;
}

FoundPlans withMap(FoundPlans found, const OnProgress& onProgress, const std::stop_token& stop) {
    found.mapped = true;
    guarded(found, [&] { fillMap(found, onProgress, stop); });
    return found;
}

}  // namespace foreshard::gui
