#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sim/spec/calibration.hpp"
#include "sim/spec/measured_step.hpp"

/// What was measured on a machine, from all inputs of `foreshard calibrate`. Sizes are those of the plan's op lists and
/// messages, also where tensors were twice as wide (fp64).
namespace foreshard {

/// Where a value stands, for messages about it.
struct Origin {
    int input = 0;  ///< index in Measurements::inputs
    int row = 0;    ///< line of a text, index of a list
};

struct OpPoint {
    std::string op;  ///< Op::name, or op_class()
    double flops = 0.0;
    double bytes = 0.0;
    double time_us = 0.0;
    double computing_ranks = 1.0;  ///< of the host, at the same time, this one included; mean
    Origin origin;
    double calls = 0.0;  ///< that the time is of, in all steps of the run; 0: a benchmark
};

struct CommPoint {
    CollectiveKind kind = CollectiveKind::all_reduce;
    int ranks = 2;
    double bytes = 0.0;  ///< full size over all ranks
    double time_us = 0.0;
    Origin origin;
    bool in_step = false;  ///< of a run's own steps; else by itself
};

struct OptimizerPoint {
    double parameters = 0.0;
    double time_us = 0.0;
    double computing_ranks = 1.0;
    Origin origin;
};

/// A computation and a communication alone, and both at a time.
struct OverlapPoint {
    double compute_alone_us = 0.0;
    double communication_alone_us = 0.0;
    double together_us = 0.0;
    Origin origin;
};

/// What a rank waits for another one that computed equally much, over what it computed.
struct LeadPoint {
    double after_us = 0.0;  ///< of computing
    double ratio = 0.0;
    bool whole_step = false;  ///< else of passes
};

struct Measurements {
    MeasuredMachine machine;
    std::optional<ClusterSpec> cluster;
    std::vector<OpPoint> ops;
    std::vector<CommPoint> communication;
    std::vector<OptimizerPoint> optimizer;
    std::vector<OverlapPoint> overlap;
    std::vector<double> launch_us;
    std::vector<double> pass_overhead_us;
    std::vector<double> step_overhead_us;
    std::vector<double> wakeup_us;
    std::vector<double> rank_wait_ratio;  ///< of runs whose ranks meet inside passes
    std::vector<LeadPoint> rank_leads;
    std::vector<MeasuredStep> steps;
    std::set<int> other_transports;  ///< inputs with another way of communication than machine.comm: ops only
    std::optional<KernelTable> kernels;
    std::vector<RejectedPoint> rejected;  ///< by the readers
    std::vector<CalibrationInput> inputs;
};

}  // namespace foreshard
