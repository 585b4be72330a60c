#include "gui/plans/heat_map.hpp"

#include <QStringList>
#include <algorithm>
#include <set>

#include "gui/charts/draw.hpp"
#include "gui/plans/plan_table.hpp"

namespace foreshard::gui {

namespace {

int degree(const SearchPlan& plan, const char* key) {
    const auto value = plan.plan.find(key);
    return value == plan.plan.end() ? 1 : QString::fromStdString(value->second).toInt();
}

void add(HeatCell& cell, const ReadSearch& search, std::size_t plan) {
    ++cell.plans;
    const PlanState state = planState(search, plan);
    if (state == PlanState::infeasible || state == PlanState::does_not_fit) return;
    const double speed = search.plans[plan].figure("tokens_per_s").value_or(0.0);
    if (cell.best && speed <= cell.speed) return;
    cell.best = plan;
    cell.speed = speed;
}

/// Of the plans that are listed with the cell's degrees: the nearest miss, and why others cannot run.
QString reasonsOf(const PlansScene& scene, const HeatCell& cell) {
    constexpr int most = 4;
    QStringList reasons;
    std::optional<std::size_t> nearest;
    const auto need = [&](std::size_t plan) {
        return scene.search->plans[plan].figure("peak_memory_bytes").value_or(0.0);
    };
    for (std::size_t i = 0; i < scene.search->plans.size(); ++i) {
        const SearchPlan& plan = scene.search->plans[i];
        if (!scene.shows(i) || degree(plan, "tp") != cell.tp || degree(plan, "pp") != cell.pp) continue;
        const QString reason = qt(plan.infeasible);
        if (reason.isEmpty()) {
            if (!plan.fits && (!nearest || need(i) < need(*nearest))) nearest = i;
        } else if (!reasons.contains(reason) && reasons.size() < most) {
            reasons << reason;
        }
    }
    if (!cell.refused.isEmpty()) reasons.prepend(cell.refused);
    if (nearest) reasons.prepend("the nearest miss: " + planText(*scene.search, *nearest));
    return reasons.join('\n');
}

struct CellGrid {
    QRectF box;
    double width = 1.0;
    double height = 1.0;

