#pragma once

#include <string>
#include <vector>

#include "runtime/measurement.hpp"
#include "runtime/rank_lead.hpp"

/// Times of ops, communication and what lies between them, over the recorded steps of all ranks; equal ones together.
/// Spreads are over all calls, but a mean is over the calls of the middle half of all runs (middle_runs).
namespace foreshard::runtime {

/// Equal ops: one name, pass and size. Among them stand the update of the optimizer as "optimizer", and gradients that
/// are set to zero when a step begins as "zero_gradients".
struct OpMeasure {
    std::string op;
    std::string pass;  ///< forward, input_grad, weight_grad, recompute, optimizer
    std::int64_t m = 0;
    std::int64_t n = 0;
    std::int64_t k = 0;
    std::int64_t batch = 1;
    double flops = 0.0;
    double bytes = 0.0;             ///< read and written
    std::int64_t elements = 0;      ///< of parameters that the rank updates
    bool communicates = false;      ///< its times are of what it computes beside its call
    double others_computing = 0.0;  ///< how many other ranks were in an op meanwhile, mean
    Spread time;
    Spread alone;   ///< calls with fewer than a tenth of another rank in an op meanwhile
    Spread beside;  ///< with at least nine tenths
};

/// Equal communication: of tasks, and of calls inside passes.
struct CommMeasure {
    Axis axis = Axis::pp;
    CollectiveKind kind = CollectiveKind::all_reduce;
    int ranks = 0;
    double message_bytes = 0.0;  ///< as the task graph counts it
    bool in_pass = false;
    Spread transfer;  ///< from the arrival of the last member; of every member
    Spread waiting;   ///< from the call to that arrival
};

/// What a step has beside ops and communication. Steps start when all ranks have met.
struct OverheadMeasure {
    Spread pass;    ///< of a pass, outside its ops
    Spread task;    ///< from a task to the next on its stream, where that waits for no other stream
    Spread wakeup;  ///< from the end of a task of another stream to the start of the one that waits for it
    Spread start;   ///< from a rank's start to its first task's
    Spread end;     ///< from a rank's last task to its end
};

struct OpMeasurement {
    int steps = 0;  ///< whose ops were recorded
    std::vector<OpMeasure> ops;
    std::vector<CommMeasure> communication;
    OverheadMeasure overheads;
    RankLeads leads;
};

/// Precondition: as measure(). Without ops where the device runs behind.
OpMeasurement measure_ops(const Plan& plan, const Outcome& outcome);

}  // namespace foreshard::runtime
