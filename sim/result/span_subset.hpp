#pragma once

#include <vector>

#include "sim/result/spans.hpp"

namespace foreshard {

/// Some spans of a table as a table of their own: with the same ranks, rows and times, so that a row has the same index
/// in both. Who waits for whom is left out.
/// @param which ascending, without doubles
SpanTable subset_of(const SpanTable& spans, const std::vector<std::size_t>& which);

}  // namespace foreshard
