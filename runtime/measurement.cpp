#include "runtime/measurement.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "runtime/meeting.hpp"
#include "runtime/transfer_time.hpp"

namespace foreshard::runtime {

namespace {

double ms(Clock::duration duration) {
    return std::chrono::duration<double, std::milli>(duration).count();
}

double median(std::vector<double> values) {
    return spread_of(std::move(values)).median_ms;
}

Clock::time_point first_start(const Outcome& outcome, std::size_t run) {
    Clock::time_point first = outcome.ranks.front().runs[run].start;
    for (const RankRecord& rank : outcome.ranks) first = std::min(first, rank.runs[run].start);
    return first;
}

Clock::time_point last_end(const Outcome& outcome, std::size_t run) {
    Clock::time_point last = outcome.ranks.front().runs[run].end;
    for (const RankRecord& rank : outcome.ranks) last = std::max(last, rank.runs[run].end);
    return last;
}

bool counts(const RunRecord& run) {
    return !run.warmup && !run.spans.spans.empty();
}

/// Real rank with tensor and data parallel index 0 that runs the simulated rank.
const RankRecord& representative(const Plan& plan, const Outcome& outcome, int simulated) {
    const int pp = plan.graph.places[static_cast<std::size_t>(simulated)].pp;
    return outcome.ranks[static_cast<std::size_t>(plan.ranks.on_pipeline_rank(0, pp))];
}

void add_steps(const Plan& plan, const Outcome& outcome, Measurement& result) {
    std::vector<double> recorded;
    std::vector<double> plain;
    const std::size_t runs = outcome.ranks.front().runs.size();
    for (std::size_t run = 0; run < runs; ++run) {
        const RunRecord& record = outcome.ranks.front().runs[run];
        const double time = ms(last_end(outcome, run) - first_start(outcome, run)) / plan.graph.steps;
        result.steps.push_back(
            {time, record.losses.empty() ? 0.0 : record.losses.back(), record.warmup, !record.spans.spans.empty()});
        if (record.warmup) continue;
        (record.spans.spans.empty() ? plain : recorded).push_back(time);
    }
    result.step = spread_of(recorded);
    result.plain = spread_of(plain);
    for (std::size_t run = 0; run < runs; ++run) {
        if (!counts(outcome.ranks.front().runs[run])) continue;
        const auto distance = [&](int r) {
            return std::abs(result.steps[static_cast<std::size_t>(r)].time_ms - result.step.median_ms);
        };
        const bool nearer = result.timeline_run < 0 || distance(static_cast<int>(run)) < distance(result.timeline_run);
        if (nearer) result.timeline_run = static_cast<int>(run);
    }
}

TaskMeasure measure_task(const Plan& plan, const RankRecord& rank, std::int32_t id) {
    std::vector<double> durations;
    std::vector<double> waits;
    for (const RunRecord& run : rank.runs) {
        if (!counts(run)) continue;
        const TaskSpan& span = run.spans.spans[static_cast<std::size_t>(id - run.spans.first_task)];
        durations.push_back(ms(span.end - span.start));
        waits.push_back(ms(span.start - span.issued));
    }
    const bool communication = plan.graph.tasks[static_cast<std::size_t>(id)].comm >= 0;
    return {id, spread_of(durations), communication ? median(waits) : 0.0};
}

RankMeasure measure_rank(const Plan& plan, const RankRecord& record) {
    std::vector<double> busy;
    std::vector<double> waiting;
    std::vector<double> transfer;
    for (const RunRecord& run : record.runs) {
        if (!counts(run)) continue;
        double sums[3] = {};
        for (std::size_t i = 0; i < run.spans.spans.size(); ++i) {
            const TaskSpan& span = run.spans.spans[i];
            const std::size_t task = static_cast<std::size_t>(run.spans.first_task) + i;
            const bool communication = plan.graph.tasks[task].comm >= 0;
            sums[communication ? 2 : 0] += ms(span.end - span.start);
            if (communication) sums[1] += ms(span.start - span.issued);
        }
        busy.push_back(sums[0] / plan.graph.steps);
        waiting.push_back(sums[1] / plan.graph.steps);
        transfer.push_back(sums[2] / plan.graph.steps);
    }
    RankMeasure result;
    result.rank = record.rank;
    result.position = plan.ranks.position(record.rank);
    result.busy_ms = median(busy);
    result.waiting_ms = median(waiting);
    result.transfer_ms = median(transfer);
    result.high_water = record.high_water;
    result.pool = record.pool;
    return result;
}

/// A real rank and its task in a communication.
struct MemberTask {
    int rank = 0;
    std::int32_t task = 0;
};

/// All that meet in a rank's communication task. A task that is alone in its comm stands for the group's ranks.
std::vector<MemberTask> member_tasks(const Plan& plan, int rank, std::int32_t task) {
    const auto members = plan.graph.members_of(plan.graph.tasks[static_cast<std::size_t>(task)].comm);
    std::vector<MemberTask> result;
    if (members.size() == 1) {
        for (const int other : meeting_of(plan.graph, plan.ranks, rank, task).group) result.push_back({other, task});
        return result;
    }
    result.reserve(members.size());
    for (const std::int32_t member : members) {
        const int pp = plan.graph.places[static_cast<std::size_t>(plan.graph.rank_of(member))].pp;
        result.push_back({plan.ranks.on_pipeline_rank(rank, pp), member});
    }
    return result;
}

TaskSpan& span_of(Outcome& outcome, const MemberTask& of, std::size_t run) {
    RankSpans& spans = outcome.ranks[static_cast<std::size_t>(of.rank)].runs[run].spans;
    return spans.spans[static_cast<std::size_t>(of.task - spans.first_task)];
}

std::vector<MemberTimes> times_of(Outcome& outcome, const std::vector<MemberTask>& members, std::size_t run) {
    std::vector<MemberTimes> times;
    times.reserve(members.size());
    for (const MemberTask& member : members) {
        const TaskSpan& span = span_of(outcome, member, run);
        times.push_back({span.issued, span.end});
    }
    return times;
}

}  // namespace

Spread spread_of(std::vector<double> durations) {
    if (durations.empty()) return {};
    std::sort(durations.begin(), durations.end());
    const auto at = [&](double share) {
        const double place = std::ceil(share * static_cast<double>(durations.size())) - 1.0;
        return durations[static_cast<std::size_t>(std::max(place, 0.0))];
    };
    const double sum = std::accumulate(durations.begin(), durations.end(), 0.0);
    return {static_cast<int>(durations.size()),         at(0.5), at(0.1), at(0.9), durations.front(), durations.back(),
            sum / static_cast<double>(durations.size())};
}

void find_arrivals(const Plan& plan, Outcome& outcome) {
    for (const RankRecord& rank : outcome.ranks) {
        const TaskRange range = tasks_of(plan.graph, plan.ranks.position(rank.rank).pp);
        for (std::int32_t id = range.first; id < range.last; ++id) {
            const std::int32_t comm = plan.graph.tasks[static_cast<std::size_t>(id)].comm;
            if (comm < 0) continue;
            const std::vector<MemberTask> members = member_tasks(plan, rank.rank, id);
            for (std::size_t run = 0; run < rank.runs.size(); ++run) {
                if (rank.runs[run].spans.spans.empty()) continue;
                TaskSpan& span = span_of(outcome, {rank.rank, id}, run);
                span.start = std::max(span.end - transfer_time(times_of(outcome, members, run)), span.issued);
            }
        }
    }
}

Measurement measure(const Plan& plan, const Outcome& outcome) {
    Measurement result;
    add_steps(plan, outcome, result);
    for (int simulated = 0; simulated < plan.graph.ranks; ++simulated) {
        const TaskRange range = tasks_of(plan.graph, simulated);
        const RankRecord& rank = representative(plan, outcome, simulated);
        for (std::int32_t id = range.first; id < range.last; ++id) result.tasks.push_back(measure_task(plan, rank, id));
    }
    for (std::size_t r = 0; r < outcome.ranks.size(); ++r) {
        result.ranks.push_back(measure_rank(plan, outcome.ranks[r]));
        result.ranks.back().clock = outcome.clocks[r];
    }
    return result;
}

Timeline timeline_of(const Plan& plan, const Outcome& outcome, int run) {
    const auto r = static_cast<std::size_t>(run);
    const Clock::time_point zero = first_start(outcome, r);
    const auto since = [&](Clock::time_point time) {
        const std::int64_t ns = std::chrono::duration_cast<std::chrono::nanoseconds>(time - zero).count();
        return std::max<std::int64_t>(ns, 0) * 1000;
    };
    Timeline timeline;
    timeline.start.resize(plan.graph.tasks.size());
    timeline.end.resize(plan.graph.tasks.size());
    for (int simulated = 0; simulated < plan.graph.ranks; ++simulated) {
        const RunRecord& record = representative(plan, outcome, simulated).runs[r];
        for (std::size_t i = 0; i < record.spans.spans.size(); ++i) {
            const std::size_t task = static_cast<std::size_t>(record.spans.first_task) + i;
            timeline.start[task] = since(record.spans.spans[i].start);
            timeline.end[task] = since(record.spans.spans[i].end);
        }
    }
    set_window(plan.graph, timeline);
    return timeline;
}

StageTimes stage_times_of(const Plan& plan, const Outcome& outcome) {
    struct Sum {
        double time_ms = 0.0;
        int passes = 0;
        double mean_ms() const { return passes > 0 ? time_ms / passes : 0.0; }
    };
    struct StageSums {
        Sum forward, backward, input_grad, weight_grad;
    };
    std::vector<StageSums> sums(plan.graph.stages.size());
    for (const TaskMeasure& measured : measure(plan, outcome).tasks) {
        const Task& task = plan.graph.tasks[static_cast<std::size_t>(measured.task)];
        if (task.kind != TaskKind::pass) continue;
        StageSums& stage = sums[static_cast<std::size_t>(task.stage)];
        Sum& sum = task.pass == Pass::forward      ? stage.forward
                   : task.pass == Pass::backward   ? stage.backward
                   : task.pass == Pass::input_grad ? stage.input_grad
                                                   : stage.weight_grad;
        sum.time_ms += measured.duration.median_ms;
        // The parts of a pass that is cut make one pass.
        const Work& work = plan.graph.works[static_cast<std::size_t>(task.work)];
        if (work.first_unit == 0) ++sum.passes;
    }
    StageTimes times;
    const auto ps = [](double time_ms) { return static_cast<Picoseconds>(std::llround(time_ms * 1e9)); };
    for (const StageSums& stage : sums) {
        const double half = stage.backward.mean_ms() / 2.0;
        times.stages.push_back({ps(stage.forward.mean_ms()), ps(half > 0.0 ? half : stage.input_grad.mean_ms()),
                                ps(half > 0.0 ? half : stage.weight_grad.mean_ms())});
    }
    return times;
}

}  // namespace foreshard::runtime
