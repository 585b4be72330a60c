#include "gui/compare/overlay_painter.hpp"

#include <QPolygonF>
#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "gui/charts/draw.hpp"
#include "gui/compare/compare_tables.hpp"

namespace foreshard::gui {

namespace {

constexpr double band = 0.1;

/// Decades [low, high] on both axes of a square.
struct LogPlot {
    QRectF box;
    double low = 0.0;
    double high = 1.0;

    double place(double picoseconds) const { return (std::log10(std::max(picoseconds, 1.0)) - low) / (high - low); }
    QPointF at(double predicted, double measured) const {
        return {box.left() + place(predicted) * box.width(), box.bottom() - place(measured) * box.height()};
    }
};

std::vector<LegendEntry> legendOf(const Overlay& overlay, const Theme& theme) {
    std::vector<LegendEntry> entries;
    for (const KindError& error : overlay.errors) {
        const std::string_view name = to_string(error.kind);
        const double percent = 100.0 * error.error();
        entries.push_back({theme.fill(error.kind),
                           QString("%1 %2%3 %").arg(qt(name), percent > 0 ? "+" : "", QString::number(percent, 'f', 1)),
                           Theme::pattern(error.kind)});
    }
    return entries;
}

LogPlot plotOf(const QPaintDevice& device, const QRect& area, const Overlay& overlay, const Theme& theme) {
    const QFontMetrics metrics = metricsOf(device, viewFont());
    const int above = chart_margin + metricsOf(device, headlineFont()).lineSpacing() +
                      legendHeight(device, area.width() - 2 * chart_margin, legendOf(overlay, theme)) + chart_margin;
    LogPlot plot;
    plot.box = QRectF(area).adjusted(metrics.horizontalAdvance("000 ms") + metrics.lineSpacing() + chart_margin, above,
                                     -3 * chart_margin, -3 * metrics.lineSpacing() - chart_margin);
    double least = 1e18;
    double most = 1.0;
    for (const OverlayPoint& point : overlay.points) {
        for (const Picoseconds time : {point.predicted, point.measured}) {
            if (time <= 0) continue;
            least = std::min(least, static_cast<double>(time));
            most = std::max(most, static_cast<double>(time));
        }
    }
    plot.low = std::floor(std::log10(std::min(least, most)) * 2.0) / 2.0;
    plot.high = std::max(plot.low + 0.5, std::ceil(std::log10(most) * 2.0) / 2.0);
    return plot;
}

void drawBand(QPainter& painter, const LogPlot& plot, const Theme& theme) {
    const double low = std::pow(10.0, plot.low);
    const double high = std::pow(10.0, plot.high);
    painter.save();
    painter.setClipRect(plot.box);
    painter.setPen(Qt::NoPen);
    painter.setBrush(theme.bubble);
    painter.drawPolygon(QPolygonF({plot.at(low, low * (1.0 - band)), plot.at(low, low * (1.0 + band)),
                                   plot.at(high, high * (1.0 + band)), plot.at(high, high * (1.0 - band))}));
    painter.setPen(QPen(theme.text, 1));
    painter.drawLine(plot.at(low, low), plot.at(high, high));
    painter.restore();
}

void drawAxes(QPainter& painter, const LogPlot& plot, const Theme& theme) {
    painter.setFont(viewFont(0.9));
    const QFontMetrics metrics = metricsOf(painter, painter.font());
    for (int decade = static_cast<int>(std::ceil(plot.low)); decade <= plot.high; ++decade) {
        const double time = std::pow(10.0, decade);
        const QPointF at = plot.at(time, time);
        painter.setPen(theme.grid);
        painter.drawLine(QPointF(at.x(), plot.box.top()), QPointF(at.x(), plot.box.bottom()));
        painter.drawLine(QPointF(plot.box.left(), at.y()), QPointF(plot.box.right(), at.y()));
        painter.setPen(theme.faintText);
        const QString text = axisText(time, 2.0 * time);
        painter.drawText(
            QPointF(at.x() - metrics.horizontalAdvance(text) / 2.0, plot.box.bottom() + metrics.ascent() + 2), text);
        painter.drawText(
            QPointF(plot.box.left() - metrics.horizontalAdvance(text) - 4, at.y() + metrics.ascent() / 2.0), text);
    }
    painter.setPen(theme.faintText);
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(plot.box);
    painter.setPen(theme.text);
    const int line = metrics.lineSpacing();
    painter.drawText(QRectF(plot.box.left(), plot.box.bottom() + line, plot.box.width(), line), Qt::AlignRight,
                     "predicted length \u2192");
    painter.save();
    painter.translate(plot.box.left() - metrics.horizontalAdvance("000 ms") - line, plot.box.bottom());
    painter.rotate(-90);
    painter.drawText(QRectF(0, 0, plot.box.height(), line), Qt::AlignRight, "measured length \u2192");
    painter.restore();
    painter.setPen(theme.faintText);
    painter.drawText(QRectF(plot.box.left() + chart_margin, plot.box.top() + 2, plot.box.width(), line), Qt::AlignLeft,
                     "took longer than predicted");
    painter.drawText(QRectF(plot.box.left(), plot.box.bottom() - line - 2, plot.box.width() - chart_margin, line),
                     Qt::AlignRight, "took shorter than predicted");
}

/// One mark per pixel and kind, however many spans there are.
void drawPoints(QPainter& painter, const LogPlot& plot, const Overlay& overlay, const Theme& theme) {
    std::set<std::pair<int, std::pair<int, int>>> drawn;
    painter.save();
    painter.setClipRect(plot.box.adjusted(-4, -4, 4, 4));
    painter.setRenderHint(QPainter::Antialiasing);
    for (const OverlayPoint& point : overlay.points) {
        const QPointF at = plot.at(static_cast<double>(point.predicted), static_cast<double>(point.measured));
        if (!drawn.insert({static_cast<int>(point.kind), {qRound(at.x()), qRound(at.y())}}).second) continue;
        painter.setPen(QPen(theme.window, 0.5));
        painter.setBrush(theme.fill(point.kind));
        painter.drawEllipse(at, 3.5, 3.5);
    }
    painter.restore();
}

}  // namespace

void paintOverlay(QPainter& painter, const QRect& area, const Overlay& overlay, const Theme& theme) {
    painter.fillRect(area, theme.window);
    const LogPlot plot = plotOf(*painter.device(), area, overlay, theme);
    painter.setFont(headlineFont());
    painter.setPen(theme.text);
    QRect line(area.left() + chart_margin, area.top() + chart_margin, area.width() - 2 * chart_margin,
               metricsOf(painter, headlineFont()).lineSpacing());
    drawElided(painter, line, Qt::AlignLeft | Qt::AlignVCenter, overlaySentence(overlay));
    drawLegend(painter, QRect(line.left(), line.bottom() + 1, line.width(), 0), legendOf(overlay, theme), theme);
    drawBand(painter, plot, theme);
    drawAxes(painter, plot, theme);
    drawPoints(painter, plot, overlay, theme);
    painter.setFont(viewFont());
    painter.setPen(theme.faintText);
    const int height = metricsOf(painter, viewFont()).lineSpacing();
    drawElided(painter, QRect(line.left(), area.bottom() - height - chart_margin / 2, line.width(), height),
               Qt::AlignLeft | Qt::AlignVCenter,
               overlay.fromAccounts ? "No spans to match: points are the accounts of ranks"
                                    : matchSentence(overlay.comparison));
}

std::optional<std::size_t> overlayPointAt(const QPaintDevice& device, const QRect& area, const Overlay& overlay,
                                          const QPoint& place) {
    constexpr double reach = 7.0;
    const LogPlot plot = plotOf(device, area, overlay, theme(ThemeKind::light));
    std::size_t nearest = overlay.points.size();
    double best = reach * reach;
    for (std::size_t i = 0; i < overlay.points.size(); ++i) {
        const OverlayPoint& point = overlay.points[i];
        const QPointF away =
            plot.at(static_cast<double>(point.predicted), static_cast<double>(point.measured)) - QPointF(place);
        const double distance = QPointF::dotProduct(away, away);
        if (distance > best) continue;
        best = distance;
        nearest = i;
    }
    return nearest < overlay.points.size() ? std::optional(nearest) : std::nullopt;
}

}  // namespace foreshard::gui
