#include "sim/search/relax.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "sim/error.hpp"
#include "sim/spec/request_text.hpp"

namespace foreshard {

namespace {

/// What is tried where nothing fits: each constraint left out by itself, the memory that the closest plan needs, and
/// more GPUs.
class Relaxer {
public:
    Relaxer(SearchRequest request, const SearchOutcome& result, const std::stop_token& stop)
        : request_(std::move(request)), result_(result), stop_(stop) {
        request_.top = 1;
        request_.exhaustive = false;
    }

    std::vector<Relaxation> run() {
        free_constraints();
        more_memory();
        more_gpus();
        return std::move(found_);
    }

private:
    bool attempt(const SearchRequest& request, const std::function<std::string(const FoundPlan&)>& change) {
        const SearchOutcome result = search_once(request, {}, stop_);
        if (result.plans.empty()) return false;
        found_.push_back({change(result.plans.front()), result.plans.front()});
        return true;
    }

    void free_constraints() {
        for (const auto& [axis, values] : request_.constraints) {
            SearchRequest freed = request_;
            freed.constraints.erase(axis);
            std::string flag = "--" + axis;
            std::replace(flag.begin(), flag.end(), '_', '-');
            attempt(freed, [&, &values = values, &axis = axis](const FoundPlan& plan) {
                const std::string value = request_value(plan.plan, axis);
                return fmt::format("{} {} in place of {}", flag, value.empty() ? "left out" : value, values);
            });
        }
    }

    void more_memory() {
        if (!request_.max_memory_gib || !result_.closest_need_gib) return;
        SearchRequest freed = request_;
        freed.max_memory_gib = std::ceil(*result_.closest_need_gib * 100.0) / 100.0;
        attempt(freed, [&](const FoundPlan&) {
            return fmt::format("--max-memory-gib {} in place of {}", *freed.max_memory_gib, *request_.max_memory_gib);
        });
    }

    void more_gpus() {
        SearchRequest more = request_;
        for (int factor = 2; factor <= most_times_gpus; factor *= 2) {
            if (*request_.base.gpus > most_gpus / factor) return;
            more.base.gpus = *request_.base.gpus * factor;
            const bool enough = attempt(more, [&](const FoundPlan&) {
                return fmt::format("--gpus {} in place of {}", *more.base.gpus, *request_.base.gpus);
            });
            if (enough) return;
        }
    }

    static constexpr int most_times_gpus = 64;
    static constexpr int most_gpus = 1'000'000;  // jobs of more are refused

    SearchRequest request_;
    const SearchOutcome& result_;
    const std::stop_token& stop_;
    std::vector<Relaxation> found_;
};

}  // namespace

std::vector<Relaxation> relax(const SearchRequest& request, const SearchOutcome& result, const std::stop_token& stop) {
    return Relaxer(request, result, stop).run();
}

SearchOutcome search(const SearchRequest& request, const OnProgress& on_progress, const std::stop_token& stop,
                     const OnImprovement& on_improvement) {
    if (request.top < 1) throw InputError("--top", "", fmt::format("{}: at least 1 plan must be wanted", request.top));
    SearchOutcome result = search_once(request, on_progress, stop, on_improvement);
    if (!result.plans.empty() || result.stopped) return result;
    if (!request.exhaustive) {
        // What comes closest may be in a branch that was cut.
        SearchRequest all = request;
        all.exhaustive = true;
        result = search_once(all, on_progress, stop);
    }
    result.sought_relaxations = !result.stopped && request.relax;
    if (result.sought_relaxations) result.relaxations = relax(request, result, stop);
    return result;
}

}  // namespace foreshard
