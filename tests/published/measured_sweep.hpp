#pragma once

#include <string>
#include <vector>

#include "sim/search/search.hpp"
#include "sim/validate/dataset.hpp"

/// Measured plans of one model on one machine, and what the search makes of them.
namespace foreshard::test {

/// Runs of one model, batch, software and number of GPUs.
struct MeasuredSweep {
    std::string name;  ///< source, model, GPUs and batch
    std::vector<PublishedRun> runs;
};

/// Sweeps of at least `least` timed runs among rows that can be simulated and are not doubted.
std::vector<MeasuredSweep> measured_sweeps(const std::vector<PublishedRun>& runs, std::size_t least);

/// A search whose axes have the values of the measured plans, and nothing else. It lists all plans that fit.
/// @throws InputError when a row cannot be simulated
SearchRequest search_over(const std::vector<PublishedRun>& runs);

struct RankedRun {
    const PublishedRun* run = nullptr;
    double predicted_s = 0.0;
};

/// Measured plans that the search found to fit, in its order.
/// @param found of search_over(runs)
std::vector<RankedRun> in_order_of_search(const std::vector<PublishedRun>& runs, const SearchOutcome& found);

/// How much longer the first one of them took than the fastest one of all, in %. NaN where none was found.
double loss_pct(const std::vector<PublishedRun>& runs, const std::vector<RankedRun>& ranked);

}  // namespace foreshard::test
