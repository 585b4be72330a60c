#pragma once

#include <string>
#include <vector>

#include "gui/charts/table.hpp"
#include "traces/read_search.hpp"

/// The plans of a search as a table.
namespace foreshard::gui {

enum class PlanState { best, front, fits, does_not_fit, infeasible };
/// Precondition: plan is an index into the search's plans.
PlanState planState(const ReadSearch& search, std::size_t plan);

/// Keys of the plans, degrees first; those with one value in all plans are left out.
std::vector<std::string> varyingKeys(const ReadSearch& search);
/// "dp 1, mbs 1": what all plans have.
QString commonSettings(const ReadSearch& search);

/// A row per plan in the search's order: number, varying settings, figures, and what the plan is (on the front, does
/// not fit, why it cannot run).
Table planTable(const ReadSearch& search);

/// "tp 8, pp 8, 1f1b" and figures, for a tip.
QString planText(const ReadSearch& search, std::size_t plan);

/// A row per reason for which plans were refused, the commonest first.
Table reasonsTable(const ReadSearch& search);

/// How many plans were looked at, refused, simulated, and which is best.
QString searchSentence(const ReadSearch& search);

}  // namespace foreshard::gui
