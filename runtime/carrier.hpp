#pragma once

#include <functional>
#include <vector>

#include "runtime/transport.hpp"

/// What threads bring to a meeting, and who does the work of it.
namespace foreshard::runtime {

enum class CallKind : std::uint8_t { message, all_reduce, all_gather, reduce_scatter, broadcast, barrier };
const char* name_of(CallKind kind);

/// Of a message the first call is the sender's, the second the receiver's; of a collective they are in the order of
/// ranks.
struct MemberCall {
    CallKind kind = CallKind::barrier;
    std::span<const std::byte> input;
    std::span<std::byte> output;
    ElementType type = ElementType::fp32;
    Reduction reduction = Reduction::sum;
    bool here = false;
    void* queue = nullptr;  ///< where memory is a GPU's: the caller's CUDA stream
    int root = -1;          ///< of a broadcast, its place among the calls
};

/// Does the work of calls that fit together, on the thread of the last member while all others wait.
struct Carrier {
    std::function<void(std::vector<MemberCall>&)> carry;
    std::function<void*()> queue;  ///< of the calling thread; empty where memory is the host's
};

/// Copies and adds at once, in the order of ranks.
void carry_on_host(std::vector<MemberCall>& calls);

}  // namespace foreshard::runtime
