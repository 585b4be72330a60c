#pragma once

#include <QPalette>
#include <QString>

#include "gui/theme.hpp"

namespace foreshard::gui {

/// Colours of all widgets under a theme.
QPalette paletteOf(const Theme& theme);

/// What palettes cannot say: frames of docks, tabs, tool tips.
QString styleSheetOf(const Theme& theme);

}  // namespace foreshard::gui
