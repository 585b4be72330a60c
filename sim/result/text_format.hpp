#pragma once

#include <string>
#include <vector>

#include "sim/result/report.hpp"

/// Pieces of the text views.
namespace foreshard {

/// Model, machine and plan in five lines.
std::string heading(const Job& job);

/// A duration in the unit that leaves 3 to 4 digits: "13.61 s", "845 ms", "12.3 us".
std::string milliseconds(double ms);
std::string percent(double ratio);
double in_gib(ByteCount bytes);
std::string gibibytes(ByteCount bytes);

/// The text, cut to so many characters with ".." at its end where it is longer.
std::string shortened(const std::string& text, std::size_t width);

/// Why the verdict is what it is, with the figures compared.
std::string verdict_reason(const Summary& summary);

/// Waits of the compute stream for pp and dp communication, ms.
double exposed_ms(const RankAccount& account);

/// All ranks of a short pipeline; the first eight and last four of a long one.
std::vector<std::size_t> shown_ranks(std::size_t count);

}  // namespace foreshard
