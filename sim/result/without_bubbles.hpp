#pragma once

#include "sim/result/run.hpp"

namespace foreshard {

/// The same work as if no rank ever waited, for comparison: the spans of every compute row close up from the begin of
/// the window, with the collectives inside passes; messages and gradient synchronisation beside them are left out. The
/// step is as long as the busiest rank's work, so the imbalance of ranks stays; bubbles and waits are gone. Memory is
/// not known for it; figures that follow from the step time are scaled, the others left out.
Run without_bubbles(const Run& run);

}  // namespace foreshard
