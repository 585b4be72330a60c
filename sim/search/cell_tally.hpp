#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

/// Which TP x PP have no plan that can run, and why.
namespace foreshard {

struct BranchYield;
struct PlanKey;
struct Space;

/// Degrees of which no plan of the space can run.
struct InfeasibleCell {
    int tp = 1;
    int pp = 1;
    std::map<std::string, std::int64_t> reasons;  ///< how many plans by reason, as SearchOutcome::infeasible
};

/// Counts plans by TP and PP while their bounds are computed.
class CellTally {
public:
    /// @param space outlives it
    explicit CellTally(const Space& space) : space_(space) {}

    void add(const BranchYield& yield);
    /// A plan whose bound fits, but that was simulated and does not.
    void does_not_fit(const PlanKey& key);
    /// By TP, then PP. Degrees that occur, but do not divide the GPUs together, count as one plan.
    /// Precondition: every branch was added.
    std::vector<InfeasibleCell> infeasible() const;

private:
    struct Counts {
        std::int64_t open = 0;  ///< may run
        std::int64_t too_large = 0;
        std::vector<std::int64_t> forbidden;  ///< by rule, as Space::rules
    };
    using Degrees = std::pair<int, int>;  ///< TP, PP

    Degrees degrees_of(int branch, int grid) const;
    std::vector<Degrees> all_degrees() const;

    const Space& space_;
    std::map<Degrees, Counts> counts_;
};

}  // namespace foreshard
