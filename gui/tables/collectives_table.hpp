#pragma once

#include "gui/charts/table.hpp"
#include "sim/result/run.hpp"

/// Communication as tables.
namespace foreshard::gui {

/// A row per kind of message: who, how much, how long, what limits it. Empty when the run does not say.
Table messagesTable(const Run& run);

/// A row per kind of communication in the step: spans, their time, transfer and wait apart, and what of it the compute
/// streams waited for. Empty without spans.
Table trafficTable(const Run& run);

}  // namespace foreshard::gui