    QRectF cell(std::size_t column, std::size_t row) const {
        return {box.left() + static_cast<double>(column) * width, box.top() + static_cast<double>(row) * height, width,
                height};
    }
};

CellGrid gridOf(const QPaintDevice& device, const QRect& area, const HeatMap& map) {
    const QFontMetrics metrics = metricsOf(device, viewFont());
    CellGrid grid;
    grid.box = QRectF(area).adjusted(metrics.horizontalAdvance("PP 000") + chart_margin, 3 * metrics.lineSpacing(),
                                     -chart_margin, -chart_margin);
    grid.width = grid.box.width() / static_cast<double>(std::max<std::size_t>(1, map.tp.size()));
    grid.height = std::min(grid.box.height() / static_cast<double>(std::max<std::size_t>(1, map.pp.size())),
                           4.0 * metrics.lineSpacing());
    return grid;
}

/// From a pale tint of the accent (slowest) to the accent (fastest).
QColor shade(const Theme& theme, double share) {
    const double weight = 0.12 + 0.88 * share;
    const auto mix = [&](float ground, float full) { return static_cast<float>(ground + (full - ground) * weight); };
    return QColor::fromRgbF(mix(theme.window.redF(), theme.accent.redF()),
                            mix(theme.window.greenF(), theme.accent.greenF()),
                            mix(theme.window.blueF(), theme.accent.blueF()));
}

void drawCell(QPainter& painter, const QRectF& box, const HeatCell& cell, const HeatMap& map, const PlansScene& scene) {
    const Theme& colors = theme(scene.theme);
    if (!cell.best && !cell.hatched()) {
        painter.fillRect(box, colors.window);
    } else if (!cell.best) {
        painter.fillRect(box, colors.bubble);
        painter.fillRect(box, QBrush(colors.capacity, Qt::BDiagPattern));
    } else {
        const double range = map.most - map.least;
        painter.fillRect(box, shade(colors, range > 0.0 ? (cell.speed - map.least) / range : 1.0));
    }
    painter.setPen(colors.window);
    painter.drawRect(box);
    const QFontMetrics metrics = metricsOf(painter, painter.font());
    QString text = cell.best ? figureText(cell.speed) : cell.hatched() ? QString("none fits") : QString("-");
    const std::optional<double> mfu = cell.best ? scene.search->plans[*cell.best].figure("mfu_ratio") : std::nullopt;
    if (mfu && box.height() > 2 * metrics.lineSpacing()) {
        const QString named = "MFU " + percentText(*mfu);
        text += "\n" + (metrics.horizontalAdvance(named) < box.width() ? named : percentText(*mfu));
    }
    if (cell.hatched()) {
        const double width = metrics.horizontalAdvance(text) + 6.0;
        painter.fillRect(
            QRectF(box.center().x() - width / 2, box.center().y() - metrics.height() / 2.0, width, metrics.height()),
            colors.window);
    }
    const double range = std::max(1e-9, map.most - map.least);
    painter.setPen(cell.best ? labelOn(shade(colors, map.most > map.least ? (cell.speed - map.least) / range : 1.0))
                             : colors.text);
    if (metrics.horizontalAdvance("00000") < box.width()) painter.drawText(box, Qt::AlignCenter, text);
    const bool chosen = cell.best && static_cast<int>(*cell.best) == scene.chosen;
    if (!chosen && !(cell.best && cell.speed == map.most)) return;
    painter.setPen(QPen(colors.text, 2, chosen ? Qt::DashLine : Qt::SolidLine));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(box.adjusted(2, 2, -2, -2));
}

}  // namespace

HeatMap heatMapOf(const PlansScene& scene) {
    HeatMap map;
    std::set<int> tp;
    std::set<int> pp;
    for (const SearchPlan& plan : scene.search->plans) {
        tp.insert(degree(plan, "tp"));
        pp.insert(degree(plan, "pp"));
    }
    for (const RefusedDegrees& refused : scene.search->refused) {
        tp.insert(refused.tp);
        pp.insert(refused.pp);
    }
    map.tp.assign(tp.begin(), tp.end());
    map.pp.assign(pp.begin(), pp.end());
    for (const int p : map.pp) {
        for (const int t : map.tp) map.cells.push_back({t, p, {}, 0, 0.0, {}});
    }
    const auto cellOf = [&map](int t, int p) -> HeatCell& {
        const auto column = std::lower_bound(map.tp.begin(), map.tp.end(), t) - map.tp.begin();
        const auto row = std::lower_bound(map.pp.begin(), map.pp.end(), p) - map.pp.begin();
        return map.cells[static_cast<std::size_t>(row) * map.tp.size() + static_cast<std::size_t>(column)];
    };
    for (const RefusedDegrees& refused : scene.search->refused) {
        cellOf(refused.tp, refused.pp).refused = qt(refused.reason);
    }
    for (std::size_t i = 0; i < scene.search->plans.size(); ++i) {
        if (!scene.shows(i)) continue;
        const SearchPlan& plan = scene.search->plans[i];
        add(cellOf(degree(plan, "tp"), degree(plan, "pp")), *scene.search, i);
    }
    bool first = true;
    for (const HeatCell& cell : map.cells) {
        if (!cell.best) continue;
        map.least = first ? cell.speed : std::min(map.least, cell.speed);
        map.most = std::max(map.most, cell.speed);
        first = false;
    }
    return map;
}

QString heatCellText(const PlansScene& scene, const HeatCell& cell) {
    const QString head = QString("TP %1 \u00d7 PP %2").arg(cell.tp).arg(cell.pp);
    if (cell.best) return head + ", best of those listed:\n" + planText(*scene.search, *cell.best);
    if (cell.hatched()) return head + ": nothing fits\n" + reasonsOf(scene, cell);
    return head + ": no plan is listed";
}

void paintHeatMap(QPainter& painter, const QRect& area, const PlansScene& scene) {
    const Theme& colors = theme(scene.theme);
    painter.fillRect(area, colors.window);
    const HeatMap map = heatMapOf(scene);
    const CellGrid grid = gridOf(*painter.device(), area, map);
    QFont bold = viewFont();
    bold.setBold(true);
    painter.setFont(bold);
    painter.setPen(colors.text);
    const int line = metricsOf(painter, bold).lineSpacing();
    drawElided(painter,
               QRect(area.left() + chart_margin, area.top() + chart_margin, area.width() - 2 * chart_margin, line),
               Qt::AlignLeft, "Best tokens/s for each TP \u00d7 PP (hatched: nothing fits)");
    painter.setFont(viewFont());
    for (std::size_t column = 0; column < map.tp.size(); ++column) {
        const QRectF head(grid.cell(column, 0).left(), grid.box.top() - line, grid.width, line);
        painter.setPen(colors.text);
        painter.drawText(head, Qt::AlignCenter, QString("TP %1").arg(map.tp[column]));
    }
    for (std::size_t row = 0; row < map.pp.size(); ++row) {
        painter.setPen(colors.text);
        painter.drawText(QRectF(area.left() + chart_margin, grid.cell(0, row).top(),
                                grid.box.left() - area.left() - 2 * chart_margin, grid.height),
                         Qt::AlignRight | Qt::AlignVCenter, QString("PP %1").arg(map.pp[row]));
        for (std::size_t column = 0; column < map.tp.size(); ++column) {
            drawCell(painter, grid.cell(column, row), map.cells[row * map.tp.size() + column], map, scene);
        }
    }
}

std::optional<HeatCell> heatCellAt(const QPaintDevice& device, const QRect& area, const PlansScene& scene,
                                   const QPoint& place) {
    const HeatMap map = heatMapOf(scene);
    const CellGrid grid = gridOf(device, area, map);
    for (std::size_t i = 0; i < map.cells.size(); ++i) {
        if (grid.cell(i % map.tp.size(), i / map.tp.size()).contains(place)) return map.cells[i];
    }
    return {};
}

}  // namespace foreshard::gui
