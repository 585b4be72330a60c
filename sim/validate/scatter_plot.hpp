#pragma once

#include <string>

#include "sim/validate/validate.hpp"

/// Predicted against measured step times, as a picture without scripts, fonts or links.
namespace foreshard {

/// Both axes logarithmic, in milliseconds, with the line of equality and bands of 5 and 15 %. A point is a plan, its
/// number that of its row; hovering shows the rest. Readable in light and dark (prefers-color-scheme).
std::string scatter_svg(const Validation& validation);

/// A page with the picture and the table of all plans.
std::string scatter_html(const Validation& validation);

}  // namespace foreshard
