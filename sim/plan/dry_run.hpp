#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/plan/schedule.hpp"
#include "sim/units.hpp"

/// Pure dataflow evaluation of a schedule: ranks are busy only with passes, messages are pure latency.
namespace foreshard {

struct PassCosts {
    std::vector<StageTimes::Stage> stages;  ///< one entry per stage; backward = input_grad + weight_grad
    Picoseconds hop = 0;                    ///< between different ranks
    Picoseconds vocab_forward = 0;          ///< of S on every rank
    Picoseconds vocab_backward = 0;         ///< of T
};

/// f = i = w = s = t = one unit, no latency.
PassCosts unit_costs(int stages);

/// The same with one unit in place of no time, so that the order of starts is an order of inputs.
PassCosts without_zeros(PassCosts costs);

/// An activation (forward) or gradient that moves between two ranks.
struct Message {
    std::int32_t from_rank = 0;
    std::int32_t to_rank = 0;
    std::int32_t to_stage = 0;  ///< stage that consumes it
    std::int32_t microbatch = 0;
    bool forward = true;  ///< activation; false: gradient
    Picoseconds key = 0;  ///< end of its producer
};

/// Where all ranks meet in a split vocabulary.
struct Meeting {
    enum class Kind : std::uint8_t {
        hidden_state,  ///< last stage's output to all ranks, for S
        logits,        ///< what S leaves: softmax statistics, and with one barrier the input gradient
        gradient,      ///< what T leaves: input gradient of the output layer (two barriers, interlaced)
    };
    Kind kind = Kind::hidden_state;
    std::int32_t microbatch = 0;
    Picoseconds key = 0;  ///< end of its last producer
};

struct DryRun {
    std::vector<std::vector<Picoseconds>> start;  ///< like Schedule::actions
    std::vector<std::vector<Picoseconds>> end;
    Picoseconds makespan = 0;
    std::vector<Message> messages;                  ///< in one global order: (key, direction, stage, micro-batch)
    std::vector<Meeting> meetings;                  ///< in one global order: (key, micro-batch, kind)
    std::vector<int> peak_in_flight;                ///< per rank, chunk activations from start of F to end of B or W
    std::vector<int> peak_in_flight_to_input_grad;  ///< the same, released at the end of I
};

/// Longest time from a rank's own first start to its own last end: the step when skew between ranks is free.
Picoseconds longest_rank_span(const DryRun& run);

/// Where every rank stands when nothing can go on.
struct Deadlock {
    struct Waiting {
        int rank = 0;
        int index = 0;  ///< of the action in the rank's list
        Action action;
        Action needs;  ///< first input of it (or of its fused unit) that never comes
    };
    std::vector<Waiting> waiting;
};
std::string to_string(const Deadlock& deadlock);

/// Runs the schedule. Precondition: actions are in range and on their stage's rank. Returns false and fills `deadlock`
/// when it cannot complete; `run` then holds what could run.
bool dry_run(const Schedule& schedule, const PassCosts& costs, DryRun& run, Deadlock& deadlock);

/// The same for a schedule known to complete. @throws std::logic_error otherwise
DryRun dry_run(const Schedule& schedule, const PassCosts& costs);

}  // namespace foreshard
