#pragma once

#include <chrono>
#include <functional>

#include <nccl.h>

#include "runtime/comm/comm_call.hpp"

/// Single calls of NCCL. All communicators are non-blocking: a call that returns has not always been issued yet.
namespace foreshard::runtime::nccl {

/// For calls outside communicators. @throws DeviceError with the caller's line
void check(ncclResult_t status, const char* call, const char* file = __builtin_FILE(), int line = __builtin_LINE());

/// Hands a call over; inside a group nothing is issued before its end. The status may be ncclInProgress.
ncclResult_t hand_over(const CommCall& call, ncclComm_t communicator, cudaStream_t stream);

/// What the communicator says went wrong: NCCL's name of the error and its last message.
std::string error_text(ncclResult_t status, ncclComm_t communicator);

/// How far a communicator is.
ncclResult_t state_of(ncclComm_t communicator);

/// Waits on the host until what was handed over has been issued; not for the device.
/// @param state asks how far the communicator is
/// @param poll is called between looks; may throw
/// @returns ncclInProgress when it had not been issued within `timeout`
ncclResult_t await_issue(const std::function<ncclResult_t()>& state, std::chrono::duration<double> timeout,
                         const std::function<void()>& poll);

}  // namespace foreshard::runtime::nccl
