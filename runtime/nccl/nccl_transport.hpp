#pragma once

#include <atomic>
#include <functional>
#include <thread>

#include "runtime/comm/comm_call.hpp"
#include "runtime/cuda/queue.hpp"
#include "runtime/nccl/watchdog.hpp"

/// Transport over NCCL: one process per GPU. Calls take device memory and enqueue on the calling thread's queue; Met
/// says nothing, since the host is ahead of the device. Calls on the control channel, and barriers, are the control
/// transport's, with host memory.
namespace foreshard::runtime::nccl {

class NcclTransport final : public Transport {
public:
    /// The queue that calls of the calling thread enqueue on.
    using CurrentQueue = std::function<cuda::Queue()>;

    NcclTransport(Transport& control, CommunicatorSet& communicators, Watchdog& watchdog,
                  std::chrono::duration<double> timeout, CurrentQueue queue);

    int rank() const override { return control_.rank(); }
    int size() const override { return control_.size(); }
    Met send(Channel channel, int peer, std::span<const std::byte> data) override;
    Met receive(Channel channel, int peer, std::span<std::byte> data) override;
    Met all_reduce(Channel channel, std::span<const int> group, Elements data, Reduction reduction) override;
    Met all_gather(Channel channel, std::span<const int> group, std::span<const std::byte> mine, Elements all) override;
    Met reduce_scatter(Channel channel, std::span<const int> group, Elements all, Elements mine) override;
    Met broadcast(Channel channel, std::span<const int> group, int root, Elements data) override;
    Met barrier(Channel channel, std::span<const int> group) override;
    void begin_group() override;
    void end_group() override;
    void abort(const std::string& reason) override;

    /// One small call on every communicator of this rank, so that connections are made before the first step.
    void warm_up();

private:
    /// Handed over, and not known to be issued yet.
    struct Pending {
        ncclComm_t communicator;
        cuda::Queue queue;
        std::string call;
    };

    Met issue(const Communicator& name, const std::vector<CommCall>& calls);
    void copy_own(std::span<const std::byte> from, std::span<std::byte> to);
    void settle();
    void throw_failure();
    bool in_group() const { return grouping_ == std::this_thread::get_id(); }
    void leave_group();
    [[noreturn]] void refuse(const std::string& what, ncclResult_t status, ncclComm_t communicator);

    Transport& control_;
    CommunicatorSet& communicators_;
    Watchdog& watchdog_;
    std::chrono::duration<double> timeout_;
    CurrentQueue queue_;
    std::atomic<std::thread::id> grouping_ = std::thread::id();  ///< groups are the thread's that begins them
    std::vector<Pending> pending_;
};

}  // namespace foreshard::runtime::nccl
