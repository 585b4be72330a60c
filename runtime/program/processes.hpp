#pragma once

#include <memory>
#include <optional>

#include "runtime/environment.hpp"
#include "runtime/job_run.hpp"
#include "runtime/launch/store_session.hpp"
#include "runtime/nccl_session.hpp"
#include "runtime/program/run_options.hpp"

namespace foreshard::runtime {

/// How this process talks to the job's others, where ranks are processes: MPI or a store, and NCCL on top of it.
class Processes {
public:
    /// Meets the others where the options say so. @throws InputError, TransportError
    explicit Processes(const RunOptions& options);

    /// Whether each rank is a process.
    bool several() const { return mpi_ || store_; }
    int rank() { return several() ? control().rank() : 0; }
    /// Ordinal of this process's GPU, for backends that have one.
    int gpu() const { return nccl_ ? nccl_->device() : 0; }
    /// With host memory.
    Transport& control();
    /// Makes the plan's communicators, where NCCL carries the data. All ranks call it.
    void open_nccl(const Plan& plan);
    ProcessGroup group();
    void describe(Environment& environment) const;

    /// Ends this process after a failure, and with MPI all others; the others of a store know already.
    [[noreturn]] void end(int exit_code);

private:
    void check_job();

    const RunOptions& options_;
    std::optional<MpiSession> mpi_;
    std::optional<StoreSession> store_;
    std::optional<NcclSession> nccl_;
    int local_rank_ = 0;
    std::string launcher_;
};

}  // namespace foreshard::runtime
