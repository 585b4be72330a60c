#include "runtime/nccl/nccl_call.hpp"

#include <thread>

#include <fmt/format.h>

#include "runtime/cuda/check.hpp"

namespace foreshard::runtime::nccl {

namespace {

ncclDataType_t data_type(const CommCall& call) {
    if (!call.type) return ncclUint8;
    switch (*call.type) {
        case ElementType::fp32:
            return ncclFloat32;
        case ElementType::fp64:
            return ncclFloat64;
        case ElementType::bf16:
            return ncclBfloat16;
    }
    return ncclUint8;
}

ncclRedOp_t operation(const CommCall& call) {
    return call.reduction == Reduction::sum ? ncclSum : ncclMax;
}

}  // namespace

void check(ncclResult_t status, const char* call, const char* file, int line) {
    if (status != ncclSuccess) cuda::fail(call, ncclGetErrorString(status), file, line);
}

ncclResult_t hand_over(const CommCall& call, ncclComm_t communicator, cudaStream_t stream) {
    const auto count = static_cast<std::size_t>(call.count);
    const ncclDataType_t type = data_type(call);
    switch (call.op) {
        case CommOp::send:
            return ncclSend(call.from, count, type, call.peer, communicator, stream);
        case CommOp::receive:
            return ncclRecv(call.to, count, type, call.peer, communicator, stream);
        case CommOp::all_reduce:
            return ncclAllReduce(call.from, call.to, count, type, operation(call), communicator, stream);
        case CommOp::all_gather:
            return ncclAllGather(call.from, call.to, count, type, communicator, stream);
        case CommOp::reduce_scatter:
            return ncclReduceScatter(call.from, call.to, count, type, operation(call), communicator, stream);
        case CommOp::broadcast:
            return ncclBroadcast(call.from, call.to, count, type, call.peer, communicator, stream);
        case CommOp::reduce:
            return ncclReduce(call.from, call.to, count, type, operation(call), call.peer, communicator, stream);
    }
    return ncclInvalidArgument;
}

std::string error_text(ncclResult_t status, ncclComm_t communicator) {
    const char* last = communicator == nullptr ? nullptr : ncclGetLastError(communicator);
    return fmt::format("NCCL: {} ({})", ncclGetErrorString(status), last == nullptr ? "no more is known" : last);
}

ncclResult_t state_of(ncclComm_t communicator) {
    ncclResult_t state = ncclSuccess;
    const ncclResult_t asked = ncclCommGetAsyncError(communicator, &state);
    return asked == ncclSuccess ? state : asked;
}

ncclResult_t await_issue(const std::function<ncclResult_t()>& state, std::chrono::duration<double> timeout,
                         const std::function<void()>& poll) {
    constexpr int quick_looks = 200;  // mostly it is a matter of microseconds
    constexpr std::chrono::microseconds pause{100};
    const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(timeout);
    for (int look = 0;; ++look) {
        const ncclResult_t now = state();
        if (now != ncclInProgress || Clock::now() > deadline) return now;
        poll();
        if (look > quick_looks) std::this_thread::sleep_for(pause);
    }
}

}  // namespace foreshard::runtime::nccl
