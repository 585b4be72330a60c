#include "gui/plans/pareto_painter.hpp"

#include <QPolygonF>
#include <algorithm>

#include "gui/charts/draw.hpp"
#include "gui/plans/plan_table.hpp"
#include "gui/plans/speed_axis.hpp"
#include "sim/prefixes.hpp"

namespace foreshard::gui {

namespace {

struct Plot {
    QRectF box;
    double mostMemory = 1.0;  ///< bytes
    double leastSpeed = 0.0;  ///< tokens per second
    double mostSpeed = 1.0;

    QPointF at(double memory, double speed) const {
        return {box.left() + memory / mostMemory * box.width(),
                box.bottom() - (speed - leastSpeed) / (mostSpeed - leastSpeed) * box.height()};
    }
};

struct Place {
    std::size_t plan = 0;
    double memory = 0.0;
    double speed = 0.0;
};

std::vector<Place> placesOf(const PlansScene& scene) {
    std::vector<Place> places;
    for (std::size_t i = 0; i < scene.search->plans.size(); ++i) {
        const std::optional<double> memory = scene.search->plans[i].figure("peak_memory_bytes");
        const std::optional<double> speed = scene.search->plans[i].figure("tokens_per_s");
        if (memory && speed && scene.shows(i)) places.push_back({i, *memory, *speed});
    }
    return places;
}

double capacityOf(const ReadSearch& search) {
    for (const SearchPlan& plan : search.plans) {
        if (const std::optional<double> capacity = plan.figure("memory_capacity_bytes")) return *capacity;
    }
    return 0.0;
}

/// Plans that need far more than there is would squeeze the others into a corner: the axis ends before them, and the
/// picture says how many they are.
constexpr double most_over_capacity = 1.5;

std::vector<Place> insidePlaces(const PlansScene& scene) {
    std::vector<Place> places = placesOf(scene);
    const double limit = most_over_capacity * capacityOf(*scene.search);
    const auto beyond = [&](const Place& place) { return limit > 0.0 && place.memory > limit; };
    places.erase(std::remove_if(places.begin(), places.end(), beyond), places.end());
    return places;
}

Plot plotOf(const QPaintDevice& device, const QRect& area, const PlansScene& scene) {
    const QFontMetrics metrics = metricsOf(device, viewFont(0.9));
    Plot plot;
    plot.box = QRectF(area).adjusted(speedAxisWidth(metrics), 3 * metrics.lineSpacing(), -2 * chart_margin,
                                     -2.5 * metrics.lineSpacing() - chart_margin);
    double least = 1e300;
    double most = 0.0;
    plot.mostMemory = std::max(1.0, 1.1 * capacityOf(*scene.search));
    for (const Place& place : insidePlaces(scene)) {
        plot.mostMemory = std::max(plot.mostMemory, 1.05 * place.memory);
        least = std::min(least, place.speed);
        most = std::max(most, place.speed);
    }
    if (most <= 0.0) return plot;
    const double room = std::max(0.08 * (most - least), 0.02 * most);
    plot.leastSpeed = std::max(0.0, least - room);
    plot.mostSpeed = most + room;
    return plot;
}

void drawAxes(QPainter& painter, const Plot& plot, const Theme& theme) {
    drawSpeedAxis(painter, plot.box, plot.leastSpeed, plot.mostSpeed, "tokens/s", theme);
    const int line = metricsOf(painter, painter.font()).lineSpacing();
    for (const double tick :
         niceTicks(0.0, plot.mostMemory / gibi, std::max(2, static_cast<int>(plot.box.width() / 70)))) {
        const double x = plot.at(tick * gibi, plot.leastSpeed).x();
        painter.setPen(theme.grid);
        painter.drawLine(QPointF(x, plot.box.top()), QPointF(x, plot.box.bottom()));
        painter.setPen(theme.faintText);
        painter.drawText(QRectF(x - 40, plot.box.bottom() + 2, 80, line), Qt::AlignHCenter, QString::number(tick));
    }
    painter.setPen(theme.text);
    painter.drawText(QRectF(plot.box.left(), plot.box.bottom() + 2 + line, plot.box.width(), line), Qt::AlignRight,
                     "peak memory allocated, GiB");
}

void drawCapacity(QPainter& painter, const Plot& plot, double capacity, const Theme& theme) {
    if (capacity <= 0.0) return;
    const double x = plot.at(capacity, 0.0).x();
    QColor ground = theme.capacity;
    ground.setAlphaF(0.10F);
    painter.fillRect(QRectF(QPointF(x, plot.box.top()), plot.box.bottomRight()), ground);
    painter.setPen(QPen(theme.capacity, 2));
    painter.drawLine(QPointF(x, plot.box.top()), QPointF(x, plot.box.bottom()));
    painter.drawText(QRectF(x - 204, plot.box.bottom() - metricsOf(painter, painter.font()).height() - 2, 200, 40),
                     Qt::AlignRight, "usable memory");
}

/// Of the plans on the front: more memory buys more throughput along it.
void drawFront(QPainter& painter, const Plot& plot, const PlansScene& scene, const Theme& theme) {
    QPolygonF line;
    for (const std::size_t plan : scene.search->pareto) {
        const SearchPlan& p = scene.search->plans[plan];
        const QPointF at = plot.at(*p.figure("peak_memory_bytes"), *p.figure("tokens_per_s"));
        if (!line.isEmpty()) line << QPointF(at.x(), line.back().y());
        line << at;
    }
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(theme.accent, 2));
    painter.drawPolyline(line);
}

void drawPlan(QPainter& painter, const QPointF& at, PlanState state, bool chosen, const Theme& theme) {
    const bool fits = state != PlanState::does_not_fit && state != PlanState::infeasible;
    const bool front = state == PlanState::front || state == PlanState::best;
    const double size = front ? 5.0 : 3.5;
    painter.setPen(QPen(fits ? theme.window : theme.capacity, fits ? 0.5 : 1.5));
    painter.setBrush(front ? QBrush(theme.accent) : fits ? QBrush(theme.faintText) : QBrush(Qt::NoBrush));
    if (fits) {
        painter.drawEllipse(at, size, size);
    } else {
        painter.drawLine(at - QPointF(size, size), at + QPointF(size, size));
        painter.drawLine(at - QPointF(size, -size), at + QPointF(size, -size));
    }
    if (!chosen) return;
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(theme.text, 2));
    painter.drawEllipse(at, size + 4, size + 4);
}

