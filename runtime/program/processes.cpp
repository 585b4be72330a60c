#include "runtime/program/processes.hpp"

#include <csignal>
#include <cstdlib>

#include <fmt/format.h>
#include <unistd.h>

#include "runtime/exchange.hpp"
#include "sim/error.hpp"

namespace foreshard::runtime {

namespace {

constexpr const char* through_mpi = "mpi";

/// SIGTERM is waited for by a thread of its own. To be called before any thread starts, since threads inherit it.
void block_termination() {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

/// Processes that each have a rank from an MPI launcher, and a local one if it tells.
int local_rank_from_launcher() {
    try {
        return read_launch({}, process_variables()).local_rank;
    } catch (const InputError&) {
        return 0;
    }
}

}  // namespace

Processes::Processes(const RunOptions& options) : options_(options) {
    if (options.comm == Comm::threads || options.comm == Comm::virtual_ranks) return;
    block_termination();
    const auto timeout = std::chrono::duration<double>(options.timeout_s);
    const bool by_mpi = options.comm == Comm::mpi || (options.comm == Comm::nccl && options.rendezvous == through_mpi);
    if (by_mpi) {
        mpi_.emplace(timeout);
        local_rank_ = options.launch.local_rank.value_or(local_rank_from_launcher());
        return;
    }
    const LaunchEnvironment launch = read_launch(options.launch, process_variables());
    std::optional<std::string> folder;
    if (options.rendezvous != "tcp") folder = options.rendezvous;
    store_.emplace(launch, folder, timeout);
    local_rank_ = launch.local_rank;
    launcher_ = fmt::format("{}, rank {} of {}, store {}", launch.source, launch.rank, launch.ranks, store_->where());
}

Transport& Processes::control() {
    return mpi_ ? mpi_->transport() : store_->transport();
}

/// Throws when another rank has told that the job has failed.
void Processes::check_job() {
    if (store_) {
        store_->check();
    } else {
        mpi_->check();
    }
}

void Processes::open_nccl(const Plan& plan) {
    if (options_.comm != Comm::nccl) return;
    NcclGround ground{control(), local_rank_, [this] { check_job(); },
                      std::chrono::duration<double>(options_.timeout_s)};
    nccl_.emplace(ground, communicators_of(plan.job, plan.graph, plan.ranks));
}

ProcessGroup Processes::group() {
    ProcessGroup group{nccl_ ? nccl_->transport() : control(), nullptr, nullptr};
    if (mpi_) {
        group.measure_clock = [this] { return mpi_->measure_clock(); };
        group.waits = [this] { return mpi_->waits(); };
    } else {
        group.measure_clock = [this] { return store_->measure_clock(); };
        group.waits = [this] { return store_->waits(); };
    }
    return group;
}

void Processes::describe(Environment& environment) const {
    if (mpi_) environment.mpi = mpi_->library();
    if (nccl_) {
        environment.nccl = nccl_->library();
        environment.variables = recorded_variables(environ);  // opening it may set some
    }
    environment.launcher = launcher_;
}

void Processes::end(int exit_code) {
    if (mpi_) mpi_->kill(exit_code);
    store_.reset();  // rank 0 stays until the others have heard of it
    std::_Exit(exit_code);
}

}  // namespace foreshard::runtime
