#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/result/run.hpp"

/// The six figures that a plan is judged by, as text; without Qt.
namespace foreshard::gui {

enum class Figure { step_time, tokens, mfu, bubble, exposed, memory };
inline constexpr int figure_count = 6;

std::string_view titleOf(Figure figure);

/// In the figure's unit (ms, tokens/s, ratio, ratio, ms, bytes); empty when the run does not know it.
std::optional<double> valueOf(const Run& run, Figure figure);

std::string textOf(Figure figure, double value);

/// "-3.2 %" for times and amounts, "+1.4 pts" (points) for ratios.
std::string differenceText(Figure figure, double a, double b);

enum class Verdict { same, better, worse };
Verdict verdictOf(Figure figure, double a, double b);

/// Of the run with the worst rank: "71.3 of 79.2 GiB", "OOM 88.6/79.2 GiB"; empty when nothing is known.
std::string memoryText(const Run& run);
bool fits(const Run& run);

}  // namespace foreshard::gui
