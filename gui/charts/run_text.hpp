#pragma once

#include <QString>

#include "sim/result/run.hpp"

namespace foreshard::gui {

/// "PP0", the trace's name of it, or "rank 0".
QString rankName(const Run& run, std::size_t rank);

}  // namespace foreshard::gui
