#include "runtime/nccl/communicator_set.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "runtime/nccl/nccl_call.hpp"

namespace foreshard::runtime::nccl {

namespace {

ncclConfig_t non_blocking() {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    // A communicator that shares its parent's resources must not be used beside it: streams would hold each other up.
    config.splitShare = 0;
    return config;
}

constexpr int no_place = -1;

int place_of(int rank, const Communicator& communicator) {
    const auto& members = communicator.members;
    const auto found = std::find(members.begin(), members.end(), rank);
    return found == members.end() ? no_place : static_cast<int>(found - members.begin());
}

}  // namespace

CommunicatorSet::CommunicatorSet(const ncclUniqueId& id, int rank, int ranks, const std::vector<Communicator>& list,
                                 std::chrono::duration<double> timeout, std::function<void()> poll)
    : rank_(rank), timeout_(timeout), poll_(std::move(poll)) {
    try {
        make_all(id, ranks, list);
    } catch (...) {
        abort();
        throw;
    }
}

void CommunicatorSet::make_all(const ncclUniqueId& id, int ranks, const std::vector<Communicator>& list) {
    ncclConfig_t config = non_blocking();
    const ncclResult_t status = ncclCommInitRankConfig(&world_, ranks, id, rank_, &config);
    settle(world_, status, fmt::format("the communicator of all {} ranks", ranks));
    for (const std::vector<int>& round : split_rounds(list)) {
        int color = NCCL_SPLIT_NOCOLOR;
        int place = 0;
        for (const int c : round) {
            const int here = place_of(rank_, list[static_cast<std::size_t>(c)]);
            if (here == no_place) continue;
            color = c;
            place = here;
        }
        ncclComm_t made = nullptr;
        const ncclResult_t split = ncclCommSplit(world_, color, place, &made, &config);
        settle(world_, split, "a split of all ranks");
        if (color == NCCL_SPLIT_NOCOLOR) continue;
        const Communicator& name = list[static_cast<std::size_t>(color)];
        mine_.emplace_back(name, made);
        by_name_[name] = made;
        settle(made, ncclSuccess, to_string(name));
    }
    std::sort(mine_.begin(), mine_.end());
}

CommunicatorSet::~CommunicatorSet() {
    const std::lock_guard<std::mutex> held(mutex_);
    if (aborted_) return;
    // All ranks of a host come to this in the same order; a rank that is lost must not keep the others.
    const auto deadline = Clock::now() + std::chrono::seconds(10);
    std::vector<ncclComm_t> handles;
    handles.reserve(mine_.size() + 1);
    for (const auto& [name, handle] : mine_) handles.push_back(handle);
    if (world_ != nullptr) handles.push_back(world_);
    for (const ncclComm_t handle : handles) ncclCommFinalize(handle);
    for (const ncclComm_t handle : handles) {
        const auto ask = [handle] { return state_of(handle); };
        const bool ended = await_issue(ask, deadline - Clock::now(), [] {}) == ncclSuccess;
        if (ended) {
            ncclCommDestroy(handle);
        } else {
            ncclCommAbort(handle);
        }
    }
}

void CommunicatorSet::settle(ncclComm_t made, ncclResult_t status, const std::string& what) {
    if (status == ncclSuccess || status == ncclInProgress) {
        status = await_issue([made] { return state_of(made); }, timeout_, poll_);
    }
    if (status == ncclSuccess) return;
    if (status == ncclInProgress) {
        throw TransportError(rank_, fmt::format("rank {}: {} was not made within {:g} s: not all ranks came. Do all "
                                                "reach each other (NCCL_SOCKET_IFNAME, NCCL_DEBUG=INFO)?",
                                                rank_, what, timeout_.count()));
    }
    throw TransportError(rank_, fmt::format("rank {} cannot make {}: {}", rank_, what, error_text(status, made)));
}

ncclComm_t CommunicatorSet::find(const Communicator& communicator) const {
    const auto found = by_name_.find(communicator);
    if (found == by_name_.end()) throw std::logic_error("the plan has no communicator for " + to_string(communicator));
    return found->second;
}

ncclResult_t CommunicatorSet::state(ncclComm_t communicator) {
    const std::lock_guard<std::mutex> held(mutex_);
    return aborted_ ? ncclRemoteError : state_of(communicator);
}

std::string CommunicatorSet::asynchronous_error() {
    const std::lock_guard<std::mutex> held(mutex_);
    if (aborted_) return "";
    for (const auto& [name, handle] : mine_) {
        const ncclResult_t found = state_of(handle);
        if (found == ncclSuccess || found == ncclInProgress) continue;
        return fmt::format("{} on {}", error_text(found, handle), to_string(name));
    }
    return "";
}

void CommunicatorSet::abort() {
    const std::lock_guard<std::mutex> held(mutex_);
    if (aborted_) return;
    aborted_ = true;
    for (const auto& [name, handle] : mine_) ncclCommAbort(handle);
    if (world_ != nullptr) ncclCommAbort(world_);
}

}  // namespace foreshard::runtime::nccl
