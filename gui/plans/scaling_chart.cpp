#include "gui/plans/scaling_chart.hpp"

#include <QPolygonF>
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "gui/charts/draw.hpp"
#include "gui/plans/speed_axis.hpp"

namespace foreshard::gui {

namespace {

/// Batches are told apart by these, and by the words at their ends.
constexpr std::array<Qt::PenStyle, 4> line_styles = {Qt::SolidLine, Qt::DashLine, Qt::DotLine, Qt::DashDotLine};

struct ScalingPlot {
    QRectF box;
    double leastLog = 0.0;  ///< of GPUs, to base 2
    double mostLog = 1.0;
    double mostSpeed = 1.0;

    QPointF at(double gpus, double speed) const {
        return {box.left() + (std::log2(gpus) - leastLog) / (mostLog - leastLog) * box.width(),
                box.bottom() - speed / mostSpeed * box.height()};
    }
    QPointF at(const ScalingPoint& point) const { return at(point.gpus, point.speed); }
};

std::int64_t numberOf(const SearchPlan& plan, const char* key) {
    const auto said = plan.plan.find(key);
    return said == plan.plan.end() ? 0 : std::stoll(said->second);
}

QString batchText(const ScalingLine& line) {
    return QString("batch %1").arg(line.gbs);
}

std::set<int> sizesOf(const std::vector<ScalingLine>& lines) {
    std::set<int> sizes;
    for (const ScalingLine& line : lines) {
        for (const ScalingPoint& point : line.points) sizes.insert(point.gpus);
    }
    return sizes;
}

ScalingPlot scalingPlot(const QPaintDevice& device, const QRect& area, const std::vector<ScalingLine>& lines) {
    const QFontMetrics metrics = metricsOf(device, viewFont(0.9));
    int widest = 0;
    ScalingPlot plot;
    for (const ScalingLine& line : lines) {
        widest = std::max(widest, metrics.horizontalAdvance(batchText(line)));
        for (const ScalingPoint& point : line.points) plot.mostSpeed = std::max(plot.mostSpeed, 1.12 * point.speed);
    }
    plot.box = QRectF(area).adjusted(speedAxisWidth(metrics), metrics.lineSpacing(), -widest - 3 * chart_margin,
                                     -2.5 * metrics.lineSpacing() - chart_margin);
    const std::set<int> sizes = sizesOf(lines);
    plot.leastLog = std::log2(*sizes.begin()) - 0.2;
    plot.mostLog = std::log2(*sizes.rbegin()) + 0.2;
    return plot;
}

void drawSizes(QPainter& painter, const ScalingPlot& plot, const std::set<int>& sizes, const Theme& theme) {
    const QFontMetrics metrics = metricsOf(painter, painter.font());
    double free = plot.box.left();
    for (const int size : sizes) {
        const QString text = QString::number(size);
        const double x = plot.at(size, 0.0).x();
        painter.setPen(theme.grid);
        painter.drawLine(QPointF(x, plot.box.top()), QPointF(x, plot.box.bottom()));
        const double half = metrics.horizontalAdvance(text) / 2.0 + 2;
        if (x - half < free) continue;
        free = x + half;
        painter.setPen(theme.faintText);
        painter.drawText(QRectF(x - half, plot.box.bottom() + 2, 2 * half, metrics.lineSpacing()), Qt::AlignHCenter,
                         text);
    }
}

void drawAxes(QPainter& painter, const ScalingPlot& plot, const std::set<int>& sizes, const Theme& theme) {
    drawSpeedAxis(painter, plot.box, 0.0, plot.mostSpeed, "tokens/s a GPU", theme);
    drawSizes(painter, plot, sizes, theme);
    const int line = metricsOf(painter, painter.font()).lineSpacing();
    painter.setPen(theme.text);
    painter.drawText(QRectF(plot.box.left(), plot.box.bottom() + 2 + line, plot.box.width(), line), Qt::AlignRight,
                     "GPUs");
}

/// The share of the smallest size's throughput that a GPU still has.
void drawEfficiency(QPainter& painter, const ScalingPlot& plot, const ScalingLine& line, const ScalingPoint& point) {
    const double ratio = point.speed / line.points.front().speed;
    const int height = metricsOf(painter, painter.font()).lineSpacing();
    painter.drawText(QRectF(plot.at(point) - QPointF(40, height + 5.0), QSizeF(80, height)), Qt::AlignHCenter,
                     percentText(ratio));
}

void drawLine(QPainter& painter, const ScalingPlot& plot, const ScalingLine& line, Qt::PenStyle style,
              const PlansScene& scene, bool efficiency) {
    const Theme& colors = theme(scene.theme);
    QPolygonF corners;
    for (const ScalingPoint& point : line.points) corners << plot.at(point);
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(colors.accent, 2, style));
    painter.drawPolyline(corners);
    for (const ScalingPoint& point : line.points) {
        painter.setPen(QPen(colors.window, 0.5));
        painter.setBrush(colors.accent);
        painter.drawEllipse(plot.at(point), 5, 5);
        painter.setBrush(Qt::NoBrush);
        painter.setPen(QPen(colors.text, 2));
        if (static_cast<int>(point.plan) == scene.chosen) painter.drawEllipse(plot.at(point), 9, 9);
        if (efficiency) drawEfficiency(painter, plot, line, point);
    }
}

/// At their right ends, from the top down, one below the other where they would meet.
void drawBatches(QPainter& painter, const ScalingPlot& plot, const std::vector<ScalingLine>& lines,
                 const Theme& theme) {
    std::vector<const ScalingLine*> order;
    for (const ScalingLine& line : lines) {
        if (line.gbs > 0) order.push_back(&line);
    }
    const auto height = [&](const ScalingLine* line) { return plot.at(line->points.back()).y(); };
    std::sort(order.begin(), order.end(), [&](auto a, auto b) { return height(a) < height(b); });
    const double lineHeight = metricsOf(painter, painter.font()).lineSpacing();
    double top = plot.box.top();
    painter.setPen(theme.text);
    for (const ScalingLine* line : order) {
        top = std::max(top, height(line) - lineHeight / 2.0);
        const double beside = plot.at(line->points.back()).x() + 9;
        const double width = metricsOf(painter, painter.font()).horizontalAdvance(batchText(*line));
        const double x = beside + width < plot.box.right() ? beside : plot.box.right() + 5;
        painter.drawText(QRectF(x, top, 400, lineHeight), Qt::AlignLeft | Qt::AlignVCenter, batchText(*line));
        top += lineHeight;
    }
}

}  // namespace

