#pragma once

#include <optional>
#include <vector>

#include "runtime/transport.hpp"

/// Calls of a transport as calls of a library whose collectives want equal parts, as NCCL's do.
namespace foreshard::runtime {

enum class CommOp : std::uint8_t { send, receive, all_reduce, all_gather, reduce_scatter, broadcast, reduce };
const char* to_string(CommOp op);

struct CommCall {
    CommOp op = CommOp::send;
    const std::byte* from = nullptr;
    std::byte* to = nullptr;
    std::int64_t count = 0;           ///< as the library counts it: of a gather or scatter elements of one part
    std::optional<ElementType> type;  ///< none: bytes
    Reduction reduction = Reduction::sum;
    int peer = -1;  ///< of a message the other's, of broadcast and reduce the root's place among the members
};

/// Precondition of all: `place` is the caller's among `members`.
CommCall send_call(std::span<const std::byte> data, int peer);
CommCall receive_call(std::span<std::byte> data, int peer);
CommCall all_reduce_call(Elements data, Reduction reduction);
/// @param root its place among the members
CommCall broadcast_call(Elements data, int root);
/// One call where parts are equal, else a broadcast per part, to be issued as one group.
std::vector<CommCall> all_gather_calls(std::span<const std::byte> mine, Elements all, int members, int place);
/// One call where parts are equal, else a reduce per part.
std::vector<CommCall> reduce_scatter_calls(Elements all, Elements mine, int members, int place);

}  // namespace foreshard::runtime
