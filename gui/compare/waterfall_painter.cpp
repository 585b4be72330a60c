#include "gui/compare/waterfall_painter.hpp"

#include <QPolygonF>
#include <algorithm>
#include <cmath>

#include "gui/charts/draw.hpp"

namespace foreshard::gui {

namespace {

constexpr std::size_t most_bars = 9;

QString nameOf(StepTerm term) {
    const std::string_view name = to_string(term);
    return qt(name);
}

/// The part of the time axis that is drawn.
struct Scale {
    double begin = 0.0;  ///< picoseconds; above 0: the axis is cut off
    double end = 1.0;
    QRectF box;

    double x(Picoseconds time) const {
        return box.left() + (static_cast<double>(time) - begin) / (end - begin) * box.width();
    }
};

/// Changes take at least a third of the width: what is common to both may be cut off.
Scale scaleOf(const std::vector<WaterfallBar>& bars, const QRectF& box) {
    Picoseconds low = bars.front().to;
    Picoseconds high = low;
    for (const WaterfallBar& bar : bars) {
        low = std::min(low, bar.to);
        high = std::max(high, bar.to);
    }
    const auto range = static_cast<double>(high - low);
    const auto top = static_cast<double>(high);
    if (range <= 0.0 || range * 3.0 >= top) return {0.0, std::max(1.0, top), box};
    return {static_cast<double>(low) - range / 2.0, top, box};
}

struct RowBox {
    QRectF name;
    QRectF bar;
};

struct RowLayout {
    double nameWidth = 0.0;
    double valueWidth = 0.0;
    double rowHeight = 0.0;
    QRectF bars;
};

QString valueOf(const WaterfallBar& bar) {
    return bar.kind == WaterfallBar::Kind::change ? differenceText(bar.change()) : durationText(bar.to);
}

QString labelOf(const WaterfallBar& bar, const QString& nameA, const QString& nameB) {
    switch (bar.kind) {
        case WaterfallBar::Kind::total_a:
            return "A: " + nameA;
        case WaterfallBar::Kind::total_b:
            return "B: " + nameB;
        case WaterfallBar::Kind::change:
            break;
    }
    return bar.name;
}

RowLayout layoutOf(const QPainter& painter, const QRect& area, const std::vector<WaterfallBar>& bars,
                   const QString& nameA, const QString& nameB) {
    const QFontMetrics metrics = metricsOf(painter, viewFont());
    RowLayout layout;
    for (const WaterfallBar& bar : bars) {
        layout.nameWidth = std::max<double>(layout.nameWidth, metrics.horizontalAdvance(labelOf(bar, nameA, nameB)));
        layout.valueWidth = std::max<double>(layout.valueWidth, metrics.horizontalAdvance(valueOf(bar)));
    }
    layout.nameWidth = std::min(layout.nameWidth, area.width() / 3.0) + 2 * tight_margin;
    layout.valueWidth += 2 * tight_margin;
    const double height = area.height() - metrics.lineSpacing() - 2.0 * tight_margin;
    layout.rowHeight = std::min(height / static_cast<double>(bars.size()), 1.8 * metrics.lineSpacing());
    layout.bars = QRectF(area.left() + layout.nameWidth, area.top() + tight_margin,
                         std::max(10.0, area.width() - layout.nameWidth - layout.valueWidth),
                         layout.rowHeight * static_cast<double>(bars.size()));
    return layout;
}

/// A white zigzag across a bar: its left part is missing.
void drawCut(QPainter& painter, const QRectF& box, const Theme& theme) {
    QPolygonF zigzag;
    const double x = box.left() + 10.0;
    for (int i = 0; i <= 4; ++i) zigzag << QPointF(x + (i % 2 == 0 ? -3.0 : 3.0), box.top() + box.height() * i / 4.0);
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(theme.window, 4));
    painter.drawPolyline(zigzag);
}

QColor colorOf(const WaterfallBar& bar, const Theme& theme) {
    if (bar.kind != WaterfallBar::Kind::change) return theme.faintText;
    return bar.change() > 0 ? theme.late : theme.early;
}

void drawBar(QPainter& painter, const WaterfallBar& bar, const Scale& scale, const QRectF& row, const Theme& theme) {
    const bool total = bar.kind != WaterfallBar::Kind::change;
    const double from = total ? scale.box.left() : scale.x(bar.from);
    const double left = std::min(from, scale.x(bar.to));
    const double width = std::max(1.5, std::abs(scale.x(bar.to) - from));
    const double gap = row.height() * 0.14;
    const QRectF box(left, row.top() + gap, width, row.height() - 2 * gap);
    fillPatterned(painter, box, colorOf(bar, theme), bar.change() > 0 && !total ? Qt::BDiagPattern : Qt::SolidPattern);
    if (total && scale.begin > 0.0) drawCut(painter, box, theme);
    painter.setPen(theme.text);
    painter.drawText(QRectF(box.right() + tight_margin, row.top(), 10000, row.height()),
                     Qt::AlignLeft | Qt::AlignVCenter, valueOf(bar));
    if (bar.kind == WaterfallBar::Kind::total_b) return;
    painter.setPen(QPen(theme.faintText, 1, Qt::DotLine));
    painter.drawLine(QPointF(scale.x(bar.to), box.bottom()), QPointF(scale.x(bar.to), row.bottom() + gap));
}

void drawAxis(QPainter& painter, const Scale& scale, const Theme& theme) {
    painter.setFont(viewFont(0.9));
    const QFontMetrics metrics = metricsOf(painter, painter.font());
    for (const double tick :
         niceTicks(scale.begin / 1e9, scale.end / 1e9, std::max(2, static_cast<int>(scale.box.width() / 110.0)))) {
        const double x = scale.x(static_cast<Picoseconds>(tick * 1e9));
        painter.setPen(theme.grid);
        painter.drawLine(QPointF(x, scale.box.top()), QPointF(x, scale.box.bottom() + 3));
        painter.setPen(theme.faintText);
        const QString text = axisText(tick * 1e9, scale.end);
        painter.drawText(QPointF(x - metrics.horizontalAdvance(text) / 2.0, scale.box.bottom() + 4 + metrics.ascent()),
                         text);
    }
}

QString shareOf(Picoseconds change, Picoseconds step) {
    return QString::number(
               100.0 * std::abs(static_cast<double>(change)) / static_cast<double>(std::max<Picoseconds>(1, step)), 'f',
               1) +
           " %";
}

}  // namespace

