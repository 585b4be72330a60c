#include "gui/timeline/ruler.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "gui/timeline/label_atlas.hpp"
#include "gui/timeline/rows_painter.hpp"

namespace foreshard::gui {

namespace {

struct Unit {
    Picoseconds length;
    const char* name;
};
constexpr std::array<Unit, 4> units = {
    {{1'000'000'000'000, "s"}, {1'000'000'000, "ms"}, {1'000'000, "us"}, {1000, "ns"}}};

/// The largest unit that is not longer than ten steps, so that a few digits do.
const Unit& unitOf(Picoseconds step) {
    for (const Unit& unit : units) {
        if (step * 10 >= unit.length) return unit;
    }
    return units.back();
}

Picoseconds stepOf(const TimelineFrame& frame) {
    const double pixels = 6.0 * frame.metrics.text;
    return tickStep(pixels / frame.axis.pixelsPerPicosecond());
}

/// Times of the axis at which the ticks of the visible part stand.
std::vector<Picoseconds> ticksOf(const TimelineFrame& frame) {
    const Picoseconds origin = frame.scene->runs.front().spans().window_begin;
    const Picoseconds step = stepOf(frame);
    std::vector<Picoseconds> ticks;
    Picoseconds time = (frame.axis.begin - origin) / step * step + origin;
    if (time < frame.axis.begin) time += step;
    ticks.reserve(static_cast<std::size_t>((frame.axis.end - time) / step + 1));
    for (; time < frame.axis.end; time += step) ticks.push_back(time);
    return ticks;
}

struct Band {
    Picoseconds begin;
    Picoseconds end;
    QString name;
    QColor color;
};

QColor blend(const QColor& under, const QColor& over, double share) {
    return {mixed(under.rgb(), over.rgb(), share)};
}

std::vector<Band> bandsOf(const TimelineFrame& frame) {
    const ShownRun& shown = frame.scene->runs[frame.scene->comparesTwo() ? 1 : 0];
    const Theme& theme = frame.scene->theme();
    std::vector<Band> bands;
    if (shown.phases) {
        const PipelinePhases& phases = *shown.phases;
        const QColor ramp = blend(theme.panel, theme.accent, 0.16);
        bands.push_back({phases.begin, phases.steady_begin, "warm-up", ramp});
        bands.push_back({phases.steady_begin, phases.steady_end, "steady", blend(theme.panel, theme.accent, 0.4)});
        bands.push_back({phases.steady_end, phases.end, "cool-down", ramp});
        bands.push_back({phases.end, shown.spans().window_end, "rest of the step", theme.panel});
    }
    for (Band& band : bands) {
        band.begin += shown.shift;
        band.end += shown.shift;
    }
    return bands;
}

void paintBand(QPainter& painter, const TimelineFrame& frame, const Band& band, const QRect& line) {
    const double left = std::clamp<double>(frame.x(band.begin), line.left(), line.right() + 1);
    const double right = std::clamp<double>(frame.x(band.end), line.left(), line.right() + 1);
    if (right - left < 1.0) return;
    const QRectF place(left, line.top(), right - left, line.height());
    painter.fillRect(place, band.color);
    painter.setPen(frame.scene->theme().window);
    painter.drawLine(QPointF(left, line.top()), QPointF(left, line.bottom()));
    painter.setPen(frame.scene->theme().text);
    for (const QString& text : {band.name + " " + timeText(band.end - band.begin), band.name}) {
        if (painter.fontMetrics().horizontalAdvance(text) + 6 > place.width()) continue;
        painter.drawText(place, Qt::AlignCenter, text);
        return;
    }
}

void paintTicks(QPainter& painter, const TimelineFrame& frame, const QRect& line) {
    const Theme& theme = frame.scene->theme();
    const Picoseconds origin = frame.scene->runs.front().spans().window_begin;
    const Picoseconds step = stepOf(frame);
    for (const Picoseconds tick : ticksOf(frame)) {
        const double x = std::round(frame.x(tick)) + 0.5;
        painter.setPen(theme.faintText);
        painter.drawLine(QPointF(x, line.bottom() - 4), QPointF(x, line.bottom()));
        painter.setPen(theme.text);
        const QString text = tickText(tick - origin, step);
        if (x + 3 + painter.fontMetrics().horizontalAdvance(text) > line.right()) continue;
        painter.drawText(QPointF(x + 3, line.bottom() - 4), text);
    }
}

}  // namespace

Picoseconds tickStep(double least) {
    const double power = std::pow(10.0, std::floor(std::log10(std::max(least, 1.0))));
    for (const double factor : {1.0, 2.0, 5.0}) {
        if (factor * power >= least) return static_cast<Picoseconds>(factor * power);
    }
    return static_cast<Picoseconds>(10.0 * power);
}

QString tickText(Picoseconds time, Picoseconds step) {
    if (time == 0) return "0";
    const Unit& unit = unitOf(step);
    int decimals = 0;
    for (Picoseconds part = unit.length; part > step && decimals < 3; part /= 10) ++decimals;
    const double value = static_cast<double>(time) / static_cast<double>(unit.length);
    return QString("%1 %2").arg(value, 0, 'f', decimals).arg(unit.name);
}

void paintRuler(QPainter& painter, const TimelineFrame& frame) {
    painter.save();
    painter.setClipRect(frame.ruler);
    painter.setFont(pixelFont(0.9));
    painter.fillRect(frame.ruler, frame.scene->theme().panel);
    const int half = frame.metrics.text + 2;
    const QRect phases(frame.ruler.left(), frame.ruler.top(), frame.ruler.width(), half);
    for (const Band& band : bandsOf(frame)) paintBand(painter, frame, band, phases);
    paintTicks(painter, frame, frame.ruler.adjusted(0, half, 0, 0));
    painter.restore();
}

void paintGrid(QPainter& painter, const TimelineFrame& frame) {
    QColor color = frame.scene->theme().faintText;
    color.setAlphaF(0.25F);
    painter.setPen(color);
    const int bottom = std::min(frame.rows.bottom(), frame.rows.top() + frame.layout->scrolledHeight - frame.scroll);
    for (const Picoseconds tick : ticksOf(frame)) {
        const double x = std::round(frame.x(tick)) + 0.5;
        painter.drawLine(QPointF(x, frame.pinned.top()), QPointF(x, bottom));
    }
}

}  // namespace foreshard::gui
