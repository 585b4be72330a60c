#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Programs of sends, receives and computes, checked under rendezvous semantics (NCCL: a send may block until the
/// receive is posted; operations of one communicator run in issue order).
namespace foreshard {

struct CommOp {
    bool send = true;
    int peer = 0;
    std::string tag;  ///< what is moved, e.g. "f1.0"; compared when both sides carry one
    bool operator==(const CommOp&) const = default;
};

/// One step of a rank: a compute action (ops empty) or a group of sends and receives issued together.
struct CommStep {
    std::string compute;
    std::vector<CommOp> ops;
};

struct CommProgram {
    std::vector<std::vector<CommStep>> ranks;
};

/// Parses one list of steps per rank: "0F0", "[S1:f1.0]", "[S1:f0,R1:b0]" (S send to, R receive from, rank, optional
/// tag).
/// @throws InputError naming rank, step and text
CommProgram parse_comm_program(const std::vector<std::vector<std::string>>& steps);

std::string to_string(const CommStep& step);

struct CommFault {
    enum class Kind { none, cyclic_wait, unmatched, tag_mismatch };
    Kind kind = Kind::none;
    std::string message;  ///< names the ranks and operations that wait for each other
};

/// Does the program complete when every group blocks its rank until all its operations are done, the n-th send from a
/// to b matching the n-th receive of b from a? One in-order communication stream per rank beside compute has the same
/// answer: a compute only holds up groups after it, and those wait for all groups before it anyway.
CommFault check_rendezvous(const CommProgram& program);

/// Does it complete when operations with one peer run in issue order, operations with different peers independently (a
/// communicator per pair, unbatched isend/irecv), and a compute waits for the receives before it?
CommFault check_in_order_pairs(const CommProgram& program);

/// Does it complete when the first operation with a peer creates their communicator, which blocks both ranks?
CommFault check_lazy_communicators(const CommProgram& program);

/// Every pair of ranks that communicate, smaller rank first, in the one global order in which creating the
/// communicators up front cannot hang.
std::vector<std::pair<int, int>> communicator_pairs(const CommProgram& program);

}  // namespace foreshard
