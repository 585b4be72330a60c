#include "gui/app/plan_search.hpp"

#include <algorithm>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "sim/error.hpp"
#include "sim/search/json_search.hpp"
#include "sim/search/space.hpp"
#include "sim/search/text_search.hpp"
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

/// The fastest of all plans is the fastest of its degrees; one that is only on the front need not be. What cannot run
/// is known too.
std::set<Degrees> known(const FoundPlans& found) {
    std::set<Degrees> degrees;
    for (const InfeasibleCell& cell : found.result.infeasible_cells) degrees.emplace(cell.tp, cell.pp);
    const auto count = std::min(found.result.plans.size(), static_cast<std::size_t>(found.request.top));
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

/// Fastest first, each once; the front is that of all.
void order(SearchOutcome& result) {
    const auto key = [](const FoundPlan& plan) {
        return std::tuple(plan.summary.step_time_ms, plan.summary.peak_memory, request_flags(plan.plan));
    };
    std::stable_sort(result.plans.begin(), result.plans.end(),
                     [&](const FoundPlan& a, const FoundPlan& b) { return key(a) < key(b); });
    const auto twin = std::unique(result.plans.begin(), result.plans.end(),
                                  [&](const FoundPlan& a, const FoundPlan& b) { return key(a) == key(b); });
    result.plans.erase(twin, result.plans.end());
    result.front.clear();
    for (std::size_t i = 0; i < result.plans.size(); ++i) {
        const ByteCount memory = result.plans[i].summary.peak_memory;
        const bool less = result.front.empty() || memory < result.plans[result.front.back()].summary.peak_memory;
        if (less) result.front.push_back(i);
    }
}

/// The text is the structure's only source: what is saved is what is shown.
void writeOut(FoundPlans& found) {
    found.text = search_json(found.result);
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
    const std::set<Degrees> all = degreesOf(found.request);
    const std::set<Degrees> done = known(found);
    SearchProgress progress{"map", 0.0, found.result.evaluated, found.result.simulated, std::nullopt};
    if (!found.result.plans.empty()) progress.best_ms = found.result.plans.front().summary.step_time_ms;
    std::size_t looked_at = 0;
    for (const Degrees& degrees : all) {
        if (stop.stop_requested()) break;
        progress.done_ratio = static_cast<double>(looked_at++) / static_cast<double>(all.size());
        if (onProgress) onProgress(progress);
        if (done.contains(degrees)) continue;
        const SearchOutcome cell = searchOf(onlyOf(found.request, degrees), stop);
        progress.simulated += cell.simulated;
        add(cell, degrees, found);
    }
    order(found.result);
    writeOut(found);
}

}  // namespace

PlansSoFar::PlansSoFar(const SearchRequest& request) : top_(request.top) {
    result_.base = request.base;
    result_.loaded = with_specs(request.base);
}

void PlansSoFar::add(const Improvement& improvement) {
    result_.evaluated = improvement.evaluated;
    result_.simulated = improvement.simulated;
    result_.plans.push_back(improvement.found);
    order(result_);
    const std::set<std::size_t> front(result_.front.begin(), result_.front.end());
    std::vector<FoundPlan> kept;
    for (std::size_t i = 0; i < result_.plans.size(); ++i) {
        if (i < static_cast<std::size_t>(top_) || front.contains(i)) kept.push_back(std::move(result_.plans[i]));
    }
    result_.plans = std::move(kept);
}

ReadSearch PlansSoFar::shown() const {
    return parse_search(search_name, search_json(result_));
}

FoundPlans findPlans(const SearchRequest& request, const OnProgress& onProgress, const std::stop_token& stop,
                     const OnImprovement& onImprovement) {
    FoundPlans found;
    found.request = request;
    guarded(found, [&] {
        found.result = search(request, onProgress, stop, onImprovement);
        explain(found.result, request, stop);
        writeOut(found);
        found.advice = search_advice(found.result);
    });
    return found;
}

FoundPlans withMap(FoundPlans found, const OnProgress& onProgress, const std::stop_token& stop) {
    found.mapped = true;
    guarded(found, [&] { fillMap(found, onProgress, stop); });
    return found;
}

}  // namespace foreshard::gui
