#pragma once

#include <QColor>
#include <QFont>
#include <Qt>
#include <string_view>

#include "sim/result/spans.hpp"

/// Colours that stay apart for colour-blind readers, on light, dark and high-contrast grounds.
namespace foreshard::gui {

enum class ThemeKind { light, dark, high_contrast };

/// @throws std::invalid_argument for an unknown name; names: light, dark, high-contrast
ThemeKind themeKind(std::string_view name);

struct Theme {
    ThemeKind kind = ThemeKind::light;
    QColor window, panel, text, faintText, grid, bubble, accent, capacity, early, late;

    /// Fill of a span; chunks of one rank differ by shade (four steps).
    QColor fill(SpanKind kind, int chunk = 0) const;
    /// Of text on such a fill.
    QColor label(SpanKind kind) const;
    /// Qt::SolidPattern, or the hatch that tells the kind without colour.
    static Qt::BrushStyle pattern(SpanKind kind);
};

const Theme& theme(ThemeKind kind);

/// DejaVu Sans at the size that the application uses, so that pictures are the same everywhere.
QFont viewFont(double scale = 1.0);

}  // namespace foreshard::gui
