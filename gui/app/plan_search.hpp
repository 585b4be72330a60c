#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "sim/search/search.hpp"
#include "traces/read_search.hpp"

/// Searches for the plans view. No Qt here, so that all of it can run on any thread.
namespace foreshard::gui {

/// What a search found, or why it could not begin.
struct FoundPlans {
    SearchRequest request;
    SearchOutcome result;
    ReadSearch shown;                 ///< the same as views read it from files
    std::string text;                 ///< the file (foreshard.search)
    std::vector<std::string> advice;  ///< where nothing fits: what would make room
    bool mapped = false;              ///< every TP x PP was looked at
    std::string flag;                 ///< of `error`, as InputError::source says it
    std::string error;
};

/// The plans of a search that is running: as many of the fastest as are wanted, and the front.
class PlansSoFar {
public:
    /// @throws InputError
    explicit PlansSoFar(const SearchRequest& request);
    void add(const Improvement& improvement);
    ReadSearch shown() const;  ///< as views read it from files

private:
    int top_;
    SearchOutcome result_;
};

/// Bad input is a value. One that was stopped has what was found so far.
FoundPlans findPlans(const SearchRequest& request, const OnProgress& onProgress, const std::stop_token& stop,
                     const OnImprovement& onImprovement = {});

/// Adds the fastest plan of every TP x PP in the space that has none among the best, or why it has none that fits.
/// Stopped early, the rest is left out. Precondition: `found` is of findPlans, without an error.
FoundPlans withMap(FoundPlans found, const OnProgress& onProgress, const std::stop_token& stop);

}  // namespace foreshard::gui
