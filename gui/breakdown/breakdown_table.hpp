#pragma once

#include "gui/charts/table.hpp"
#include "sim/result/run.hpp"

namespace foreshard::gui {

/// A row per rank and a last one of means: the step by account, in ms. Accounts that no rank has are left out. Cells
/// sort by picoseconds. Empty without accounts.
Table breakdownTable(const Run& run);

}  // namespace foreshard::gui
