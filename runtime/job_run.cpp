#include "runtime/job_run.hpp"

#include <csignal>
#include <mutex>
#include <thread>

#include <fmt/format.h>

#include "runtime/exchange.hpp"
#include "runtime/record_bytes.hpp"
#include "runtime/threads_transport.hpp"
#include "sim/error.hpp"

namespace foreshard::runtime {

namespace {

/// Threads that hang in a computation or in the system cannot be ended from outside.
constexpr std::chrono::seconds patience_after_failure{10};

int steps_run(const Plan& plan, const TrainOptions& options) {
    const int steps = plan.graph.steps;
    return (options.warmup + options.steps + steps - 1) / steps * steps;
}

/// What rank threads add to while a watch may have to tell it.
class SharedOutcome {
public:
    /// The caller's record is the only one that it may touch outside change().
    Outcome& of_ranks() { return outcome_; }
    std::mutex& guard() { return guard_; }

    template <class Change>
    void change(const Change& make) {
        const std::lock_guard lock(guard_);
        make(outcome_);
    }
    Outcome copy() {
        const std::lock_guard lock(guard_);
        return outcome_;
    }

private:
    std::mutex guard_;
    Outcome outcome_;
};

/// Trains one rank, and compares it when asked for.
void run_rank(const Plan& plan, const JobOptions& options, Transport& transport, WaitingRoom& room,
              const Reference& reference, RankRecord& record, SharedOutcome& outcome, const Progress& progress) {
    const std::unique_ptr<Device> device = make_device(options.train, plan, transport.rank());
    RankTrainer trainer(plan, options.train, *device, transport, room);
    trainer.run(record, outcome.guard(), progress);
    if (!options.check) return;
    const Comparison mine = compare(trainer.whole_model(), *device, transport, record, reference);
    if (transport.rank() == 0) outcome.change([&](Outcome& known) { known.comparison = mine; });
}

void name_tasks(WaitingRoom& room, const TaskGraph& graph) {
    room.name_tasks([&graph](int task) { return task_name(graph, task); });
}

/// Calls listener.stuck when the room has failed and nobody stopped this watch for a while.
class Watch {
public:
    Watch(WaitingRoom& room, SharedOutcome& outcome, const Listener& listener)
        : thread_([&room, &outcome, &listener](const std::stop_token& stop) {
              std::optional<Clock::time_point> failed;
              while (!stop.stop_requested()) {
                  std::this_thread::sleep_for(std::chrono::milliseconds(20));
                  if (!failed && room.failure()) failed = Clock::now();
                  if (!failed || Clock::now() - *failed < patience_after_failure || !listener.stuck) continue;
                  Outcome told = outcome.copy();
                  told.failure = room.failure();
                  listener.stuck(told);
              }
          }) {}

private:
    std::jthread thread_;
};

/// Ends communication of all ranks when this one has failed, since threads of it may wait for other ranks that wait for
/// it; calls listener.stuck when the process is told to end.
class ProcessWatch {
public:
    ProcessWatch(WaitingRoom& room, const ProcessGroup& group, SharedOutcome& outcome, const Listener& listener)
        : thread_([&](const std::stop_token& stop) {
              sigset_t signals;
              sigemptyset(&signals);
              sigaddset(&signals, SIGTERM);
              const timespec moment{0, 50'000'000};
              bool aborted = false;
              while (!stop.stop_requested()) {
                  const std::optional<Failure> failure = room.failure();
                  if (failure && !aborted) group.transport.abort(failure->reason);
                  aborted = failure.has_value();
                  if (sigtimedwait(&signals, nullptr, &moment) != SIGTERM || !listener.stuck) continue;
                  const int rank = group.transport.rank();
                  const std::string waits = group.waits();
                  Outcome told = outcome.copy();
                  told.failure = Failure{
                      rank, fmt::format("rank {} was told to end, as happens when another process is lost; it waited "
                                        "for {}. {}",
                                        rank, waits.empty() ? "nobody" : waits, room.describe())};
                  listener.stuck(told);
              }
          }) {}

private:
    std::jthread thread_;
};

}  // namespace

Outcome run_as_threads(const Plan& plan, const JobOptions& options, const Listener& listener) {
    const int ranks = plan.ranks.count();
    SharedOutcome outcome;
    outcome.change([&](Outcome& known) {
        known.ranks.resize(static_cast<std::size_t>(ranks));
        known.clocks.resize(static_cast<std::size_t>(ranks));
    });
    const Reference reference =
        options.check ? run_reference(plan.job, options.train, steps_run(plan, options.train)) : Reference{};
    ThreadsWorld world(ranks, options.timeout, options.carrier);
    name_tasks(world.room(), plan.graph);
    const Watch watch(world.room(), outcome, listener);
    try {
        run_ranks(world, ranks, [&](Transport& transport) {
            const Progress silent = [](const RunRecord&) {};
            run_rank(plan, options, transport, world.room(), reference,
                     outcome.of_ranks().ranks[static_cast<std::size_t>(transport.rank())], outcome,
                     transport.rank() == 0 ? listener.progress : silent);
        });
    } catch (const TransportError& error) {
        outcome.change([&](Outcome& known) { known.failure = Failure{error.rank(), error.what()}; });
    }
    return outcome.copy();
}

namespace {

/// The records of all ranks, on the clock of rank 0; called by all.
void share_records(Transport& transport, const ClockOffset& clock, SharedOutcome& outcome) {
    const RankRecord own = outcome.copy().ranks.front();
    Outcome all;
    for (const std::vector<std::byte>& told : tell_all(transport, to_bytes(own, clock))) {
        TimedRecord timed = from_bytes(told);
        for (std::size_t i = 0; i < own.runs.size(); ++i) timed.record.runs[i].losses = own.runs[i].losses;
        all.ranks.push_back(std::move(timed.record));
        all.clocks.push_back(timed.clock);
    }
    outcome.change([&](Outcome& known) {
        known.ranks = std::move(all.ranks);
        known.clocks = std::move(all.clocks);
    });
}

}  // namespace

Outcome run_as_process(const Plan& plan, const JobOptions& options, const ProcessGroup& group,
                       const Listener& listener) {
    Transport& transport = group.transport;
    if (transport.size() != plan.ranks.count()) {
        throw InputError("the job", "",
                         fmt::format("{} processes, but the plan has {} ranks: start {} (mpirun -np {})",
                                     transport.size(), plan.ranks.count(), plan.ranks.count(), plan.ranks.count()));
    }
    SharedOutcome outcome;
    outcome.change([](Outcome& known) { known.ranks.resize(1); });
    // Communication ends at the timeout, which says whom it waits for; tasks behind it wait a little longer.
    WaitingRoom room(options.timeout * 1.5);
    room.expect(1);
    const WaitingRoom::Guest guest(room, transport.rank());
    name_tasks(room, plan.graph);
    const ProcessWatch watch(room, group, outcome, listener);
    const auto fail = [&](int rank, const char* what) {
        outcome.change([&](Outcome& known) { known.failure = Failure{rank, what}; });
        transport.abort(what);
    };
    try {
        const ClockOffset clock = group.measure_clock();
        Reference reference;
        if (options.check && transport.rank() == 0) {
            reference = run_reference(plan.job, options.train, steps_run(plan, options.train));
        }
        if (options.check) reference = share_reference(transport, reference);
        const Progress silent = [](const RunRecord&) {};
        run_rank(plan, options, transport, room, reference, outcome.of_ranks().ranks.front(), outcome,
                 transport.rank() == 0 ? listener.progress : silent);
        share_records(transport, clock, outcome);
    } catch (const TransportError& error) {
        fail(error.rank(), error.what());
    } catch (const std::bad_alloc& error) {
        fail(transport.rank(), error.what());
    }
    return outcome.copy();
}

}  // namespace foreshard::runtime
