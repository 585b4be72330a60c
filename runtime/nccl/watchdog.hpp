#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/cuda/stream.hpp"
#include "runtime/nccl/communicator_set.hpp"
#include "runtime/waiting_room.hpp"

namespace foreshard::runtime::nccl {

/// Looks from a thread of its own whether communication goes on. When NCCL reports an error, a call does not end in
/// time, or the job has failed elsewhere, it aborts all communicators of this rank: kernels that wait for others end,
/// and with them host threads that wait for the device.
class Watchdog {
public:
    /// @param job_failed throws TransportError when another rank has told that the job has failed
    /// @param failed is called once, with the reason
    Watchdog(int device, int rank, CommunicatorSet& communicators, std::chrono::duration<double> timeout,
             std::function<void()> job_failed, std::function<void(const Failure&)> failed);
    ~Watchdog();
    Watchdog(const Watchdog&) = delete;
    Watchdog& operator=(const Watchdog&) = delete;

    /// A call has been issued; it is what the text says. Not while the stream is captured: nothing runs then.
    void watch(cudaStream_t stream, const std::string& call);

    /// Ends the job on this rank. The first reason counts.
    void fail(const Failure& failure);
    std::optional<Failure> failure();

private:
    struct Watched {
        cuda::CudaEvent event;
        std::string call;
        std::chrono::steady_clock::time_point since;  ///< issued, or the call before it was done
    };

    void run(const std::stop_token& stop);
    std::optional<Failure> look();
    std::optional<Failure> look_at_calls();
    cuda::CudaEvent take_event();

    int device_;
    int rank_;
    CommunicatorSet& communicators_;
    std::chrono::duration<double> timeout_;
    std::function<void()> job_failed_;
    std::function<void(const Failure&)> failed_;
    std::mutex mutex_;
    std::condition_variable_any wake_;
    std::map<cudaStream_t, std::deque<Watched>> calls_;
    std::vector<cuda::CudaEvent> idle_;
    std::optional<Failure> failure_;
    std::jthread thread_;
};

}  // namespace foreshard::runtime::nccl
