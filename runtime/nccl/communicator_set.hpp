#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <vector>

#include <nccl.h>

#include "runtime/comm/communicators.hpp"

namespace foreshard::runtime::nccl {

/// This rank's handles of the world and of all communicators of a plan that it is in. Made by all ranks together, in
/// the order of the list, so that none is made on first use, when ranks might come to them in different orders.
class CommunicatorSet {
public:
    /// @param poll is called while it waits for other ranks; may throw
    /// @throws TransportError when NCCL fails, or other ranks do not come in time
    CommunicatorSet(const ncclUniqueId& id, int rank, int ranks, const std::vector<Communicator>& list,
                    std::chrono::duration<double> timeout, std::function<void()> poll);
    /// Ends communication that is still under way, if there is any.
    ~CommunicatorSet();
    CommunicatorSet(const CommunicatorSet&) = delete;
    CommunicatorSet& operator=(const CommunicatorSet&) = delete;

    /// @throws std::logic_error when the plan's list does not have it
    ncclComm_t find(const Communicator& communicator) const;
    /// This rank's, in the order of the list; the world is not among them.
    const std::vector<std::pair<Communicator, ncclComm_t>>& mine() const { return mine_; }

    /// How far one of them is; an aborted one has failed. From any thread, also while another aborts.
    ncclResult_t state(ncclComm_t communicator);

    /// The first error that NCCL found by itself; empty for none, and after abort.
    std::string asynchronous_error();
    /// Makes kernels that wait for other ranks end. May be called from any thread, once or more.
    void abort();

private:
    void make_all(const ncclUniqueId& id, int ranks, const std::vector<Communicator>& list);
    void settle(ncclComm_t made, ncclResult_t status, const std::string& what);

    int rank_;
    std::chrono::duration<double> timeout_;
    std::function<void()> poll_;
    std::mutex mutex_;
    bool aborted_ = false;
    ncclComm_t world_ = nullptr;
    std::vector<std::pair<Communicator, ncclComm_t>> mine_;
    std::map<Communicator, ncclComm_t> by_name_;
};

}  // namespace foreshard::runtime::nccl
