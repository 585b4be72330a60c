#pragma once

#include <QColor>
#include <QPainter>
#include <QRect>
#include <optional>
#include <vector>

#include "gui/theme.hpp"
#include "sim/result/run.hpp"

/// Draws where the step of every rank goes.
namespace foreshard::gui {

/// Part of a bar; the parts of a rank follow each other from 0 to the step time.
struct BreakdownSegment {
    Account account = Account::forward;
    Picoseconds begin = 0;
    Picoseconds end = 0;
};

/// Accounts of a rank that are not zero, end to end: work first, then exposed communication, bubbles last.
std::vector<BreakdownSegment> breakdownSegments(const RankAccount& account);

/// Means over ranks as shares of the step; empty without accounts.
std::vector<double> meanShares(const Run& run);

/// "Ranks compute 81 % of the 13.6 s step; lost: bubble 9.0 %, ...": means over ranks, in a sentence.
QString breakdownSentence(const Run& run);

/// A bar of the picture. All bars have one scale.
struct BreakdownBar {
    std::size_t run = 0;
    std::size_t rank = 0;
    QRectF box;  ///< as long as the step
};

struct BreakdownScene {
    std::vector<const Run*> runs;
    ThemeKind theme = ThemeKind::light;
};

/// Bars with the ranks of the first run from top to bottom, those of further runs below the same rank's.
std::vector<BreakdownBar> breakdownBars(const QPaintDevice& device, const QRect& area, const BreakdownScene& scene);

/// Height at which all bars can be read.
int breakdownHeight(const QPaintDevice& device, int width, const BreakdownScene& scene);

void paintBreakdown(QPainter& painter, const QRect& area, const BreakdownScene& scene);

QColor accountColor(const Theme& theme, Account account);
Qt::BrushStyle accountPattern(Account account);
QString accountName(Account account);  ///< "exposed TP", "weight gradient"

}  // namespace foreshard::gui
