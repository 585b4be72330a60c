#include "runtime/nccl/nccl_transport.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/cuda/check.hpp"
#include "runtime/exchange.hpp"
#include "runtime/nccl/nccl_call.hpp"

namespace foreshard::runtime::nccl {

namespace {

int place_in(std::span<const int> group, int rank) {
    return static_cast<int>(std::find(group.begin(), group.end(), rank) - group.begin());
}

std::string describe(const Communicator& name, const CommCall& call) {
    return fmt::format("{} of {} {} on {}", to_string(call.op), call.count,
                       call.type ? std::string(to_string(*call.type)) + " elements" : "bytes", to_string(name));
}

}  // namespace

NcclTransport::NcclTransport(Transport& control, CommunicatorSet& communicators, Watchdog& watchdog,
                             std::chrono::duration<double> timeout, CurrentQueue queue)
    : control_(control),
      communicators_(communicators),
      watchdog_(watchdog),
      timeout_(timeout),
      queue_(std::move(queue)) {}

void NcclTransport::throw_failure() {
    const auto failure = watchdog_.failure();
    if (!failure) return;
    leave_group();
    throw TransportError(failure->rank, failure->reason);
}

/// NCCL puts off what is called inside a group to its end, aborts as well.
void NcclTransport::leave_group() {
    if (!in_group()) return;
    grouping_ = std::thread::id();
    ncclGroupEnd();
}

void NcclTransport::refuse(const std::string& what, ncclResult_t status, ncclComm_t communicator) {
    throw_failure();  // an aborted communicator fails as well; the reason is what counts
    leave_group();
    const std::string reason =
        status == ncclInProgress
            ? fmt::format("rank {}: {} was not issued within {:g} s", rank(), what, timeout_.count())
            : fmt::format("rank {}: {}: {}", rank(), what, error_text(status, communicator));
    watchdog_.fail({rank(), reason});
    throw TransportError(rank(), reason);
}

Met NcclTransport::issue(const Communicator& name, const std::vector<CommCall>& calls) {
    throw_failure();
    const ncclComm_t communicator = communicators_.find(name);
    const cuda::Queue queue = queue_();
    const bool own_group = calls.size() > 1 && !in_group();
    if (own_group) begin_group();
    for (const CommCall& call : calls) {
        const ncclResult_t status = hand_over(call, communicator, queue);
        if (status != ncclSuccess && status != ncclInProgress) refuse(describe(name, call), status, communicator);
    }
    pending_.push_back({communicator, queue, describe(name, calls.front())});
    if (own_group) {
        end_group();
    } else if (!in_group()) {
        settle();
    }
    return {Clock::now()};
}

/// Until NCCL has put everything on the streams; nothing else may be enqueued on them before.
void NcclTransport::settle() {
    for (const Pending& pending : pending_) {
        const auto ask = [&] { return communicators_.state(pending.communicator); };
        const ncclResult_t state = await_issue(ask, timeout_, [this] { throw_failure(); });
        if (state != ncclSuccess) refuse(pending.call, state, pending.communicator);
    }
    for (const Pending& pending : pending_) watchdog_.watch(pending.queue, pending.call);
    pending_.clear();
}

void NcclTransport::begin_group() {
    check(ncclGroupStart(), "ncclGroupStart");
    grouping_ = std::this_thread::get_id();
}

void NcclTransport::end_group() {
    grouping_ = std::thread::id();
    const ncclResult_t status = ncclGroupEnd();
    if (status != ncclSuccess && status != ncclInProgress) {
        refuse("a group of calls", status, pending_.empty() ? nullptr : pending_.front().communicator);
    }
    settle();
}

/// A group of one rank needs no communicator.
void NcclTransport::copy_own(std::span<const std::byte> from, std::span<std::byte> to) {
    if (from.empty() || from.data() == to.data()) return;
    cuda::check(cudaMemcpyAsync(to.data(), from.data(), from.size(), cudaMemcpyDeviceToDevice, queue_()),
                "cudaMemcpyAsync");
}

Met NcclTransport::send(Channel channel, int peer, std::span<const std::byte> data) {
    if (channel == control_channel) return control_.send(channel, peer, data);
    return issue(message_communicator(channel, rank(), peer), {send_call(data, 1)});
}

Met NcclTransport::receive(Channel channel, int peer, std::span<std::byte> data) {
    if (channel == control_channel) return control_.receive(channel, peer, data);
    return issue(message_communicator(channel, peer, rank()), {receive_call(data, 0)});
}

Met NcclTransport::all_reduce(Channel channel, std::span<const int> group, Elements data, Reduction reduction) {
    if (channel == control_channel) return control_.all_reduce(channel, group, data, reduction);
    if (group.size() == 1) return {Clock::now()};
    return issue(group_communicator(channel, group), {all_reduce_call(data, reduction)});
}

Met NcclTransport::all_gather(Channel channel, std::span<const int> group, std::span<const std::byte> mine,
                              Elements all) {
    if (channel == control_channel) return control_.all_gather(channel, group, mine, all);
    if (group.size() == 1) {
        copy_own(mine, all.bytes);
        return {Clock::now()};
    }
    return issue(group_communicator(channel, group),
                 all_gather_calls(mine, all, static_cast<int>(group.size()), place_in(group, rank())));
}

Met NcclTransport::reduce_scatter(Channel channel, std::span<const int> group, Elements all, Elements mine) {
    if (channel == control_channel) return control_.reduce_scatter(channel, group, all, mine);
    if (group.size() == 1) {
        copy_own(all.bytes, mine.bytes);
        return {Clock::now()};
    }
    return issue(group_communicator(channel, group),
                 reduce_scatter_calls(all, mine, static_cast<int>(group.size()), place_in(group, rank())));
}

Met NcclTransport::broadcast(Channel channel, std::span<const int> group, int root, Elements data) {
    if (channel == control_channel) return control_.broadcast(channel, group, root, data);
    if (group.size() == 1) return {Clock::now()};
    return issue(group_communicator(channel, group), {broadcast_call(data, place_in(group, root))});
}

Met NcclTransport::barrier(Channel channel, std::span<const int> group) {
    return control_.barrier(channel, group);
}

void NcclTransport::abort(const std::string& reason) {
    leave_group();
    watchdog_.fail({rank(), reason});
}

void NcclTransport::warm_up() {
    constexpr std::size_t bytes = 8;
    cuda::CudaStream stream(cuda::Priority::high);
    std::byte* buffer = nullptr;
    cuda::check(cudaMalloc(reinterpret_cast<void**>(&buffer), bytes), "cudaMalloc");
    const std::unique_ptr<std::byte, decltype(&cudaFree)> owner(buffer, &cudaFree);
    const std::span<std::byte> data(buffer, bytes);
    const CurrentQueue before = std::exchange(queue_, [&stream] { return stream.get(); });
    for (const auto& [name, handle] : communicators_.mine()) {
        const bool sends = name.members.front() == rank();
        if (!name.message) {
            issue(name, {all_reduce_call({data, ElementType::fp32}, Reduction::sum)});
        } else {
            issue(name, {sends ? send_call(data, 1) : receive_call(data, 0)});
        }
        stream.synchronize();
    }
    queue_ = before;
    throw_failure();
}

}  // namespace foreshard::runtime::nccl
