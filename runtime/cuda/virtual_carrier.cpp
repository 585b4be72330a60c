#include "runtime/cuda/virtual_carrier.hpp"

#include <set>
#include <stdexcept>

#include <fmt/format.h>

#include "runtime/cuda/bodies/group_reduce.hpp"
#include "runtime/cuda/check.hpp"
#include "runtime/cuda/current_queue.hpp"
#include "runtime/cuda/group_kernels.hpp"
#include "runtime/cuda/stream.hpp"

namespace foreshard::runtime::cuda {

namespace {

Queue queue_of(const MemberCall& call) {
    return static_cast<Queue>(call.queue);
}

void copy(Queue queue, std::span<const std::byte> from, std::span<std::byte> to) {
    if (from.empty() || from.data() == to.data()) return;
    check(cudaMemcpyAsync(to.data(), from.data(), from.size(), cudaMemcpyDeviceToDevice, queue), "cudaMemcpyAsync");
}

void gather(Queue queue, const std::vector<MemberCall>& calls) {
    for (const MemberCall& reader : calls) {
        std::size_t offset = 0;
        for (const MemberCall& writer : calls) {
            copy(queue, writer.input, reader.output.subspan(offset, writer.input.size()));
            offset += writer.input.size();
        }
    }
}

void broadcast(Queue queue, const std::vector<MemberCall>& calls) {
    const std::span<const std::byte> data = calls[static_cast<std::size_t>(calls.front().root)].input;
    for (const MemberCall& call : calls) copy(queue, data, call.output);
}

void reduce(Queue queue, const std::vector<MemberCall>& calls) {
    if (calls.size() > static_cast<std::size_t>(most_members)) {
        throw std::runtime_error(
            fmt::format("a group of {} virtual ranks; at most {} can be added up", calls.size(), most_members));
    }
    group_reduce(queue, calls);
}

void enqueue(Queue queue, const std::vector<MemberCall>& calls) {
    switch (calls.front().kind) {
        case CallKind::message:
            return copy(queue, calls[0].input, calls[1].output);
        case CallKind::all_gather:
            return gather(queue, calls);
        case CallKind::all_reduce:
        case CallKind::reduce_scatter:
            return reduce(queue, calls);
        case CallKind::broadcast:
            return broadcast(queue, calls);
        case CallKind::barrier:
            return;
    }
}

/// Work on `behind` starts when all that `queue` holds now is done.
void follow(Queue behind, Queue queue) {
    const CudaEvent event(Timing::off);
    check(cudaEventRecord(event.get(), queue), "cudaEventRecord");
    check(cudaStreamWaitEvent(behind, event.get(), 0), "cudaStreamWaitEvent");
}

/// Members that share a queue are in order already.
void carry(std::vector<MemberCall>& calls) {
    const Queue queue = current_queue();
    std::set<Queue> others;
    for (const MemberCall& call : calls) others.insert(queue_of(call));
    others.erase(queue);
    for (const Queue other : others) follow(queue, other);
    enqueue(queue, calls);
    for (const Queue other : others) follow(other, queue);
}

}  // namespace

Carrier virtual_carrier() {
    return {carry, [] { return static_cast<void*>(current_queue()); }};
}

}  // namespace foreshard::runtime::cuda
