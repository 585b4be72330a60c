#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "runtime/transport.hpp"

/// This process as a rank of an MPI job. Where the program was built without MPI, opening one is refused.
namespace foreshard::runtime {

/// Whether the program was built with MPI.
bool has_mpi();

/// Of this process's clock against rank 0's.
struct ClockOffset {
    std::chrono::nanoseconds ahead{};     ///< this clock minus rank 0's
    std::chrono::nanoseconds residual{};  ///< half the shortest round trip: the offset is known to within this
};

class MpiSession {
public:
    /// Starts MPI. @param timeout of every call of the transport
    /// @throws InputError when there is no MPI, or it cannot serve several threads
    explicit MpiSession(std::chrono::duration<double> timeout);
    /// Ends MPI; all ranks must come to it.
    ~MpiSession();
    MpiSession(const MpiSession&) = delete;
    MpiSession& operator=(const MpiSession&) = delete;

    Transport& transport();
    /// By ping-pong with rank 0; all ranks call it, before anything else.
    ClockOffset measure_clock();
    /// What threads of this rank wait for, empty for nothing: "rank 1 (message of 32 bytes on pp)".
    std::string waits();
    void check();                 ///< @throws TransportError when the job has failed
    std::string library() const;  ///< "Open MPI v4.1.4"

    /// Ends this process and all others of the job at once.
    [[noreturn]] void kill(int exit_code);

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace foreshard::runtime