std::vector<LegendEntry> legendOf(const PlansScene& scene, const Theme& theme) {
    const std::size_t beyond = placesOf(scene).size() - insidePlaces(scene).size();
    const QString more = beyond == 0 ? QString() : QString(", %1 beyond the right edge").arg(beyond);
    return {{theme.accent, "front: nothing is better in both", Qt::SolidPattern, LegendMark::line},
            {theme.faintText, "fits"},
            {theme.capacity, "does not fit (crossed" + more + ")"}};
}

}  // namespace

void paintPareto(QPainter& painter, const QRect& area, const PlansScene& scene) {
    const Theme& colors = theme(scene.theme);
    painter.fillRect(area, colors.window);
    const Plot plot = plotOf(*painter.device(), area, scene);
    drawLegend(painter, area.adjusted(chart_margin, chart_margin, -chart_margin, 0), legendOf(scene, colors), colors);
    drawAxes(painter, plot, colors);
    drawCapacity(painter, plot, capacityOf(*scene.search), colors);
    painter.save();
    painter.setClipRect(plot.box.adjusted(-6, -6, 6, 6));
    painter.setRenderHint(QPainter::Antialiasing);
    drawFront(painter, plot, scene, colors);
    std::vector<Place> places = insidePlaces(scene);
    const auto state = [&](const Place& place) { return planState(*scene.search, place.plan); };
    // What matters most is drawn last.
    std::stable_sort(places.begin(), places.end(), [&](const Place& a, const Place& b) { return state(a) > state(b); });
    for (const Place& place : places) {
        drawPlan(painter, plot.at(place.memory, place.speed), state(place),
                 static_cast<int>(place.plan) == scene.chosen, colors);
    }
    painter.restore();
    painter.setPen(colors.faintText);
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(plot.box);
}

std::optional<std::size_t> paretoPlanAt(const QPaintDevice& device, const QRect& area, const PlansScene& scene,
                                        const QPoint& place) {
    constexpr double reach = 9.0;
    const Plot plot = plotOf(device, area, scene);
    std::size_t nearest = scene.search->plans.size();
    double best = reach * reach;
    for (const Place& candidate : insidePlaces(scene)) {
        const QPointF away = plot.at(candidate.memory, candidate.speed) - QPointF(place);
        const double distance = QPointF::dotProduct(away, away);
        if (distance >= best) continue;
        best = distance;
        nearest = candidate.plan;
    }
    return nearest < scene.search->plans.size() ? std::optional(nearest) : std::nullopt;
}

}  // namespace foreshard::gui
