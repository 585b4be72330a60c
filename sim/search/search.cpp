#include "sim/search/search.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <mutex>
#include <thread>

#include "sim/engine/stoppable.hpp"
#include "sim/error.hpp"
#include "sim/plan/pass_buffers.hpp"
#include "sim/prefixes.hpp"
#include "sim/search/branch_bounds.hpp"
#include "sim/search/candidate_queue.hpp"
#include "sim/search/known_collectives.hpp"
#include "sim/search/parallel.hpp"
#include "sim/search/refined_bound.hpp"
#include "sim/search/relax.hpp"
#include "sim/search/simulated_plan.hpp"

namespace foreshard {

namespace {

/// Work between two decisions, whatever the number of threads: results must not depend on it.
constexpr std::size_t branches_at_a_time = 16;
constexpr std::size_t simulations_at_a_time = 8;
constexpr std::size_t first_incumbents = 16;
constexpr std::size_t branches_between_trims = 512;

constexpr const char* memory_reason = "memory";

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

/// What became of a queued plan: it was simulated, or its bounds got tighter.
struct Advance {
    QueuedPlan plan;
    ByteCount need = 0;  ///< by its bounds: allocated and outside the allocator
    std::optional<SimulatedPlan> simulated;
};

class Searcher {
public:
    Searcher(const SearchRequest& request, const OnProgress& on_progress, const std::stop_token& stop,
             const OnImprovement& on_improvement)
        : request_(request),
          on_progress_(on_progress),
          on_improvement_(on_improvement),
          stop_(stop),
          threads_(request.threads > 0 ? request.threads
                                       : static_cast<int>(std::max(std::thread::hardware_concurrency(), 1U))),
          space_(make_space(request)),
          tally_(space_),
          job_(resolve(space_.base)),
          costs_(space_),
          measure_(request.objective, job_),
          incumbents_(request.top, measure_.weights()) {
        limit_ = job_.cluster.device.usable_memory;
        if (request.max_memory_gib) {
            limit_ = std::min(limit_, static_cast<ByteCount>(*request.max_memory_gib * gibi));
        }
    }

    /// @param simulates false: bounds only
    SearchOutcome run(bool simulates) {
        try {
            compute_bounds();
            bounded_ = true;
            if (simulates) simulate_candidates();
        } catch (const Stopped&) {
            result_.stopped = true;
        }
        if (simulates) finish();
        result_.elapsed_s = seconds_since(start_);
        return std::move(result_);
    }

private:
    void compute_bounds();
    void find_first_incumbents(std::vector<std::pair<Picoseconds, int>>& order);
    void simulate_some(const std::vector<std::size_t>& places);
    void expand(const std::vector<int>& branches, const Incumbents* known);
    void expand_rest(const std::vector<int>& branches);
    void trim();
    void take(BranchYield&& yield);
    void simulate_candidates();
    void note_gap(const CandidateQueue& queue);
    std::optional<double> gap() const;
    bool enough() const;
    std::vector<SimulatedPlan> simulate(const std::vector<Candidate>& candidates);
    bool keep(SimulatedPlan&& plan);
    void tell_plans();
    void tell(const SimulatedPlan& plan) const;
    Advance advance(const QueuedPlan& plan, const NetworkModel& network) const;
    void settle(Advance&& plan, CandidateQueue& queue);
    void count_too_large(ByteCount need, const PlanKey& key);
    void finish();
    FoundPlan found(const SimulatedPlan& plan) const {
        return {plan_request(space_, plan.key), plan.summary, measure_.figures(plan.step_time, plan.busy_time),
                value(plan)};
    }
    double value(const SimulatedPlan& plan) const { return measure_.weights().value(plan.step_time, plan.busy_time); }
    void report(const char* phase, double done_ratio);
    BoundInputs inputs() const { return {space_, grids_, costs_, limit_, measure_.weights().busy > 0.0}; }

