#pragma once

#include <QPainter>
#include <QRect>
#include <QString>
#include <cstdint>
#include <optional>
#include <vector>

#include "gui/plans/pareto_painter.hpp"

/// The scaling curve of a search over several sizes.
namespace foreshard::gui {

struct ScalingPoint {
    int gpus = 0;
    std::size_t plan = 0;  ///< the size's best
    double speed = 0.0;    ///< tokens/s a GPU
};

/// Best plans with one batch.
struct ScalingLine {
    std::int64_t gbs = 0;              ///< sequences a step; 0: not said
    std::vector<ScalingPoint> points;  ///< by GPUs
};

/// By batch. Plans that do not fit are left out; so is a search of one size.
std::vector<ScalingLine> scalingLines(const ReadSearch& search);

/// GPUs (right, each doubling as wide) against throughput a GPU (up, from 0): a line for each batch; of a single one
/// with the efficiency at each size, over that of the smallest.
void paintScaling(QPainter& painter, const QRect& area, const PlansScene& scene);

/// Index of the plan whose point is nearest to a place, within a few pixels.
std::optional<std::size_t> scalingPlanAt(const QPaintDevice& device, const QRect& area, const PlansScene& scene,
                                         const QPoint& place);

}  // namespace foreshard::gui
