#include "gui/timeline/rows_painter.hpp"

#include <QPaintEngine>
#include <algorithm>
#include <cmath>

#include "gui/timeline/overlays.hpp"
#include "sim/result/text_format.hpp"
#include "sim/result/timeline.hpp"

namespace foreshard::gui {

namespace {

/// Text smaller than the row it stands in by less than this is left out.
constexpr int least_margin = -3;

class RowsPainter {
public:
    RowsPainter(QPainter& painter, const TimelineFrame& frame, DrawingCache& cache, double scale)
        : painter_(painter), frame_(frame), atlas_(cache.labels), image_(cache.rows), scale_(scale) {
        const QFont font = pixelFont(0.9);
        atlas_.prepare(font, scale);
        textHeight_ = QFontMetrics(font).height();
    }

    void paint() {
        paintBlock(frame_.layout->pinned, frame_.pinned, 0);
        paintBlock(frame_.layout->scrolled, frame_.rows, frame_.scroll);
    }

private:
    void paintBlock(const std::vector<TimelineRow>& rows, const QRect& block, int scroll) {
        if (block.isEmpty()) return;
        const QSize size = (QSizeF(block.size()) * scale_).toSize();
        if (image_.size() != size) image_ = QImage(size, QImage::Format_RGB32);
        image_.fill(frame_.scene->theme().window);
        TimeAxis axis = frame_.axis;
        axis.width = size.width();
        RowImage drawing(*frame_.scene, axis, std::max(4, static_cast<int>(5 * scale_)));
        for (const TimelineRow& row : rows) {
            const int top = row.top - scroll;
            if (top >= block.height() || top + row.height <= 0) continue;
            drawRow(drawing, row, top);
        }
        image_.setDevicePixelRatio(scale_);
        painter_.drawImage(block.topLeft(), image_);
        if (outlines()) paintPredicted(painter_, frame_, block);
        paintLabels(drawing.boxes(), block);
    }

    bool outlines() const { return frame_.scene->lateness && frame_.scene->choice.mode == TimelineMode::overlay; }

    void drawRow(RowImage& drawing, const TimelineRow& row, int top) {
        const int y = static_cast<int>(top * scale_);
        const int height = std::max(1, static_cast<int>(row.height * scale_));
        if (row.content == RowContent::late_early) {
            drawing.drawLateEarly(image_, row, y, height);
        } else {
            drawing.drawSpans(image_, row, y, height);
        }
        if (row.outlineRow && !outlinesFit(frame_, row)) {
            TimelineRow first = row;
            first.run = 0;
            first.row = *row.outlineRow;
            drawing.drawColumns(image_, first, y, height * 2 / 5);
        }
    }

    void paintLabels(const std::vector<WideBox>& boxes, const QRect& block) {
        painter_.save();
        painter_.setClipRect(block);
        painter_.setFont(pixelFont(0.9));
        for (const WideBox& box : boxes) paintLabel(box, block);
        painter_.restore();
    }

    void paintLabel(const WideBox& box, const QRect& block) {
        const double left = std::max(0.0, box.left / scale_);
        const double right = std::min<double>(block.width(), box.right / scale_);
        const QRectF room(block.left() + left, block.top() + box.top / scale_, right - left, box.height / scale_);
        if (room.height() - textHeight_ < least_margin || room.width() < 6) return;
        if (box.gap) {
            paintGapLabel(box, room);
            return;
        }
        const SpanTable& spans = frame_.scene->runs[box.run].spans();
        const SpanKind kind = spans.kind[box.span];
        const QRgb color = frame_.scene->theme().label(kind, spans.chunk[box.span]).rgb();
        for (const QString& text : spanLabels(spans, box.span)) {
            const double width = atlas_.widthOf(text);
            if (width + 3 > room.width()) continue;
            // Lines of a hatch or of the other run would go through the letters.
            if (Theme::pattern(kind) != Qt::SolidPattern || box.unmatched || outlines()) {
                const QRectF plate(room.center().x() - width / 2 - 1, room.center().y() - textHeight_ / 2.0 + 1,
                                   width + 2, textHeight_ - 2);
                painter_.fillRect(plate.intersected(room), frame_.scene->theme().fill(kind, spans.chunk[box.span]));
            }
            drawText(text, color, room);
            return;
        }
    }

    void paintGapLabel(const WideBox& box, const QRectF& room) {
        if (room.width() < 4 * textHeight_) return;
        const double whole = (box.right - box.left) / scale_ / frame_.axis.pixelsPerPicosecond();
        const QString time = timeText(static_cast<Picoseconds>(whole));
        const QRgb color = frame_.scene->theme().faintText.rgb();
        for (const QString& text : {"bubble " + time, time}) {
            if (atlas_.widthOf(text) + 8 > room.width()) continue;
            drawText(text, color, room);
            return;
        }
    }

