#pragma once

#include <QPainter>
#include <QRect>
#include <QString>
#include <optional>
#include <vector>

#include "gui/plans/pareto_painter.hpp"

/// The best plan for every TP x PP.
namespace foreshard::gui {

struct HeatCell {
    int tp = 0;
    int pp = 0;
    std::optional<std::size_t> best;  ///< plan with the most throughput that fits; none: none fits
    std::size_t plans = 0;            ///< that are listed with these degrees; 0: none
    double speed = 0.0;               ///< tokens/s of the best
    QString refused;                  ///< as RefusedDegrees says it
    bool hatched() const { return !best && (plans > 0 || !refused.isEmpty()); }
};

/// TP from left to right, PP from the top; every combination of degrees that occur has a cell.
struct HeatMap {
    std::vector<int> tp;
    std::vector<int> pp;
    std::vector<HeatCell> cells;  ///< row by row, a row per pp
    double least = 0.0;           ///< tokens/s of the slowest and fastest cell
    double most = 0.0;
};
HeatMap heatMapOf(const PlansScene& scene);

/// "TP 8 x PP 4: ...": the cell's best plan, or why there is none; for a tip.
QString heatCellText(const PlansScene& scene, const HeatCell& cell);

/// Cells by throughput; hatched where nothing fits, empty where no plan is listed.
void paintHeatMap(QPainter& painter, const QRect& area, const PlansScene& scene);

std::optional<HeatCell> heatCellAt(const QPaintDevice& device, const QRect& area, const PlansScene& scene,
                                   const QPoint& place);

}  // namespace foreshard::gui
