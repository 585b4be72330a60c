#include "runtime/executor.hpp"

#include <algorithm>
#include <thread>

#include <fmt/format.h>

namespace foreshard::runtime {

namespace {

class RankRun {
public:
    RankRun(const TaskGraph& graph, int simulated_rank, int rank, WaitingRoom& room, const Perform& perform,
            Recording recording)
        : graph_(graph), rank_(rank), room_(room), perform_(perform), recording_(recording) {
        const TaskRange range = tasks_of(graph, simulated_rank);
        result_.first_task = range.first;
        done_.resize(static_cast<std::size_t>(range.last - range.first));
        if (recording == Recording::on) result_.spans.resize(done_.size());
        for (std::size_t s = 0; s < graph.streams.size(); ++s) {
            const Stream& stream = graph.streams[s];
            if (stream.rank == simulated_rank && stream.last > stream.first) streams_.push_back(&stream);
        }
    }

    RankSpans run();

private:
    void run_stream(const Stream& stream);
    void run_task(std::int32_t task);
    void record_task(std::int32_t task);
    void await_streams();
    std::string told(const TransportError& error, std::int32_t task) const;
    bool ready(std::int32_t task) const;
    std::string missing(std::int32_t task) const;
    std::size_t place(std::int32_t task) const { return static_cast<std::size_t>(task - result_.first_task); }

    const TaskGraph& graph_;
    int rank_;
    WaitingRoom& room_;
    const Perform& perform_;
    Recording recording_;
    std::vector<const Stream*> streams_;
    std::vector<char> done_;  ///< under the room's lock, like running_
    std::size_t running_ = 0;
    RankSpans result_;
};

std::span<const std::int32_t> deps_of(const TaskGraph& graph, std::int32_t task) {
    const Task& t = graph.tasks[static_cast<std::size_t>(task)];
    return std::span(graph.deps).subspan(t.first_dep, t.deps);
}

bool RankRun::ready(std::int32_t task) const {
    const auto deps = deps_of(graph_, task);
    return std::all_of(deps.begin(), deps.end(), [&](std::int32_t dep) { return done_[place(dep)] != 0; });
}

std::string RankRun::missing(std::int32_t task) const {
    std::string text;
    for (const std::int32_t dep : deps_of(graph_, task)) {
        if (done_[place(dep)] != 0) continue;
        text += fmt::format("{}task {} of its own rank", text.empty() ? "" : ", ", task_name(graph_, dep));
    }
    return text;
}

void RankRun::run_task(std::int32_t task) {
    WaitingRoom::Lock held = room_.lock();
    room_.now_at(task);
    room_.wait(
        held, [&] { return ready(task); }, [&] { return missing(task); });
    held.unlock();
    if (recording_ == Recording::on) {
        record_task(task);
    } else {
        perform_(task);
    }
    held.lock();
    done_[place(task)] = 1;
    room_.changed();
}

void RankRun::record_task(std::int32_t task) {
    TaskSpan& span = result_.spans[place(task)];
    span.issued = Clock::now();
    const std::optional<Met> met = perform_(task);
    span.end = Clock::now();
    // A call that had nothing to wait for meets when it is issued.
    span.start = met ? std::clamp(met->at, span.issued, span.end) : span.issued;
}

void RankRun::run_stream(const Stream& stream) {
    std::int32_t task = stream.first;
    try {
        for (; task < stream.last; ++task) run_task(task);
    } catch (const TransportError& error) {
        room_.fail(error.rank(), told(error, task));
    } catch (const std::exception& error) {
        room_.fail(rank_, fmt::format("rank {} failed in {}: {}", rank_, task_name(graph_, task), error.what()));
    }
    const WaitingRoom::Lock held = room_.lock();
    --running_;
    room_.changed();
}

/// What another rank or the waiting room found out is told as it is.
std::string RankRun::told(const TransportError& error, std::int32_t task) const {
    if (error.rank() != rank_ || room_.failure()) return error.what();
    return fmt::format("{}, in {} of rank {}", error.what(), task_name(graph_, task), rank_);
}

/// Not by joining: a thread in the waiting room is known to wait.
void RankRun::await_streams() {
    WaitingRoom::Lock held = room_.lock();
    try {
        room_.wait(
            held, [this] { return running_ == 0; }, [] { return std::string("its own streams"); });
    } catch (const TransportError&) {
        return;  // told by run
    }
}

RankSpans RankRun::run() {
    running_ = streams_.size();
    if (streams_.empty()) return result_;
    room_.expect(static_cast<int>(streams_.size()) - 1);
    std::vector<std::jthread> threads;
    threads.reserve(streams_.size() - 1);
    for (std::size_t s = 1; s < streams_.size(); ++s) {
        threads.emplace_back([this, s] {
            const WaitingRoom::Guest guest(room_, rank_);
            run_stream(*streams_[s]);
        });
    }
    run_stream(*streams_.front());
    await_streams();
    threads.clear();  // joins
    if (const auto failure = room_.failure()) throw TransportError(failure->rank, failure->reason);
    return std::move(result_);
}

}  // namespace

TaskRange tasks_of(const TaskGraph& graph, int simulated_rank) {
    TaskRange range{-1, -1};
    for (const Stream& stream : graph.streams) {
        if (stream.rank != simulated_rank) continue;
        if (range.first < 0) range.first = stream.first;
        range.last = stream.last;
    }
    return range.first < 0 ? TaskRange{0, 0} : range;
}

RankSpans execute(const TaskGraph& graph, int simulated_rank, int rank, WaitingRoom& room, const Perform& perform,
                  Recording recording) {
    return RankRun(graph, simulated_rank, rank, room, perform, recording).run();
}

}  // namespace foreshard::runtime