/// The best of a size is the first that is listed.
std::vector<ScalingLine> scalingLines(const ReadSearch& search) {
    std::map<std::int64_t, std::map<int, ScalingPoint>> best;
    for (std::size_t i = 0; i < search.plans.size(); ++i) {
        const SearchPlan& plan = search.plans[i];
        const auto gpus = static_cast<int>(numberOf(plan, "gpus"));
        const std::optional<double> speed = plan.figure("tokens_per_s_per_gpu");
        if (gpus < 1 || !speed || *speed <= 0.0 || !plan.fits || !plan.infeasible.empty()) continue;
        best[numberOf(plan, "gbs")].emplace(gpus, ScalingPoint{gpus, i, *speed});
    }
    std::vector<ScalingLine> lines;
    for (const auto& [gbs, points] : best) {
        ScalingLine& line = lines.emplace_back();
        line.gbs = gbs;
        for (const auto& [gpus, point] : points) line.points.push_back(point);
    }
    if (sizesOf(lines).size() < 2) lines.clear();
    return lines;
}

void paintScaling(QPainter& painter, const QRect& area, const PlansScene& scene) {
    const Theme& colors = theme(scene.theme);
    painter.fillRect(area, colors.window);
    const std::vector<ScalingLine> lines = scalingLines(*scene.search);
    if (lines.empty())
        return drawHint(painter, area, "Search several sizes (--gpus 64..4096) to compare them.", colors);
    const ScalingPlot plot = scalingPlot(*painter.device(), area, lines);
    drawAxes(painter, plot, sizesOf(lines), colors);
    painter.setRenderHint(QPainter::Antialiasing);
    for (std::size_t i = 0; i < lines.size(); ++i) {
        drawLine(painter, plot, lines[i], line_styles[i % line_styles.size()], scene, lines.size() == 1);
    }
    drawBatches(painter, plot, lines, colors);
    painter.setRenderHint(QPainter::Antialiasing, false);
    painter.setPen(colors.faintText);
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(plot.box);
}

std::optional<std::size_t> scalingPlanAt(const QPaintDevice& device, const QRect& area, const PlansScene& scene,
                                         const QPoint& place) {
    const std::vector<ScalingLine> lines = scalingLines(*scene.search);
    if (lines.empty()) return {};
    constexpr double reach = 12.0;
    const ScalingPlot plot = scalingPlot(device, area, lines);
    std::optional<std::size_t> nearest;
    double best = reach * reach;
    for (const ScalingLine& line : lines) {
        for (const ScalingPoint& point : line.points) {
            const QPointF away = plot.at(point) - QPointF(place);
            const double distance = QPointF::dotProduct(away, away);
            if (distance >= best) continue;
            best = distance;
            nearest = point.plan;
        }
    }
    return nearest;
}

}  // namespace foreshard::gui