    const SearchRequest& request_;
    const OnProgress& on_progress_;
    const OnImprovement& on_improvement_;
    const std::stop_token& stop_;
    Clock::time_point start_ = Clock::now();
    int threads_;
    Space space_;
    CellTally tally_;
    bool bounded_ = false;  ///< all plans, or their branch
    Job job_;
    SpaceCosts costs_;
    ByteCount limit_ = 0;
    AllGridCosts grids_;
    ObjectiveMeasure measure_;
    Incumbents incumbents_;
    std::vector<Candidate> candidates_;
    std::size_t branches_done_ = 0;
    std::vector<SimulatedPlan> simulated_;
    std::optional<double> least_left_;  ///< that the objective takes for plans that are not simulated
    std::optional<ClosestMiss> closest_;
    std::mutex mutex_;
    SearchOutcome result_;
};

void Searcher::report(const char* phase, double done_ratio) {
    if (!on_progress_) return;
    SearchProgress progress{phase, done_ratio, result_.evaluated, result_.simulated, std::nullopt, gap()};
    if (!incumbents_.front().empty()) progress.best_ms = to_milliseconds(incumbents_.front().begin()->first);
    on_progress_(progress);
}

void Searcher::compute_bounds() {
    const Clock::time_point start = Clock::now();
    result_.infeasible = space_.infeasible;
    grids_ = all_grid_costs(space_, costs_, threads_, stop_);
    std::vector<std::pair<Picoseconds, int>> order(space_.branches.size());
    if (!request_.exhaustive) {
        const BoundInputs shared = inputs();
        parallel_for(threads_, order.size(), [&](std::size_t i, int) {
            check_stop(stop_);
            order[i] = {BranchBounds(shared).floor(static_cast<int>(i)), static_cast<int>(i)};
        });
        std::sort(order.begin(), order.end());
        find_first_incumbents(order);
    } else {
        for (std::size_t i = 0; i < order.size(); ++i) order[i] = {0, static_cast<int>(i)};
    }
    std::vector<int> rest;
    rest.reserve(order.size());
    for (const auto& [floor, branch] : order) rest.push_back(branch);
    expand_rest(rest);
    result_.estimate_elapsed_s = seconds_since(start);
}

/// Expands the most promising branches until a plan of theirs fits, then simulates what looks best in time or memory:
/// the rest is cut by these.
void Searcher::find_first_incumbents(std::vector<std::pair<Picoseconds, int>>& order) {
    std::size_t done = 0;
    while (done < order.size() && incumbents_.front().empty()) {
        std::vector<int> some;
        for (; done < order.size() && some.size() < branches_at_a_time; ++done) some.push_back(order[done].second);
        expand(some, nullptr);
        std::sort(candidates_.begin(), candidates_.end(), comes_first);
        while (!candidates_.empty() && incumbents_.front().empty()) simulate_some({0, 1, 2, 3, 4, 5, 6, 7});
    }
    simulate_some(front_of_bounds(candidates_, first_incumbents));
    order.erase(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(done));
}

/// Candidates at these places, in ascending order, become simulated plans.
void Searcher::simulate_some(const std::vector<std::size_t>& places) {
    std::vector<Candidate> round;
    for (const std::size_t place : places) {
        if (place < candidates_.size()) round.push_back(candidates_[place]);
    }
    for (SimulatedPlan& plan : simulate(round)) keep(std::move(plan));
    std::for_each(places.rbegin(), places.rend(), [this](std::size_t place) {
        if (place < candidates_.size()) candidates_.erase(candidates_.begin() + static_cast<std::ptrdiff_t>(place));
    });
}

void Searcher::expand(const std::vector<int>& branches, const Incumbents* known) {
    const BoundInputs shared = inputs();
    std::vector<BranchYield> yields(branches.size());
    const auto all = static_cast<double>(space_.branches.size());
    parallel_for(threads_, branches.size(), [&](std::size_t i, int) {
        check_stop(stop_);
        yields[i] = BranchBounds(shared).expand(branches[i], known);
        const std::lock_guard lock(mutex_);
        if (++branches_done_ % 64 == 0) report("bounds", static_cast<double>(branches_done_) / all);
    });
    for (BranchYield& yield : yields) take(std::move(yield));
}

/// Where plans pile up, the best looking ones are simulated in between: the rest is then held against them too.
void Searcher::expand_rest(const std::vector<int>& branches) {
    if (request_.exhaustive) return expand(branches, nullptr);
    std::size_t allowed = std::max(request_.trim_above, 2 * candidates_.size());
    for (std::size_t begin = 0; begin < branches.size(); begin += branches_between_trims) {
        const std::size_t end = std::min(branches.size(), begin + branches_between_trims);
        const Incumbents known = incumbents_;
        expand({branches.begin() + static_cast<std::ptrdiff_t>(begin),
                branches.begin() + static_cast<std::ptrdiff_t>(end)},
               &known);
        if (candidates_.size() <= allowed) continue;
        trim();
        allowed = std::max(request_.trim_above, 2 * candidates_.size());
    }
}

void Searcher::trim() {
    std::sort(candidates_.begin(), candidates_.end(), comes_first);
    simulate_some(front_of_bounds(candidates_, first_incumbents));
    std::erase_if(candidates_,
                  [this](const Candidate& c) { return incumbents_.rule_out(c.step_time, c.memory, c.busy_time); });
}

void Searcher::take(BranchYield&& yield) {
    tally_.add(yield);
    result_.evaluated += yield.evaluated;
    result_.pruned += yield.pruned;
    if (yield.too_large > 0) result_.infeasible[memory_reason] += yield.too_large;
    for (std::size_t rule = 1; rule < yield.forbidden.size(); ++rule) {
        if (yield.forbidden[rule] > 0) result_.infeasible[space_.rules[rule]] += yield.forbidden[rule];
    }
    const std::optional<ClosestMiss>& miss = yield.closest_miss;
    if (miss && (!closest_ || std::pair(miss->need, miss->key) < std::pair(closest_->need, closest_->key))) {
        closest_ = miss;
    }
    candidates_.insert(candidates_.end(), yield.candidates.begin(), yield.candidates.end());
}

std::vector<SimulatedPlan> Searcher::simulate(const std::vector<Candidate>& candidates) {
    std::vector<SimulatedPlan> plans(candidates.size());
    parallel_for(threads_, candidates.size(), [&](std::size_t i, int) {
        check_stop(stop_);
        plans[i] = simulate_plan(space_, candidates[i].key, stop_);
    });
    return plans;
}

/// A plan that is about to be one of the incumbents.
void Searcher::tell(const SimulatedPlan& plan) const {
    if (!on_improvement_ || incumbents_.rule_out(plan.step_time, plan.memory, plan.busy_time)) return;
    const std::map<Picoseconds, ByteCount>& front = incumbents_.front();
    const auto slower = front.upper_bound(plan.step_time);
    const bool on_front = slower == front.begin() || std::prev(slower)->second > plan.memory;
    const bool best = incumbents_.is_best(plan.step_time, plan.busy_time);
    on_improvement_({found(plan), best, on_front, result_.evaluated, result_.simulated});
}

void Searcher::count_too_large(ByteCount need, const PlanKey& key) {
    ++result_.infeasible[memory_reason];
    tally_.does_not_fit(key);
    if (!closest_ || need < closest_->need) closest_ = ClosestMiss{need, key};
}

/// False when the plan does not fit.
bool Searcher::keep(SimulatedPlan&& plan) {
    ++result_.simulated;
    if (plan.need > limit_) {
        count_too_large(plan.need, plan.key);
        return false;
    }
    tell(plan);
    incumbents_.add(plan.step_time, plan.memory, plan.busy_time);
    simulated_.push_back(std::move(plan));
    return true;
}

Advance Searcher::advance(const QueuedPlan& plan, const NetworkModel& network) const {
    Advance result{plan, 0, std::nullopt};
    if (plan.tight) {
        result.simulated = simulate_plan(space_, plan.candidate.key, stop_);
        return result;
    }
    const Job job = resolve(merge(space_.base, plan_request(space_, plan.candidate.key)));
    const Schedule schedule = schedule_of(job);
    Candidate& candidate = result.plan.candidate;
    candidate.memory = std::max(candidate.memory, refined_memory(job, schedule));
    result.plan.tight = true;
    result.need = candidate.memory;
    for (const NamedBytes& part : runtime_parts(job)) result.need += part.bytes;
    if (result.need > limit_ || incumbents_.rule_out(candidate.step_time, candidate.memory, candidate.busy_time)) {
        return result;
    }
    candidate.step_time =
        std::max(candidate.step_time, refined_step_time(job, schedule, costs_.of(job.plan.precision), network));
    return result;
}

void Searcher::settle(Advance&& plan, CandidateQueue& queue) {
    if (plan.simulated) {
        keep(std::move(*plan.simulated));
        return;
    }
    ++result_.refined;
    if (plan.need > limit_) {
        count_too_large(plan.need, plan.plan.candidate.key);
    } else {
        queue.push(plan.plan);
    }
}

/// In the order of their bounds, until none that is left can be among the best or on the front.
void Searcher::simulate_candidates() {
    CandidateQueue queue(measure_.weights());
    for (const Candidate& candidate : candidates_) queue.push({candidate, bounds_are_tight(space_, candidate.key)});
    candidates_ = {};
    const auto all = static_cast<double>(queue.size());
    std::vector<std::unique_ptr<KnownCollectives>> known;  // by thread
    known.reserve(static_cast<std::size_t>(threads_));
    for (int i = 0; i < threads_; ++i) known.push_back(std::make_unique<KnownCollectives>(costs_.passes()));
    note_gap(queue);
    while (!queue.empty() && !enough()) {
        check_stop(stop_);
        const std::vector<QueuedPlan> round = queue.pop_some(simulations_at_a_time, incumbents_);
        std::vector<std::optional<Advance>> advanced(round.size());
        parallel_for(threads_, round.size(), [&](std::size_t i, int thread) {
            check_stop(stop_);
            advanced[i] = advance(round[i], *known[static_cast<std::size_t>(thread)]);
        });
        for (std::optional<Advance>& one : advanced) settle(std::move(*one), queue);
        note_gap(queue);
        report("simulation", 1.0 - static_cast<double>(queue.size()) / all);
    }
    result_.complete = queue.empty();
}

/// By what is not simulated yet.
void Searcher::note_gap(const CandidateQueue& queue) {
    least_left_ = queue.empty() ? std::numeric_limits<double>::infinity() : queue.least_value();
}

/// As SearchOutcome::gap_ratio.
std::optional<double> Searcher::gap() const {
    const std::optional<double> best = incumbents_.best();
    if (!best || !least_left_) return std::nullopt;
    return *best > 0.0 ? std::max(0.0, 1.0 - *least_left_ / *best) : 0.0;
}

bool Searcher::enough() const {
    if (!incumbents_.best()) return false;
    const bool simulated = request_.max_simulated > 0 && result_.simulated >= request_.max_simulated;
    return simulated || gap().value_or(1.0) <= request_.max_gap_ratio;
}

void Searcher::tell_plans() {
    const ToldPlans told = told_plans(simulated_, measure_.weights(), request_.top);
    for (const std::size_t place : told.places) result_.plans.push_back(found(simulated_[place]));
    result_.front = told.front;
}

void Searcher::finish() {
    result_.base = request_.base;
    result_.loaded = space_.base;
    result_.space = space_.text;
    result_.threads = threads_;
    result_.memory_limit_gib = static_cast<double>(limit_) / gibi;
    if (bounded_) result_.infeasible_cells = tally_.infeasible();
    result_.objective = request_.objective.kind;
    result_.operation = measure_.operation();
    result_.train_tokens = request_.objective.train_tokens;
    tell_plans();
    result_.gap_ratio = gap();
    if (result_.plans.empty() && closest_ && !result_.stopped) {
        const SimulatedPlan plan = simulate_plan(space_, closest_->key, stop_);
        result_.closest = found(plan);
        result_.closest_need_gib = static_cast<double>(plan.need) / gibi;
    }
}

}  // namespace

SearchOutcome search_once(const SearchRequest& request, const OnProgress& on_progress, const std::stop_token& stop,
                          const OnImprovement& on_improvement) {
    return Searcher(request, on_progress, stop, on_improvement).run(true);
}

SearchOutcome bound_plans(const SearchRequest& request, const std::stop_token& stop) {
    return Searcher(request, {}, stop, {}).run(false);
}

}  // namespace foreshard
