#pragma once

#include <string>
#include <vector>

#include "sim/result/compare.hpp"
#include "sim/result/waterfall.hpp"

/// Two runs compared, for people, at most 80 columns wide where names allow it.
namespace foreshard {

/// What differs in input, why one step is longer, figures, and how well spans match. Differences of the waterfall are
/// rounded so that those printed sum to the printed total.
std::string compare_text(const Run& a, const Run& b, const Comparison& comparison);

/// Values in units, each rounded down or up so that the rounded ones sum to the rounded total (largest remainders).
std::vector<std::int64_t> rounded_to_sum(const std::vector<Picoseconds>& values, Picoseconds unit);

/// How many spans of each kind, most first: "32 weight grad, 4 p2p".
std::string kinds_text(const SpanTable& spans, const std::vector<std::size_t>& which);

}  // namespace foreshard
