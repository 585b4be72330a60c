#pragma once

#include <string>
#include <vector>

#include "runtime/comm/comm_call.hpp"
#include "runtime/comm/communicators.hpp"

/// What all ranks of a job issue, and the rules that let a library as NCCL carry it out: it has no tags, calls of a
/// communicator run in their order, and a call or a group of calls holds its communicator until it is done.
namespace foreshard::runtime {

struct IssuedCall {
    int communicator = 0;  ///< index
    CommCall call;         ///< its memory does not count
    int group = -1;        ///< calls of a rank with the same number are issued as one; -1: alone
};

struct CallSequence {
    std::vector<Communicator> communicators;
    std::vector<std::vector<IssuedCall>> ranks;  ///< per rank, in the order of issue
};

/// Every rule that is broken, with ranks and calls; empty for none.
/// 1. All members of a communicator issue the same collectives on it, in the same order.
/// 2. The sends of each ordered pair of a communicator match the other's receives in order and size.
/// 3. What one rank groups towards another, the other groups as well.
/// 4. With communicators that run their calls in order and groups that are done as one, everything gets done.
/// 5. Over all communicators together the orders of issue of all ranks agree: even one queue per rank would get
/// through. Rules 4 and 5 are looked at when 1 and 2 hold.
std::vector<std::string> broken_rules(const CallSequence& sequence);

}  // namespace foreshard::runtime