std::vector<WaterfallBar> waterfallBars(const Waterfall& waterfall, std::size_t most) {
    std::vector<WaterfallBar> bars = {{WaterfallBar::Kind::total_a, "A", 0, waterfall.step_a}};
    Picoseconds at = waterfall.step_a;
    const std::vector<StepTerm> terms = largest_first(waterfall);
    const auto size = [&](std::size_t i) { return std::abs(waterfall.difference[static_cast<std::size_t>(terms[i])]); };
    std::size_t single = terms.size() <= most ? terms.size() : most - 1;
    while (single > 0 && size(single - 1) * 1000 < size(0)) --single;
    for (std::size_t i = 0; i < single; ++i) {
        const Picoseconds change = waterfall.difference[static_cast<std::size_t>(terms[i])];
        bars.push_back({WaterfallBar::Kind::change, nameOf(terms[i]), at, at + change});
        at += change;
    }
    if (single < terms.size()) {
        bars.push_back(
            {WaterfallBar::Kind::change, QString("%1 smaller terms").arg(terms.size() - single), at, waterfall.step_b});
    }
    bars.push_back({WaterfallBar::Kind::total_b, "B", 0, waterfall.step_b});
    return bars;
}

QString waterfallSentence(const Waterfall& waterfall) {
    const Picoseconds change = waterfall.step_b - waterfall.step_a;
    QString text = change == 0 ? QString("A and B take the same time, %1").arg(durationText(waterfall.step_a))
                               : QString("B is %1 (%2) %3 than A")
                                     .arg(durationText(std::abs(change)), shareOf(change, waterfall.step_a),
                                          change < 0 ? "faster" : "slower");
    int named = 0;
    for (const StepTerm term : largest_first(waterfall)) {
        const Picoseconds part = waterfall.difference[static_cast<std::size_t>(term)];
        if (named == 3 || std::abs(part) * 50 < std::abs(change)) break;
        text += QString("%1%2 %3").arg(named == 0 ? ": " : ", ", nameOf(term), differenceText(part));
        ++named;
    }
    return text;
}

int waterfallHeight(const QPaintDevice& device, const Waterfall& waterfall) {
    const int line = metricsOf(device, viewFont()).lineSpacing();
    const auto bars = static_cast<int>(waterfallBars(waterfall, most_bars).size());
    return static_cast<int>(1.6 * line * bars) + line + 2 * tight_margin;
}

void paintWaterfall(QPainter& painter, const QRect& area, const Waterfall& waterfall, const QString& nameA,
                    const QString& nameB, const Theme& theme) {
    const std::vector<WaterfallBar> bars = waterfallBars(waterfall, most_bars);
    const RowLayout layout = layoutOf(painter, area, bars, nameA, nameB);
    const Scale scale = scaleOf(bars, layout.bars);
    drawAxis(painter, scale, theme);
    for (std::size_t i = 0; i < bars.size(); ++i) {
        const QRectF row(area.left(), layout.bars.top() + static_cast<double>(i) * layout.rowHeight, area.width(),
                         layout.rowHeight);
        QFont font = viewFont();
        font.setBold(bars[i].kind != WaterfallBar::Kind::change);
        painter.setFont(font);
        painter.setPen(theme.text);
        drawElided(painter, QRectF(row.left(), row.top(), layout.nameWidth - 2 * tight_margin, row.height()).toRect(),
                   Qt::AlignRight | Qt::AlignVCenter, labelOf(bars[i], nameA, nameB));
        drawBar(painter, bars[i], scale, row, theme);
    }
    if (scale.begin <= 0.0) return;
    painter.setFont(viewFont(0.9));
    painter.setPen(theme.faintText);
    const QRect note(area.left(), static_cast<int>(layout.bars.bottom()) + 4, static_cast<int>(layout.nameWidth),
                     metricsOf(painter, painter.font()).lineSpacing());
    drawElided(painter, note, Qt::AlignLeft | Qt::AlignVCenter, "axis does not start at 0");
}

}  // namespace foreshard::gui
