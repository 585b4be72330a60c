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
    /// Of text on such a fill: black or white, whichever stands out more; their contrast is then at least 4.5 to 1.
    QColor label(SpanKind kind, int chunk = 0) const;
    /// Qt::SolidPattern, or the hatch that tells the kind without colour.
    static Qt::BrushStyle pattern(SpanKind kind);
};

const Theme& theme(ThemeKind kind);

/// WCAG 2 contrast of two colours: 1 (equal) to 21 (black and white).
double contrast(const QColor& a, const QColor& b);

/// DejaVu Sans at the size of the application's font. Widgets inherit it from the window; what is painted asks for it.
QFont viewFont(double scale = 1.0);

/// The application's font while pictures are made, so that they are the same everywhere.
QFont pictureFont();

}  // namespace foreshard::gui
