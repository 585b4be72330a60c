#pragma once

#include <map>
#include <tuple>

#include "sim/cost/pass_time.hpp"
#include "sim/plan/work_duration.hpp"
#include "sim/spec/layout.hpp"

/// Times of whole passes of a stage, from what it holds; for balancing and bounds, which look at many layouts.
namespace foreshard {

/// Passes of one stage for one micro-batch, rounded as Durations rounds them. `backward` is the unsplit pass; where the
/// host limits it, it is not input_grad + weight_grad.
struct StageCost {
    Picoseconds forward = 0;
    Picoseconds backward = 0;
    Picoseconds input_grad = 0;
    Picoseconds weight_grad = 0;
    std::int64_t parameters = 0;  ///< of this rank, replicated over dp x cp
    std::int64_t expert_parameters = 0;
};

/// Computes every distinct stage once. Keeps references: job and models must outlive it.
class StageCoster {
public:
    StageCoster(const Job& job, const CostModel& cost, const NetworkModel& network)
        : job_(job), timer_(job, cost, network) {}

    const StageCost& cost(const StageContents& contents);

    /// A rank's share of the vocabulary layers, where all pipeline ranks hold one: forward is S, backward T.
    StageCost vocabulary_share() const;

private:
    /// Embedding, dense layers, expert layers, MTP layers, loss: all that a stage's time depends on.
    using Key = std::tuple<bool, int, int, int, bool>;

    StageCost compute(const StageContents& contents) const;
    StageCost price(const StageOps& stage, Seconds overhead) const;

    const Job& job_;
    PassTimer timer_;
    std::map<Key, StageCost> known_;
};

}  // namespace foreshard
