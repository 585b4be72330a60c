#pragma once

#include <QImage>
#include <QRgb>
#include <array>
#include <vector>

#include "gui/theme.hpp"
#include "gui/time_axis.hpp"
#include "gui/timeline/timeline_scene.hpp"

/// Rows of spans as pixels. Every column has the colours of what it covers, mixed by area; spans wide enough get an
/// edge and their hatch.
namespace foreshard::gui {

/// A span or gap with room for text. Pixels are those of the image.
struct WideBox {
    std::size_t run = 0;
    std::size_t span = 0;  ///< of a gap: unused
    bool gap = false;
    bool unmatched = false;  ///< in a comparison: without a partner in the other run
    double left = 0.0;
    double right = 0.0;
    int top = 0;
    int height = 0;
};

/// Colours of one theme as numbers.
struct RowColors {
    std::array<QRgb, std::size_t{span_kind_count} * most_shades> fill{};
    QRgb bubble = 0;   ///< of compute rows
    QRgb idle = 0;     ///< of other lanes
    QRgb outside = 0;  ///< before and after the run
    QRgb early = 0;
    QRgb late = 0;
    QRgb middle = 0;
    QRgb of(SpanClass its) const { return fill[static_cast<std::size_t>(its.kind) * most_shades + its.shade]; }
};
RowColors rowColors(const Theme& theme);

/// Draws rows of one scene at one zoom into an image as wide as the axis.
class RowImage {
public:
    /// @param axis its width is the image's, in pixels of the image
    /// @param hatchStep pixels between the lines of hatches
    RowImage(const TimelineScene& scene, const TimeAxis& axis, int hatchStep);

    /// Fills lines [top, top + height) of the image, clipped to it.
    void drawSpans(QImage& image, const TimelineRow& row, int top, int height);
    /// The same without boxes: colours only.
    void drawColumns(QImage& image, const TimelineRow& row, int top, int height);
    /// Bars up for late and down for early: latenessHeight() of the mean over what runs in the column.
    void drawLateEarly(QImage& image, const TimelineRow& row, int top, int height);

    /// Boxes of the rows drawn so far that are at least `least_box` pixels wide.
    const std::vector<WideBox>& boxes() const { return boxes_; }
    static constexpr double least_box = 4.0;

private:
    /// Of `edges_` and `readers_`.
    std::size_t tableOf(const TimelineRow& row) const {
        return row.content == RowContent::only_first ? scene_.runs.size() : row.run;
    }
    const std::vector<Picoseconds>& edgesOf(const TimelineRow& row);
    const Columns& read(const TimelineRow& row) { return readers_[tableOf(row)].read(row.row, edgesOf(row)); }
    void mixColumns(const TimelineRow& row, const Columns& columns, const std::vector<Picoseconds>& edges);
    void copyLine(QImage& image, int top, int height) const;
    QRgb restColor(const SpanTable& spans, bool compute, Picoseconds begin, Picoseconds end) const;
    void findBoxes(const TimelineRow& row, const Columns& columns, const std::vector<Picoseconds>& edges, int top,
                   int height);
    void addBox(const TimelineRow& row, std::size_t span, int top, int height);
    void addGap(const TimelineRow& row, Picoseconds begin, Picoseconds end, int top, int height);
    void decorate(QImage& image, const WideBox& box) const;
    void hatch(QImage& image, const WideBox& box, Qt::BrushStyle pattern) const;
    double lateAt(const TimelineRow& row, std::size_t started, Picoseconds time) const;
    Picoseconds busyIn(const Columns& columns, std::size_t column) const;

    const TimelineScene& scene_;
    TimeAxis axis_;
    int hatchStep_;
    RowColors colors_;
    std::vector<CoverageReader> readers_;          ///< per run, then of what only the first has
    std::vector<std::vector<Picoseconds>> edges_;  ///< the same, in the run's own time; made when first needed
    std::vector<QRgb> line_;                       ///< one colour per column
    std::vector<WideBox> boxes_;
};

/// `share` of `over` on `under`, each channel for itself. @param share 0 to 1
QRgb mixed(QRgb under, QRgb over, double share);

}  // namespace foreshard::gui
