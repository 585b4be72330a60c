#include "runtime/rank_lead.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

namespace foreshard::runtime {

namespace {

double ms_of(Clock::duration duration) {
    return std::chrono::duration<double, std::milli>(duration).count();
}

/// What an op computed: a call inside it is communication.
Clock::duration computing(const OpSpans& spans, const OpSpan& op) {
    const Clock::duration time = op.end - op.start;
    if (op.call < 0) return time;
    const CallSpan& call = spans.calls[static_cast<std::size_t>(op.call)];
    return time - (call.end - call.issued);
}

Clock::duration computing(const OpSpans& spans) {
    Clock::duration sum{};
    for (const OpSpan& op : spans.ops) sum += computing(spans, op);
    return sum;
}

using PassId = std::pair<Pass, int>;  ///< the k-th pass of a kind
using PassTimes = std::map<PassId, double>;

/// Of a rank in one run. Ops stand in the order in which they ran, so each pass has the next ones.
PassTimes pass_times(const Plan& plan, const RankRecord& rank, const RunRecord& run) {
    PassTimes times;
    std::map<Pass, int> seen;
    std::size_t next = 0;
    const std::vector<OpSpan>& ops = run.ops.ops;
    const TaskRange range = tasks_of(plan.graph, plan.ranks.position(rank.rank).pp);
    for (std::int32_t id = range.first; id < range.last; ++id) {
        const Task& task = plan.graph.tasks[static_cast<std::size_t>(id)];
        if (task.kind != TaskKind::pass) continue;
        const TaskSpan& span = run.spans.spans[static_cast<std::size_t>(id - run.spans.first_task)];
        double& time = times[{task.pass, seen[task.pass]++}];
        for (; next < ops.size() && ops[next].end <= span.end; ++next) {
            if (ops[next].start >= span.start) time += ms_of(computing(run.ops, ops[next]));
        }
    }
    return times;
}

/// Times of one thing that ranks do, by rank and run.
class Together {
public:
    void add(std::size_t rank, double time) { times_[rank].push_back(time); }

    /// Adds what pairs of ranks differ by, each over its mean.
    void compare(std::vector<double>& differences, std::vector<double>& means) const {
        for (auto a = times_.begin(); a != times_.end(); ++a) {
            means.push_back(mean(a->second));
            for (auto b = std::next(a); b != times_.end(); ++b) compare(a->second, b->second, differences);
        }
    }

private:
    static double mean(const std::vector<double>& values) {
        return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
    }

    /// Means of few runs lie nearer to each than the true ones do.
    static void compare(const std::vector<double>& a, const std::vector<double>& b, std::vector<double>& differences) {
        const auto runs = static_cast<double>(a.size());
        if (a.size() != b.size() || a.size() < 2 || !(mean(a) > 0.0) || !(mean(b) > 0.0)) return;
        const double few = std::sqrt(runs / (runs - 1.0));
        for (std::size_t i = 0; i < a.size(); ++i)
            differences.push_back(few * std::abs(a[i] / mean(a) - b[i] / mean(b)));
    }

    std::map<std::size_t, std::vector<double>> times_;
};

std::optional<RankLead> lead_of(const std::vector<Together>& all) {
    std::vector<double> differences;
    std::vector<double> means;
    for (const Together& one : all) one.compare(differences, means);
    if (differences.empty()) return std::nullopt;
    const auto mean = [](const std::vector<double>& values) {
        return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
    };
    return RankLead{mean(means), mean(differences) / 2.0};
}

}  // namespace

std::vector<bool> middle_runs(const Outcome& outcome) {
    const std::vector<RunRecord>& first = outcome.ranks.front().runs;
    std::vector<bool> middle(first.size(), false);
    std::vector<std::pair<Clock::duration, std::size_t>> sums;
    for (std::size_t run = 0; run < first.size(); ++run) {
        if (first[run].warmup || first[run].ops.ops.empty()) continue;
        Clock::duration sum{};
        for (const RankRecord& rank : outcome.ranks) sum += computing(rank.runs[run].ops);
        sums.emplace_back(sum, run);
    }
    std::sort(sums.begin(), sums.end());
    const std::size_t left_out = sums.size() / 4;
    for (std::size_t i = left_out; i + left_out < sums.size(); ++i) middle[sums[i].second] = true;
    return middle;
}

RankLeads rank_leads(const Plan& plan, const Outcome& outcome) {
    const std::vector<bool> middle = middle_runs(outcome);
    std::map<PassId, Together> passes;
    Together steps;
    for (std::size_t r = 0; r < outcome.ranks.size(); ++r) {
        for (std::size_t run = 0; run < middle.size(); ++run) {
            if (!middle[run]) continue;
            double sum = 0.0;
            for (const auto& [id, time] : pass_times(plan, outcome.ranks[r], outcome.ranks[r].runs[run])) {
                passes[id].add(r, time);
                sum += time;
            }
            steps.add(r, sum);
        }
    }
    std::vector<Together> each;
    each.reserve(passes.size());
    for (auto& [id, times] : passes) each.push_back(std::move(times));
    return {lead_of(each), lead_of({steps})};
}

}  // namespace foreshard::runtime
