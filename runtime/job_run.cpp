#include "runtime/job_run.hpp"

#include <csignal>
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

/// Trains one rank, and compares it when asked for.
void run_rank(const Plan& plan, const JobOptions& options, Transport& transport, WaitingRoom& room,
              const Reference& reference, RankRecord& record, std::optional<Comparison>& comparison,
              const Progress& progress) {
    const std::unique_ptr<Device> device = make_device(options.train, plan, transport.rank());
    RankTrainer trainer(plan, options.train, *device, transport, room);
    trainer.run(record, progress);
    if (!options.check) return;
    const Comparison mine = compare(trainer.whole_model(), *device, transport, record, reference);
    if (transport.rank() == 0) comparison = mine;
}

void name_tasks(WaitingRoom& room, const TaskGraph& graph) {
    room.name_tasks([&graph](int task) { return task_name(graph, task); });
}

/// Calls listener.stuck when the room has failed and nobody stopped this watch for a while.
class Watch {
public:
    Watch(WaitingRoom& room, const Outcome& outcome, const Listener& listener)
        : thread_([&room, &outcome, &listener](const std::stop_token& stop) {
              std::optional<Clock::time_point> failed;
              while (!stop.stop_requested()) {
                  std::this_thread::sleep_for(std::chrono::milliseconds(20));
                  if (!failed && room.failure()) failed = Clock::now();
                  if (!failed || Clock::now() - *failed < patience_after_failure || !listener.stuck) continue;
                  Outcome told = outcome;
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
    ProcessWatch(WaitingRoom& room, const ProcessGroup& group, const Outcome& outcome, const Listener& listener)
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
                  Outcome told = outcome;
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
    Outcome outcome;
    outcome.ranks.resize(static_cast<std::size_t>(ranks));
    outcome.clocks.resize(static_cast<std::size_t>(ranks));
    const Reference reference =
        options.check ? run_reference(plan.job, options.train, steps_run(plan, options.train)) : Reference{};
    ThreadsWorld world(ranks, options.timeout, options.carrier);
    name_tasks(world.room(), plan.graph);
    const Watch watch(world.room(), outcome, listener);
    try {
        run_ranks(world, ranks, [&](Transport& transport) {
            const Progress silent = [](const RunRecord&) {};
            run_rank(plan, options, transport, world.room(), reference,
                     outcome.ranks[static_cast<std::size_t>(transport.rank())], outcome.comparison,
                     transport.rank() == 0 ? listener.progress : silent);
        });
    } catch (const TransportError& error) {
        outcome.failure = Failure{error.rank(), error.what()};
    }
    return outcome;
}

Outcome run_as_process(const Plan& plan, const JobOptions& options, const ProcessGroup& group,
                       const Listener& listener) {
    Transport& transport = group.transport;
    if (transport.size() != plan.ranks.count()) {
        throw InputError("the job", "",
                         fmt::format("{} processes, but the plan has {} ranks: start {} (mpirun -np {})",
                                     transport.size(), plan.ranks.count(), plan.ranks.count(), plan.ranks.count()));
    }
    Outcome outcome;
    outcome.ranks.resize(1);
    // Communication ends at the timeout, which says whom it waits for; tasks behind it wait a little longer.
    WaitingRoom room(options.timeout * 1.5);
    room.expect(1);
    const WaitingRoom::Guest guest(room, transport.rank());
    name_tasks(room, plan.graph);
    const ProcessWatch watch(room, group, outcome, listener);
    try {
        const ClockOffset clock = group.measure_clock();
        Reference reference;
        if (options.check && transport.rank() == 0) {
            reference = run_reference(plan.job, options.train, steps_run(plan, options.train));
        }
        if (options.check) reference = share_reference(transport, reference);
        const Progress silent = [](const RunRecord&) {};
        run_rank(plan, options, transport, room, reference, outcome.ranks.front(), outcome.comparison,
                 transport.rank() == 0 ? listener.progress : silent);
        const RankRecord own = std::move(outcome.ranks.front());
        outcome.ranks.clear();
        for (const std::vector<std::byte>& told : tell_all(transport, to_bytes(own, clock))) {
            TimedRecord timed = from_bytes(told);
            for (std::size_t i = 0; i < own.runs.size(); ++i) timed.record.runs[i].losses = own.runs[i].losses;
            outcome.ranks.push_back(std::move(timed.record));
            outcome.clocks.push_back(timed.clock);
        }
    } catch (const TransportError& error) {
        outcome.failure = Failure{error.rank(), error.what()};
        transport.abort(error.what());
    } catch (const std::bad_alloc& error) {
        outcome.failure = Failure{transport.rank(), error.what()};
        transport.abort(error.what());
    }
    return outcome;
}

}  // namespace foreshard::runtime
