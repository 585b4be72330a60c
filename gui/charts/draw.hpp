#pragma once

#include <QColor>
#include <QFont>
#include <QFontMetrics>
#include <QPainter>
#include <QString>
#include <string_view>
#include <vector>

#include "gui/theme.hpp"
#include "sim/units.hpp"

class QWidget;

/// What all charts draw: texts with units, legends, hints, hatches. Sizes follow the font.
namespace foreshard::gui {

inline constexpr int chart_margin = 8;
inline constexpr int tight_margin = 6;

/// The simulator's words as Qt's.
QString qt(std::string_view text);
/// Of the sentence above a chart.
QFont headlineFont();

/// Metrics of `font` on a device, so that pictures and paper have the sizes of the screen.
QFontMetrics metricsOf(const QPaintDevice& device, const QFont& font);
QFontMetrics metricsOf(const QPainter& painter, const QFont& font);

/// "13.61 s", "845 ms", "12.3 us", "3 ps".
QString durationText(Picoseconds time);
/// The same with a sign: "+12.3 ms".
QString differenceText(Picoseconds time);
/// Of a tick of an axis that ends at `last`: all ticks in one unit, "2 s", "10 s".
QString axisText(double picoseconds, double last);
/// "24.9 %"; "<0.1 %" for what is there but small.
QString percentText(double ratio);
/// "61.3 GiB"; MiB below a hundredth of a GiB.
QString memoryText(ByteCount bytes);
/// A number with at least three digits that count, without exponent.
QString figureText(double value);

enum class LegendMark { box, line, dashed_line };
struct LegendEntry {
    QColor color;
    QString text;
    Qt::BrushStyle pattern = Qt::SolidPattern;
    LegendMark mark = LegendMark::box;
};

/// Entries from left to right, as many lines as needed.
/// @return height in pixels, which is also returned when nothing is to be drawn (see legendHeight)
int drawLegend(QPainter& painter, const QRect& area, const std::vector<LegendEntry>& entries, const Theme& theme);
int legendHeight(const QPaintDevice& device, int width, const std::vector<LegendEntry>& entries);

/// A solid fill, over it the pattern's lines in the colour of labels.
void fillPatterned(QPainter& painter, const QRectF& box, const QColor& color, Qt::BrushStyle pattern);
/// Grey text in the middle of an empty view: what to do to fill it.
void drawHint(QPainter& painter, const QRect& area, const QString& text, const Theme& theme);
/// Cut with an ellipsis to the rectangle's width.
void drawElided(QPainter& painter, const QRect& area, int flags, const QString& text);

/// Black or white, whatever reads better on `fill`.
QColor labelOn(const QColor& fill);

/// Colours of a widget with tables and texts, and of all its children.
void applyTheme(QWidget& widget, const Theme& theme);

/// About `most` round values in [low, high]: 1, 2 or 5 times a power of ten apart.
std::vector<double> niceTicks(double low, double high, int most);

}  // namespace foreshard::gui
