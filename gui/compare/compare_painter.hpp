#pragma once

#include <QPainter>
#include <QRect>
#include <optional>

#include "gui/theme.hpp"
#include "sim/result/compare.hpp"
#include "sim/result/waterfall.hpp"

namespace foreshard::gui {

/// Two runs, compared once and drawn often.
struct ComparedRuns {
    const Run* a = nullptr;
    const Run* b = nullptr;
    Comparison comparison;
    std::optional<Waterfall> waterfall;  ///< when both runs have accounts
};
ComparedRuns compareRuns(const Run& a, const Run& b);

/// The answer in a sentence, settings that differ, the waterfall, and how many spans have a partner.
void paintExplanation(QPainter& painter, const QRect& area, const ComparedRuns& runs, const Theme& theme);

/// The same with the table of figures beside or below it.
void paintComparison(QPainter& painter, const QRect& area, const ComparedRuns& runs, const Theme& theme);

/// What the picture says, for readers that do not see it.
QString comparisonText(const ComparedRuns& runs);

}  // namespace foreshard::gui
