#include "gui/charts/draw.hpp"

#include <QPalette>
#include <QWidget>
#include <algorithm>
#include <cmath>

#include "sim/result/text_format.hpp"

namespace foreshard::gui {

namespace {

struct PlacedEntry {
    int x = 0;
    int y = 0;
};

int swatchWidth(const QFontMetrics& metrics) {
    return metrics.height();
}

std::vector<PlacedEntry> place(const QFontMetrics& metrics, int width, const std::vector<LegendEntry>& entries) {
    std::vector<PlacedEntry> places;
    places.reserve(entries.size());
    PlacedEntry at;
    for (const LegendEntry& entry : entries) {
        const int needed = swatchWidth(metrics) * 3 / 2 + metrics.horizontalAdvance(entry.text);
        if (at.x > 0 && at.x + needed > width) at = {0, at.y + metrics.lineSpacing()};
        places.push_back(at);
        at.x += needed + swatchWidth(metrics);
    }
    return places;
}

void drawMark(QPainter& painter, const QRect& box, const LegendEntry& entry) {
    if (entry.mark == LegendMark::box) {
        fillPatterned(painter, box, entry.color, entry.pattern);
        return;
    }
    painter.setPen(QPen(entry.color, 2, entry.mark == LegendMark::line ? Qt::SolidLine : Qt::DashLine));
    painter.drawLine(box.left(), box.center().y(), box.right(), box.center().y());
}

}  // namespace

QString qt(std::string_view text) {
    return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

QFont headlineFont() {
    QFont font = viewFont(1.15);
    font.setBold(true);
    return font;
}

QFontMetrics metricsOf(const QPaintDevice& device, const QFont& font) {
    return {font, &device};
}

QFontMetrics metricsOf(const QPainter& painter, const QFont& font) {
    return metricsOf(*painter.device(), font);
}

QString durationText(Picoseconds time) {
    const Picoseconds size = std::abs(time);
    if (size == 0) return "0";
    if (size > 0 && size < 1000) return QString("%1 ps").arg(time);
    if (size > 0 && size < 100'000) return figureText(static_cast<double>(time) / 1e3) + " ns";
    return QString::fromStdString(time < 0 ? "-" + milliseconds(-to_milliseconds(time))
                                           : milliseconds(to_milliseconds(time)));
}

QString differenceText(Picoseconds time) {
    return (time > 0 ? "+" : "") + durationText(time);
}

QString axisText(double picoseconds, double last) {
    struct Unit {
        double size;
        const char* name;
    };
    if (picoseconds == 0.0) return "0";
    for (const Unit& unit : {Unit{1e12, " s"}, Unit{1e9, " ms"}, Unit{1e6, " us"}}) {
        if (last >= 2.0 * unit.size) return QString::number(picoseconds / unit.size, 'g', 6) + unit.name;
    }
    return QString::number(picoseconds / 1e3, 'g', 6) + " ns";
}

QString percentText(double ratio) {
    const double percent = 100.0 * ratio;
    if (percent > 0.0 && percent < 0.05) return "<0.1 %";
    return QString::number(percent, 'f', 1) + " %";
}

QString memoryText(ByteCount bytes) {
    const double gib = in_gib(bytes);
    if (bytes != 0 && std::abs(gib) < 0.01) return QString::number(gib * 1024.0, 'f', 2) + " MiB";
    return QString::number(gib, 'f', std::abs(gib) >= 100.0 ? 0 : std::abs(gib) >= 10.0 ? 1 : 2) + " GiB";
}

QString figureText(double value) {
    const double size = std::abs(value);
    if (size >= 100.0 || value == 0.0) return QString::number(value, 'f', 0);
    if (size >= 10.0) return QString::number(value, 'f', 1);
    return QString::number(value, 'f', size >= 1.0 ? 2 : 4);
}

int legendHeight(const QPaintDevice& device, int width, const std::vector<LegendEntry>& entries) {
    if (entries.empty()) return 0;
    const QFontMetrics metrics = metricsOf(device, viewFont());
    return place(metrics, width, entries).back().y + metrics.lineSpacing();
}

int drawLegend(QPainter& painter, const QRect& area, const std::vector<LegendEntry>& entries, const Theme& theme) {
    const QFontMetrics metrics = metricsOf(painter, viewFont());
    const std::vector<PlacedEntry> places = place(metrics, area.width(), entries);
    const int swatch = swatchWidth(metrics);
    painter.setFont(viewFont());
    for (std::size_t e = 0; e < entries.size(); ++e) {
        const QRect box(area.left() + places[e].x, area.top() + places[e].y + metrics.height() / 6, swatch,
                        metrics.height() * 2 / 3);
        drawMark(painter, box, entries[e]);
        painter.setPen(theme.text);
        painter.drawText(QPoint(box.left() + swatch * 4 / 3, area.top() + places[e].y + metrics.ascent()),
                         entries[e].text);
    }
    return legendHeight(*painter.device(), area.width(), entries);
}

void fillPatterned(QPainter& painter, const QRectF& box, const QColor& color, Qt::BrushStyle pattern) {
    painter.fillRect(box, color);
    if (pattern == Qt::SolidPattern) return;
    QColor lines = labelOn(color);
    lines.setAlphaF(0.45F);
    painter.fillRect(box, QBrush(lines, pattern));
}

void drawHint(QPainter& painter, const QRect& area, const QString& text, const Theme& theme) {
    painter.fillRect(area, theme.window);
    painter.setFont(viewFont(1.1));
    painter.setPen(theme.faintText);
    painter.drawText(area.adjusted(16, 16, -16, -16), Qt::AlignCenter | Qt::TextWordWrap, text);
}

void drawElided(QPainter& painter, const QRect& area, int flags, const QString& text) {
    const QFontMetrics metrics = metricsOf(painter, painter.font());
    painter.drawText(area, flags, metrics.elidedText(text, Qt::ElideRight, area.width()));
}

QColor labelOn(const QColor& fill) {
    const double luminance = 0.2126 * fill.redF() + 0.7152 * fill.greenF() + 0.0722 * fill.blueF();
    return luminance < 0.42 ? Qt::white : Qt::black;
}

void applyTheme(QWidget& widget, const Theme& theme) {
    QPalette palette;
    palette.setColor(QPalette::Window, theme.window);
    palette.setColor(QPalette::Base, theme.window);
    palette.setColor(QPalette::AlternateBase, theme.panel);
    palette.setColor(QPalette::Button, theme.panel);
    for (const QPalette::ColorRole role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText}) {
        palette.setColor(role, theme.text);
    }
    palette.setColor(QPalette::PlaceholderText, theme.faintText);
    palette.setColor(QPalette::Highlight, theme.accent);
    palette.setColor(QPalette::HighlightedText, labelOn(theme.accent));
    widget.setPalette(palette);
    widget.setAutoFillBackground(true);
}

std::vector<double> niceTicks(double low, double high, int most) {
    if (!(high > low) || most < 1) return {};
    const double rough = (high - low) / most;
    const double power = std::pow(10.0, std::floor(std::log10(rough)));
    double step = 10.0 * power;
    for (const double factor : {1.0, 2.0, 5.0}) {
        if (factor * power >= rough) {
            step = factor * power;
            break;
        }
    }
    const auto first = static_cast<std::int64_t>(std::ceil(low / step - 1e-9));
    const auto last = static_cast<std::int64_t>(std::floor(high / step + 1e-9));
    std::vector<double> ticks;
    ticks.reserve(static_cast<std::size_t>(std::max<std::int64_t>(0, last - first + 1)));
    for (std::int64_t i = first; i <= last; ++i) ticks.push_back(static_cast<double>(i) * step);
    return ticks;
}

}  // namespace foreshard::gui
