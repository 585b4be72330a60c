#include "sim/search/cell_tally.hpp"

#include <algorithm>
#include <set>

#include "sim/search/branch_bounds.hpp"

namespace foreshard {

CellTally::Degrees CellTally::degrees_of(int branch, int grid) const {
    const Branch& self = space_.branches[static_cast<std::size_t>(branch)];
    const Cell& cell = space_.cells[static_cast<std::size_t>(self.cell)];
    return {cell.tp, cell.grids[static_cast<std::size_t>(grid)].pp};
}

void CellTally::add(const BranchYield& yield) {
    for (const GridYield& grid : yield.grids) {
        Counts& counts = counts_[degrees_of(yield.branch, grid.grid)];
        counts.open += grid.open;
        counts.too_large += grid.too_large;
        counts.forbidden.resize(std::max(counts.forbidden.size(), grid.forbidden.size()));
        for (std::size_t rule = 0; rule < grid.forbidden.size(); ++rule) {
            counts.forbidden[rule] += grid.forbidden[rule];
        }
    }
}

void CellTally::does_not_fit(const PlanKey& key) {
    Counts& counts = counts_[degrees_of(key.branch, key.grid)];
    --counts.open;
    ++counts.too_large;
}

/// Every TP with every PP that occurs.
std::vector<CellTally::Degrees> CellTally::all_degrees() const {
    std::set<int> tp;
    std::set<int> pp;
    for (const Cell& cell : space_.cells) {
        tp.insert(cell.tp);
        for (const Grid& grid : cell.grids) pp.insert(grid.pp);
    }
    for (const auto& [degrees, reasons] : space_.refused) {
        tp.insert(degrees.first);
        pp.insert(degrees.second);
    }
    std::vector<Degrees> all;
    for (const int t : tp) {
        for (const int p : pp) all.emplace_back(t, p);
    }
    return all;
}

std::vector<InfeasibleCell> CellTally::infeasible() const {
    std::vector<InfeasibleCell> cells;
    for (const Degrees& degrees : all_degrees()) {
        InfeasibleCell cell{degrees.first, degrees.second, {}};
        const auto refused = space_.refused.find(degrees);
        if (refused != space_.refused.end()) cell.reasons = refused->second;
        const auto known = counts_.find(degrees);
        if (known != counts_.end()) {
            const Counts& counts = known->second;
            if (counts.open > 0) continue;
            if (counts.too_large > 0) cell.reasons["memory"] += counts.too_large;
            for (std::size_t rule = 1; rule < counts.forbidden.size(); ++rule) {
                if (counts.forbidden[rule] > 0) cell.reasons[space_.rules[rule]] += counts.forbidden[rule];
            }
        }
        const std::int64_t ranks = std::int64_t{1} * degrees.first * degrees.second;
        if (cell.reasons.empty() && *space_.base.gpus % ranks != 0) cell.reasons["gpus, dp, tp, pp, cp"] = 1;
        if (!cell.reasons.empty()) cells.push_back(std::move(cell));
    }
    return cells;
}

}  // namespace foreshard
