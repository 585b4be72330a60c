#pragma once

#include "gui/charts/table.hpp"
#include "traces/read_search.hpp"

namespace foreshard::gui {

/// A row per neighbour of the best plan: what is changed, what the step gains and loses by that, memory, and why it
/// cannot run.
Table neighbourTable(const ReadSearch& search);

}  // namespace foreshard::gui
