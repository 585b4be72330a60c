#include "gui/timeline/row_image.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace foreshard::gui {

namespace {

/// Narrower boxes have no edge: it would be a large part of them, and their colour no longer that of their kind.
constexpr double least_edged = 9.0;

constexpr std::size_t least_edges = 3;  ///< of columns inside the narrowest box

/// Red, green, blue; the fourth makes sums of colours one instruction each.
using Channels = std::array<float, 4>;

Channels channelsOf(QRgb color) {
    return {static_cast<float>(qRed(color)), static_cast<float>(qGreen(color)), static_cast<float>(qBlue(color)), 0.0F};
}

/// Sum of colours weighted by time.
struct Mixture {
    Channels sum{};

    void add(const Channels& color, float weight) {
        for (std::size_t c = 0; c < sum.size(); ++c) sum[c] += color[c] * weight;
    }
    QRgb over(float weight) const {
        const float inverse = 1.0F / weight;
        // Channels are not negative: adding a half rounds, without a call of lround() for each pixel.
        constexpr float half = 0.5F;
        const auto channel = [&](std::size_t c) { return static_cast<int>(sum[c] * inverse + half); };
        return qRgb(channel(0), channel(1), channel(2));
    }
};

QRgb darker(QRgb color) {
    return qRgb(qRed(color) * 7 / 10, qGreen(color) * 7 / 10, qBlue(color) * 7 / 10);
}

bool hasLine(Qt::BrushStyle pattern, int x, int y, int step) {
    const bool rising = (x + y) % step == 0;
    switch (pattern) {
        case Qt::BDiagPattern:
            return rising;
        case Qt::DiagCrossPattern:
            return rising || (x - y + 4096 * step) % step == 0;
        case Qt::CrossPattern:
            return x % step == 0 || y % step == step / 2;
        case Qt::Dense6Pattern:
            return x % step == 0 && y % 3 == 0;
        default:
            return false;
    }
}

QRgb* lineOf(QImage& image, int y) {
    return reinterpret_cast<QRgb*>(image.scanLine(y));
}

}  // namespace

QRgb mixed(QRgb under, QRgb over, double share) {
    Mixture mixture;
    mixture.add(channelsOf(under), static_cast<float>(1.0 - share));
    mixture.add(channelsOf(over), static_cast<float>(share));
    return mixture.over(1.0F);
}

RowColors rowColors(const Theme& theme) {
    RowColors colors;
    for (int kind = 0; kind < span_kind_count; ++kind) {
        for (int shade = 0; shade < most_shades; ++shade) {
            colors.fill[static_cast<std::size_t>(kind) * most_shades + shade] =
                theme.fill(static_cast<SpanKind>(kind), shade).rgb();
        }
    }
    colors.bubble = theme.bubble.rgb();
    colors.idle = theme.panel.rgb();
    colors.outside = theme.window.rgb();
    colors.early = theme.early.rgb();
    colors.late = theme.late.rgb();
    colors.middle = theme.grid.rgb();
    return colors;
}

RowImage::RowImage(const TimelineScene& scene, const TimeAxis& axis, int hatchStep)
    : scene_(scene),
      axis_(axis),
      hatchStep_(hatchStep),
      colors_(rowColors(scene.theme())),
      edges_(scene.runs.size() + 1) {
    readers_.reserve(scene.runs.size() + 1);
    for (const ShownRun& shown : scene.runs) readers_.emplace_back(*shown.coverage);
    if (scene.lateness) readers_.emplace_back(*scene.lateness->onlyFirst.shown.coverage);
    line_.resize(static_cast<std::size_t>(axis.width));
}

const std::vector<Picoseconds>& RowImage::edgesOf(const TimelineRow& row) {
    std::vector<Picoseconds>& edges = edges_[tableOf(row)];
    if (edges.empty()) {
        const Picoseconds shift = scene_.shownOf(row).shift;
        edges = column_edges(axis_.begin - shift, axis_.end - shift, static_cast<int>(axis_.width));
    }
    return edges;
}

/// Of the part of a column in which nothing runs.
QRgb RowImage::restColor(const SpanTable& spans, bool compute, Picoseconds begin, Picoseconds end) const {
    const QRgb inside = compute ? colors_.bubble : colors_.idle;
    if (begin >= spans.begin && end <= spans.finish) return inside;
    return begin >= spans.finish || end <= spans.begin ? colors_.outside : mixed(colors_.outside, inside, 0.5);
}

