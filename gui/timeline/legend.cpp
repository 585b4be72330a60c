#include "gui/timeline/legend.hpp"

#include <set>

#include "gui/timeline/label_atlas.hpp"
#include "gui/timeline/rows_painter.hpp"

namespace foreshard::gui {

namespace {

/// Kinds of the rows that are shown: of folded lanes nothing.
std::set<SpanKind> kindsOf(const TimelineScene& scene) {
    std::set<SpanKind> kinds;
    for (std::size_t run = 0; run < scene.shownRuns(); ++run) {
        const ShownRun& shown = scene.runs[run];
        for (std::size_t row = 0; row < shown.spans().rows.size(); ++row) {
            const bool folded = scene.choice.expanded.empty() && shown.spans().rows[row].lane != SpanLane::compute;
            if (folded) continue;
            for (const SpanClass& its : shown.coverage->classes(row)) kinds.insert(its.kind);
        }
    }
    return kinds;
}

QString nameOf(SpanKind kind) {
    const QString name = QString::fromUtf8(to_string(kind).data());
    const QString first = QChar::fromLatin1(letter(kind));
    return is_compute(kind) ? first + " " + name : name;
}

void addLateEarly(std::vector<LegendItem>& items, const TimelineScene& scene) {
    if (!scene.lateness) return;
    const std::size_t onlyA = scene.lateness->onlyFirst.spans.size();
    const std::size_t onlyB = scene.lateness->onlyInSecond;
    const QString match = QString("matched %1 %").arg(100.0 * scene.lateness->matchRatio, 0, 'f', 1);
    if (scene.choice.mode == TimelineMode::diff) {
        items.push_back({SpanKind::other, "up: later than A (full: 50 % of A's step)", scene.theme().late});
        items.push_back({SpanKind::other, "down: earlier", scene.theme().early});
        items.push_back({SpanKind::other,
                         QString("%1; hatched: %2 only in B, %3 only in A").arg(match).arg(onlyB).arg(onlyA),
                         scene.theme().panel, Qt::CrossPattern});
    }
    if (scene.choice.mode == TimelineMode::overlay) {
        items.push_back({SpanKind::other, "outline, or upper part of a row: A", scene.theme().window});
        items.push_back({SpanKind::other,
                         QString("%1; hatched: %2 only in B; %3 only in A").arg(match).arg(onlyB).arg(onlyA),
                         scene.theme().panel, Qt::CrossPattern});
    }
}

int paintItem(QPainter& painter, const Theme& theme, const LegendItem& item, QPoint place, int size) {
    const QRect box(place.x(), place.y() - size / 2, size + 4, size);
    painter.fillRect(box, item.fill);
    if (item.pattern != Qt::SolidPattern) painter.fillRect(box, QBrush(QColor(0, 0, 0, 110), item.pattern));
    painter.setPen(theme.grid);
    painter.drawRect(box.adjusted(0, 0, -1, -1));
    painter.setPen(theme.text);
    const int width = painter.fontMetrics().horizontalAdvance(item.text);
    const QRect text(box.right() + 5, place.y() - size, width + 2, 2 * size);
    painter.drawText(text, Qt::AlignVCenter | Qt::AlignLeft, item.text);
    return text.right() + size;
}

}  // namespace

std::vector<LegendItem> timelineLegend(const TimelineScene& scene) {
    std::vector<LegendItem> items;
    addLateEarly(items, scene);  // first, so that a narrow picture keeps what is not known from elsewhere
    for (const SpanKind kind : kindsOf(scene)) {
        items.push_back({kind, nameOf(kind), scene.theme().fill(kind), Theme::pattern(kind)});
    }
    items.push_back({SpanKind::other, "bubble (rank waits)", scene.theme().bubble});
    return items;
}

void paintLegend(QPainter& painter, const TimelineScene& scene, QRect area) {
    painter.save();
    painter.setFont(pixelFont(0.9));
    painter.setClipRect(area);
    const int size = painter.fontMetrics().ascent();
    int x = area.left();
    for (const LegendItem& item : timelineLegend(scene)) {
        const int width = painter.fontMetrics().horizontalAdvance(item.text) + 2 * size + 9;
        if (x + width > area.right()) break;
        x = paintItem(painter, scene.theme(), item, {x, area.center().y()}, size);
    }
    painter.restore();
}

}  // namespace foreshard::gui
