#pragma once

#include <QPainter>
#include <QRect>
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

/// Cells by throughput; hatched where nothing fits, empty where no plan is listed.
void paintHeatMap(QPainter& painter, const QRect& area, const PlansScene& scene);

std::optional<HeatCell> heatCellAt(const QPaintDevice& device, const QRect& area, const PlansScene& scene,
                                   const QPoint& place);

}  // namespace foreshard::gui
