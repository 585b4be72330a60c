#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "sim/search/sweep.hpp"
#include "traces/read_search.hpp"

/// Searches for the plans view. No Qt here, so that all of it can run on any thread.
namespace foreshard::gui {

/// What a search found, or why it could not begin.
struct FoundPlans {
    SweepRequest request;
    SearchOutcome result;             ///< of one size
    ReadSearch shown;                 ///< the same as views read it from files
    std::string text;                 ///< the file (foreshard.search)
    std::vector<std::string> advice;  ///< where nothing fits: what would make room
    bool stopped = false;             ///< ended early: the plans are the best so far
    bool mapped = false;              ///< every TP x PP was looked at; several sizes have no such map
    std::string flag;                 ///< of `error`, as InputError::source says it
    std::string error;
};

/// The plans of a search that is running: of each size as many of the best as are wanted, and the front.
class PlansSoFar {
public:
    explicit PlansSoFar(const SweepRequest& request);
    /// @throws InputError
    void add(const SweepPoint& size, const Improvement& improvement);
    ReadSearch shown() const;  ///< as views read it from files

private:
    SweepRequest request_;
    SweepOutcome result_;
};

/// Bad input is a value. One that was stopped has what was found so far.
FoundPlans findPlans(const SweepRequest& request, const OnProgress& onProgress, const std::stop_token& stop,
                     const OnSweepImprovement& onImprovement = {});

/// Adds the fastest plan of every TP x PP in the space that has none among the best, or why it has none that fits.
/// Stopped early, the rest is left out. Precondition: `found` is of findPlans, for one size, without an error.
FoundPlans withMap(FoundPlans found, const OnProgress& onProgress, const std::stop_token& stop);

}  // namespace foreshard::gui
