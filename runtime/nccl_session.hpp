#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/comm/communicators.hpp"
#include "runtime/cuda/queue.hpp"

/// This process as a rank of NCCL. Where the program was built without NCCL, opening one is refused.
namespace foreshard::runtime {

bool has_nccl();

/// What an NCCL session stands on.
struct NcclGround {
    Transport& control;                ///< between the same ranks, with host memory
    int local_rank = 0;                ///< among the processes of this host
    std::function<void()> job_failed;  ///< throws TransportError when another rank has told that the job has failed
    std::chrono::duration<double> timeout{300};
};

class NcclSession {
public:
    /// Takes the GPU of the local rank, and makes all communicators together with the other ranks.
    /// @throws InputError when there is no such GPU, or two ranks have one and the library does not allow it;
    ///         TransportError when ranks do not find each other
    NcclSession(const NcclGround& ground, const std::vector<Communicator>& communicators);
    ~NcclSession();
    NcclSession(const NcclSession&) = delete;
    NcclSession& operator=(const NcclSession&) = delete;

    /// Calls enqueue on the queue that is current on the calling thread (runtime/cuda/current_queue.hpp).
    Transport& transport();
    std::string library() const;  ///< "NCCL 2.28.9"
    int device() const;

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace foreshard::runtime
