#pragma once

#include <string>
#include <vector>

#include "runtime/comm/call_sequence.hpp"
#include "runtime/trainer.hpp"

/// What a plan would issue to NCCL, recorded rank by rank from the tasks that every rank runs, without their numbers.
namespace foreshard::runtime::test {

struct PlanSequence {
    CallSequence sequence;
    int groups = 0;  ///< of two messages
    int calls() const;
};

/// In the order in which one thread a rank issues.
PlanSequence record_sequence(const Plan& plan);

/// Rules that are broken and communicators that nobody calls, one an entry.
std::vector<std::string> sequence_faults(const Job& job, const PlanSequence& recorded);

/// All of it for a job. @param recorded gets the sequence, where it is wanted
std::vector<std::string> sequence_faults(const Job& job, PlanSequence* recorded = nullptr);

}  // namespace foreshard::runtime::test
