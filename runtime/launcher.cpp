#include "runtime/launcher.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace foreshard::runtime {

namespace {

class Launch {
public:
    Launch(const TaskGraph& graph, const IssueList& list, int rank, WaitingRoom& room, Device& device,
           const Perform& perform, Recording recording, const GroupCalls& group)
        : graph_(graph),
          list_(list),
          rank_(rank),
          room_(room),
          device_(device),
          perform_(perform),
          group_(group),
          recorded_(recording == Recording::on),
          met_(recorded_ ? static_cast<std::size_t>(list.tasks) : 0) {}

    RankSpans run() {
        device_.begin_run(recorded_ ? Recording::on : Recording::off);
        fork();
        for (std::size_t i = 0; i < list_.issues.size(); ++i) {
            if (list_.issues[i].grouped_with_next && group_.begin) {
                issue_group(list_.issues[i], list_.issues[i + 1]);
                ++i;
            } else {
                issue_task(list_.issues[i]);
            }
        }
        join();
        device_.end_run();
        return spans();
    }

private:
    int mark_of(std::int32_t task) const { return task - list_.first_task; }
    int fork_mark() const { return list_.tasks; }
    int join_mark(int queue) const { return list_.tasks + queue; }

    /// A run begins and ends on the first queue, so that it can be captured.
    void fork() {
        device_.use_queue(0);
        device_.record(fork_mark());
        for (int queue = 1; queue < list_.queues; ++queue) {
            device_.use_queue(queue);
            device_.wait(fork_mark());
        }
    }

    void join() {
        for (int queue = 1; queue < list_.queues; ++queue) {
            device_.use_queue(queue);
            device_.record(join_mark(queue));
        }
        device_.use_queue(0);
        for (int queue = 1; queue < list_.queues; ++queue) device_.wait(join_mark(queue));
    }

    void issue_task(const Issue& issue) {
        begin(issue);
        perform(issue.task);
        end(issue);
    }

    /// Both queues wait for what their message needs; then both messages are issued at a time.
    void issue_group(const Issue& first, const Issue& second) {
        begin(first);
        begin(second);
        guarded(first.task, [&] { group_.begin(); });
        device_.use_queue(first.queue);
        perform(first.task);
        device_.use_queue(second.queue);
        perform(second.task);
        guarded(second.task, [&] { group_.end(); });
        device_.use_queue(first.queue);
        group_.finish(first.task);
        end(first);
        device_.use_queue(second.queue);
        group_.finish(second.task);
        end(second);
    }

    void begin(const Issue& issue) {
        {
            const WaitingRoom::Lock held = room_.lock();
            room_.now_at(issue.task);
        }
        device_.use_queue(issue.queue);
        for (const std::int32_t task : issue.waits) device_.wait(mark_of(task));
        device_.enter(range_name(graph_, issue.task));
        if (recorded_) device_.stamp(2 * mark_of(issue.task));
    }

    void end(const Issue& issue) {
        if (recorded_) device_.stamp(2 * mark_of(issue.task) + 1);
        device_.leave();
        if (issue.awaited) device_.record(mark_of(issue.task));
    }

    void perform(std::int32_t task) {
        guarded(task, [&] {
            const std::optional<Met> met = perform_(task);
            if (recorded_ && !device_.runs_behind()) met_[static_cast<std::size_t>(mark_of(task))] = met;
        });
    }

    template <class Call>
    void guarded(std::int32_t task, const Call& call) {
        try {
            call();
        } catch (const TransportError& error) {
            const bool own = error.rank() == rank_ && !room_.failure();
            fail(error.rank(), own ? fmt::format("{}, in {} of rank {}", error.what(), task_name(graph_, task), rank_)
                                   : std::string(error.what()));
        } catch (const std::exception& error) {
            fail(rank_, fmt::format("rank {} failed in {}: {}", rank_, task_name(graph_, task), error.what()));
        }
    }

    /// The first failure of the room is told.
    [[noreturn]] void fail(int rank, const std::string& reason) {
        room_.fail(rank, reason);
        const std::optional<Failure> first = room_.failure();
        throw TransportError(first->rank, first->reason);
    }

    RankSpans spans() {
        RankSpans result;
        result.first_task = list_.first_task;
        if (!recorded_) return result;
        const std::vector<Clock::time_point> stamps = device_.stamps(2 * list_.tasks);
        result.spans.resize(met_.size());
        for (std::size_t i = 0; i < met_.size(); ++i) {
            TaskSpan& span = result.spans[i];
            span.issued = stamps[2 * i];
            span.end = std::max(stamps[2 * i + 1], span.issued);
            span.start = met_[i] ? std::clamp(met_[i]->at, span.issued, span.end) : span.issued;
        }
        return result;
    }

    const TaskGraph& graph_;
    const IssueList& list_;
    int rank_;
    WaitingRoom& room_;
    Device& device_;
    const Perform& perform_;
    const GroupCalls& group_;
    bool recorded_;
    std::vector<std::optional<Met>> met_;  ///< per task
};

/// "SEND_F" of a message by its lane; empty for others.
std::string_view message_name(Lane lane) {
    if (lane == Lane::send_forward) return "SEND_F";
    if (lane == Lane::recv_forward) return "RECV_F";
    if (lane == Lane::send_backward) return "SEND_B";
    return lane == Lane::recv_backward ? "RECV_B" : "";
}

}  // namespace

RankSpans launch(const TaskGraph& graph, const IssueList& list, int rank, WaitingRoom& room, Device& device,
                 const Perform& perform, Recording recording, const GroupCalls& group) {
    return Launch(graph, list, rank, room, device, perform, recording, group).run();
}

std::string range_name(const TaskGraph& graph, std::int32_t task) {
    const Task& t = graph.tasks[static_cast<std::size_t>(task)];
    const Lane lane = graph.stream_of(task).lane;
    if (t.kind == TaskKind::send || t.kind == TaskKind::recv) {
        // Tasks name the stage that consumes; torch's sends name the one that gives.
        const int forward = lane == Lane::send_forward ? -1 : 0;
        const int backward = lane == Lane::send_backward ? 1 : 0;
        return fmt::format("{}{}{}", t.stage + forward + backward, message_name(lane), t.microbatch);
    }
    if (t.kind == TaskKind::grad_reduce && t.stage >= 0) return fmt::format("{}REDUCE_GRAD", t.stage);
    if (t.kind == TaskKind::param_gather && t.stage >= 0) return fmt::format("{}UNSHARD", t.stage);
    return task_name(graph, task);
}

}  // namespace foreshard::runtime
