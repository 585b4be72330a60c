#pragma once

#include <QPainter>
#include <QRect>
#include <optional>
#include <vector>

#include "gui/theme.hpp"
#include "traces/read_search.hpp"

namespace foreshard::gui {

/// What of a search is drawn.
struct PlansScene {
    const ReadSearch* search = nullptr;
    std::vector<bool> shown;  ///< per plan; empty: all
    int chosen = -1;
    ThemeKind theme = ThemeKind::light;

    bool shows(std::size_t plan) const { return plan >= shown.size() || shown[plan]; }
};

/// Peak memory (right) against throughput (up): a point per plan, hollow when it does not fit, the front as a line, and
/// the usable memory.
void paintPareto(QPainter& painter, const QRect& area, const PlansScene& scene);

/// Index of the plan nearest to a place, within a few pixels.
std::optional<std::size_t> paretoPlanAt(const QPaintDevice& device, const QRect& area, const PlansScene& scene,
                                        const QPoint& place);

}  // namespace foreshard::gui