void RowImage::mixColumns(const TimelineRow& row, const Columns& columns, const std::vector<Picoseconds>& edges) {
    const ShownRun& shown = scene_.shownOf(row);
    const std::span<const SpanClass> classes = shown.coverage->classes(row.row);
    std::array<Channels, std::size_t{span_kind_count} * most_shades> fill{};
    for (std::size_t k = 0; k < classes.size(); ++k) fill[k] = channelsOf(colors_.of(classes[k]));
    const bool compute = row.content == RowContent::spans && shown.spans().rows[row.row].lane == SpanLane::compute;
    for (std::size_t i = 0; i < columns.size(); ++i) {
        const Picoseconds length = edges[i + 1] - edges[i];
        if (length == 0 && i > 0) {  // closer than a picosecond per column
            line_[i] = line_[i - 1];
            continue;
        }
        Picoseconds rest = length;
        Mixture mixture;
        for (std::size_t k = 0; k < classes.size(); ++k) {
            const Picoseconds time = columns.time[i * classes.size() + k];
            if (time == 0) continue;
            mixture.add(fill[k], static_cast<float>(time));
            rest -= time;
        }
        if (rest > 0 || length == 0) {
            mixture.add(channelsOf(restColor(shown.spans(), compute, edges[i], edges[i + 1])),
                        static_cast<float>(std::max<Picoseconds>(rest, 1)));
        }
        line_[i] = mixture.over(static_cast<float>(std::max<Picoseconds>(length, 1)));
    }
}

void RowImage::addBox(const TimelineRow& row, std::size_t span, int top, int height) {
    const ShownRun& shown = scene_.shownOf(row);
    const double left = axis_.toPixel(shown.spans().start[span] + shown.shift);
    const double right = axis_.toPixel(shown.spans().end[span] + shown.shift);
    if (right - left < least_box) return;
    const bool onlyFirst = row.content == RowContent::only_first;
    const bool unmatched = onlyFirst || (scene_.lateness && row.run == 1 && scene_.lateness->matched[span] == 0);
    const std::size_t original = onlyFirst ? scene_.lateness->onlyFirst.spans[span] : span;
    boxes_.push_back({row.run, original, false, unmatched, left, right, top, height});
}

void RowImage::addGap(const TimelineRow& row, Picoseconds begin, Picoseconds end, int top, int height) {
    const ShownRun& shown = scene_.runs[row.run];
    const double left = axis_.toPixel(begin + shown.shift);
    const double right = axis_.toPixel(end + shown.shift);
    if (right - left >= least_box) boxes_.push_back({row.run, 0, true, false, left, right, top, height});
}

/// A box at least four columns wide holds three edges at which equally many spans have started, so the edges find all
/// of them, however many spans lie between.
void RowImage::findBoxes(const TimelineRow& row, const Columns& columns, const std::vector<Picoseconds>& edges, int top,
                         int height) {
    const SpanTable& spans = scene_.shownOf(row).spans();
    const SpanRow& its = spans.rows[row.row];
    const bool bubbles = its.lane == SpanLane::compute && row.content == RowContent::spans;
    std::size_t seenSpan = its.last;
    std::uint32_t seenGap = std::numeric_limits<std::uint32_t>::max();
    for (std::size_t i = 0; i + least_edges - 1 < edges.size(); ++i) {
        const std::uint32_t started = columns.started[i];
        if (started != columns.started[i + least_edges - 1]) continue;
        const std::size_t span = its.first + started - 1;
        if (started > 0 && spans.end[span] > edges[i]) {
            if (span != seenSpan) addBox(row, span, top, height);
            seenSpan = span;
        } else if (started != seenGap && bubbles) {
            const Picoseconds begin = started > 0 ? spans.end[span] : spans.begin;
            const Picoseconds end = its.first + started < its.last ? spans.start[its.first + started] : spans.finish;
            addGap(row, begin, end, top, height);
            seenGap = started;
        }
    }
}

void RowImage::copyLine(QImage& image, int top, int height) const {
    const int first = std::max(0, top);
    const int last = std::min(image.height(), top + height);
    for (int y = first; y < last; ++y) std::memcpy(image.scanLine(y), line_.data(), line_.size() * sizeof(QRgb));
}

