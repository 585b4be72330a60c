#pragma once

#include <QPainter>
#include <QRect>
#include <QString>
#include <vector>

#include "gui/theme.hpp"
#include "sim/result/waterfall.hpp"

/// Draws why B's step is longer or shorter than A's.
namespace foreshard::gui {

/// A bar of the waterfall. The first spans 0 to A's step, the last 0 to B's; each other starts where the one before
/// it ended.
struct WaterfallBar {
    enum class Kind { total_a, change, total_b } kind = Kind::change;
    QString name;
    Picoseconds from = 0;
    Picoseconds to = 0;
    Picoseconds change() const { return to - from; }
};

/// Terms by size of their change, at most `most`. Those below a thousandth of the largest, or too many, are joined into
/// one bar, so that nothing is left out.
std::vector<WaterfallBar> waterfallBars(const Waterfall& waterfall, std::size_t most);

/// "B is 1.23 s (9.1 %) faster than A, mostly by less bubble (-1.10 s) ..."
QString waterfallSentence(const Waterfall& waterfall);

/// Bars from top to bottom on a time axis that is cut off below the changes when these are small; then it says so.
void paintWaterfall(QPainter& painter, const QRect& area, const Waterfall& waterfall, const QString& nameA,
                    const QString& nameB, const Theme& theme);

/// Height at which all bars can be read.
int waterfallHeight(const QPaintDevice& device, const Waterfall& waterfall);

}  // namespace foreshard::gui
