#pragma once

#include <cstdint>
#include <vector>

#include "sim/units.hpp"

/// Asynchronous SGD at a parameter server as a queue: which times depend on each other decides everything, so it is
/// simulated apart from task graphs and has no executor twin. n-softsync: Zhang, Gupta, Lian, Liu, "Staleness-aware
/// Async-SGD" (arXiv 1511.05950); PipeDream: arXiv 1806.03377.
namespace foreshard {

struct AsyncSgdOptions {
    int learners = 1;
    int gradients_per_update = 1;  ///< c = floor(learners / n)
    bool barrier = false;          ///< learners wait for the update of their gradient (synchronous parameter server)
    Picoseconds compute = 0;       ///< of one mini-batch
    Picoseconds pull = 0;          ///< transfer on the learner's own link
    Picoseconds push = 0;
    Picoseconds serve = 0;              ///< what a pull or a push occupies the server's link for
    Picoseconds apply = 0;              ///< an update at the server
    std::vector<double> speed_factors;  ///< of compute, per learner; empty: all 1
    int updates = 0;                    ///< to simulate; 0: enough for a steady half
};

struct AsyncSgdResult {
    double updates_per_s = 0.0;               ///< steady, second half
    double gradients_per_s = 0.0;             ///< mini-batches
    double staleness_mean = 0.0;              ///< updates between a gradient's pull and its use
    std::vector<double> staleness_histogram;  ///< share of gradients by staleness; sums to 1
    double learning_rate_scale = 1.0;         ///< mean of 1 / max(staleness, 1): the step size of a stale gradient
    Picoseconds cycle = 0;                    ///< mean time of a learner's pull, compute, push
    Picoseconds exposed = 0;                  ///< cycle beyond compute
    double server_busy = 0.0;                 ///< share of time
};

/// Events in order of time, then of learner: the same input gives the same result. Precondition: learners and
/// gradients_per_update are positive, gradients_per_update <= learners.
AsyncSgdResult simulate_async_sgd(const AsyncSgdOptions& options);

/// Throughput bound in mini-batches per second: min(learners / (pull + compute + push), 1 / (2 serve + apply / c)).
double async_sgd_bound(const AsyncSgdOptions& options);

/// Step-size factor of a histogram: mean of 1 / max(staleness, 1).
double staleness_scale(const std::vector<double>& histogram);

}  // namespace foreshard