void RowImage::drawColumns(QImage& image, const TimelineRow& row, int top, int height) {
    mixColumns(row, read(row), edgesOf(row));
    copyLine(image, top, height);
}

void RowImage::drawSpans(QImage& image, const TimelineRow& row, int top, int height) {
    const std::vector<Picoseconds>& edges = edgesOf(row);
    const Columns& columns = read(row);
    mixColumns(row, columns, edges);
    copyLine(image, top, height);
    const std::size_t before = boxes_.size();
    findBoxes(row, columns, edges, top, height);
    for (std::size_t box = before; box < boxes_.size(); ++box) {
        if (!boxes_[box].gap) decorate(image, boxes_[box]);
    }
}

void RowImage::decorate(QImage& image, const WideBox& box) const {
    const SpanTable& spans = scene_.runs[box.run].spans();
    const int first = std::max(0, box.top);
    const int last = std::min(image.height(), box.top + box.height);
    const int left = static_cast<int>(std::floor(box.left));
    const Qt::BrushStyle pattern = box.unmatched ? Qt::CrossPattern : Theme::pattern(spans.kind[box.span]);
    if (pattern != Qt::SolidPattern && box.right - box.left >= hatchStep_) hatch(image, box, pattern);
    if (box.right - box.left < least_edged || left < 0 || left >= image.width()) return;
    for (int y = first; y < last; ++y) lineOf(image, y)[left] = darker(lineOf(image, y)[left]);
}

void RowImage::hatch(QImage& image, const WideBox& box, Qt::BrushStyle pattern) const {
    const int left = std::max(0, static_cast<int>(std::ceil(box.left)));
    const int right = std::min(image.width(), static_cast<int>(std::floor(box.right)));
    const int last = std::min(image.height(), box.top + box.height);
    for (int y = std::max(0, box.top); y < last; ++y) {
        QRgb* line = lineOf(image, y);
        for (int x = left; x < right; ++x) {
            if (hasLine(pattern, x, y - box.top, hatchStep_)) line[x] = mixed(line[x], qRgb(0, 0, 0), 0.3);
        }
    }
}

/// Sum of late x length of a row's spans up to a time.
double RowImage::lateAt(const TimelineRow& row, std::size_t started, Picoseconds time) const {
    if (started == 0) return 0.0;
    const SpanTable& spans = scene_.runs[row.run].spans();
    const std::size_t span = spans.rows[row.row].first + started - 1;
    const Picoseconds length = std::min(spans.end[span], time) - spans.start[span];
    return scene_.lateness->accumulated[span] +
           static_cast<double>(scene_.lateness->late[span]) * static_cast<double>(length);
}

Picoseconds RowImage::busyIn(const Columns& columns, std::size_t column) const {
    Picoseconds busy = 0;
    for (std::size_t k = 0; k < columns.classes; ++k) busy += columns.time[column * columns.classes + k];
    return busy;
}

void RowImage::drawLateEarly(QImage& image, const TimelineRow& row, int top, int height) {
    if (!scene_.lateness) return;
    const std::vector<Picoseconds>& edges = edgesOf(row);
    const Columns& columns = read(row);
    const int middle = top + height / 2;
    for (std::size_t i = 0; i < columns.size(); ++i) {
        const int x = static_cast<int>(i);
        if (middle >= 0 && middle < image.height()) lineOf(image, middle)[x] = colors_.middle;
        const Picoseconds busy = busyIn(columns, i);
        if (busy == 0) continue;
        const double late =
            (lateAt(row, columns.started[i + 1], edges[i + 1]) - lateAt(row, columns.started[i], edges[i])) /
            static_cast<double>(busy);
        const double share = latenessHeight(scene_.lateness->full, late);
        // What is late or early at all has at least a pixel.
        const int length = share == 0.0 ? 0 : std::max(1, static_cast<int>(std::lround(std::abs(share) * height / 2)));
        const int from = share > 0.0 ? middle - length : middle + 1;
        for (int y = std::max(0, from); y < std::min(image.height(), from + length); ++y) {
            lineOf(image, y)[x] = share > 0.0 ? colors_.late : colors_.early;
        }
    }
}

}  // namespace foreshard::gui