    void drawText(const QString& text, QRgb color, const QRectF& room) {
        if (painter_.paintEngine()->type() != QPaintEngine::Raster) {
            painter_.setPen(QColor(color));
            painter_.drawText(room, Qt::AlignCenter | Qt::TextSingleLine, text);
            return;
        }
        const QImage& picture = atlas_.picture(text, color);
        const double x = std::round(room.center().x() - picture.width() / scale_ / 2);
        const double y = std::round(room.center().y() - picture.height() / scale_ / 2);
        painter_.drawImage(QPointF(x, y), picture);
    }

    QPainter& painter_;
    const TimelineFrame& frame_;
    LabelAtlas& atlas_;
    QImage& image_;
    double scale_;
    int textHeight_ = 0;
};

void paintName(QPainter& painter, const TimelineFrame& frame, const ShownRow& shown) {
    const Theme& theme = frame.scene->theme();
    const int text = frame.metrics.text;
    QRect place = shown.rect;
    place.setLeft(frame.rows.left() - frame.metrics.gutter);
    place.setRight(frame.rows.left() - 6);
    if (place.height() < text) place = QRect(place.left(), place.center().y() - text / 2, place.width(), text);
    painter.setPen(shown.row->firstOfRank ? theme.text : theme.faintText);
    const bool open = frame.scene->choice.expanded.contains(shown.row->rank);
    const bool pinned = frame.scene->choice.pinned.contains(shown.row->rank);
    if (shown.row->firstOfRank) {
        painter.drawText(place.adjusted(4, 0, 0, 0), Qt::AlignVCenter, open ? "▾" : "▸");
        painter.drawText(place.adjusted(4 + text, 0, 0, 0), Qt::AlignVCenter,
                         pinned ? "★ " + shown.row->label : shown.row->label);
    } else {
        painter.drawText(place.adjusted(4 + 2 * text, 0, 0, 0), Qt::AlignVCenter, shown.row->label);
    }
    if (shown.row->lane || shown.row->content != RowContent::spans) return;
    painter.setPen(theme.faintText);
    const double share = bubbleShare(frame, *shown.row);
    painter.drawText(place, Qt::AlignVCenter | Qt::AlignRight, QString("%1 %").arg(100.0 * share, 0, 'f', 1));
}

}  // namespace

QString timeText(Picoseconds time) {
    return QString::fromStdString(milliseconds(to_milliseconds(time)));
}

QStringList spanLabels(const SpanTable& spans, std::size_t span) {
    const SpanKind kind = spans.kind[span];
    const QChar first = QChar::fromLatin1(letter(kind));
    const int microbatch = spans.microbatch[span];
    if (microbatch < 0) return {QString::fromUtf8(to_string(kind).data()), first};
    const QString number = QString::number(microbatch);
    if (spans.chunk[span] <= 0) return {first + number, number};
    return {first + number + "·" + QString::number(spans.chunk[span]), first + number, number};
}

double bubbleShare(const TimelineFrame& frame, const TimelineRow& row) {
    const ShownRun& shown = frame.scene->runs[row.run];
    const Picoseconds begin = std::max(frame.axis.begin - shown.shift, shown.spans().begin);
    const Picoseconds end = std::min(frame.axis.end - shown.shift, shown.spans().finish);
    if (end <= begin) return 0.0;
    Picoseconds busy = 0;
    for (const Picoseconds time : covered_times(*shown.coverage, row.row, begin, end)) busy += time;
    return 1.0 - static_cast<double>(busy) / static_cast<double>(end - begin);
}

void paintRows(QPainter& painter, const TimelineFrame& frame, DrawingCache& cache, double scale) {
    RowsPainter(painter, frame, cache, scale).paint();
}

void paintGutter(QPainter& painter, const TimelineFrame& frame) {
    painter.save();
    painter.setFont(pixelFont(0.9));
    int free = 0;  // names of rows thinner than a line would overlap
    for (const ShownRow& shown : visibleRows(frame)) {
        const QRect& block = frame.scene->choice.pinned.contains(shown.row->rank) ? frame.pinned : frame.rows;
        const int middle = shown.rect.center().y();
        if (middle < block.top() || middle > block.bottom()) continue;
        if (middle - frame.metrics.text / 2 < free - 4 && !shown.row->firstOfRank) continue;
        paintName(painter, frame, shown);
        free = middle + frame.metrics.text / 2;
    }
    painter.restore();
}

}  // namespace foreshard::gui
