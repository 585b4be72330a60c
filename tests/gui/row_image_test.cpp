#include "gui/timeline/row_image.hpp"

#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "gui/timeline/minimap.hpp"
#include "tests/support/runs.hpp"

namespace foreshard::gui {
namespace {

foreshard::Run runOf(SpanTable spans) {
    foreshard::Run run;
    run.spans = std::move(spans);
    return run;
}

TimelineScene sceneOf(const foreshard::Run& run) {
    TimelineScene scene;
    setSceneRuns(scene, {&run}, Alignment::start_of_step);
    return scene;
}

TimelineRow rowOf(std::size_t row) {
    TimelineRow result;
    result.row = row;
    return result;
}

QImage drawn(const TimelineScene& scene, const TimeAxis& axis, std::size_t row) {
    QImage image(static_cast<int>(axis.width), 3, QImage::Format_RGB32);
    RowImage(scene, axis, 5).drawColumns(image, rowOf(row), 0, 3);
    return image;
}

/// By definition: every span's share of the column, the rest bubble.
std::array<double, 3> averageColor(const SpanTable& spans, std::size_t row, Picoseconds begin, Picoseconds end) {
    const Theme& colors = theme(ThemeKind::light);
    std::array<double, 3> sum{};
    const auto add = [&](const QColor& color, Picoseconds time) {
        const double share = static_cast<double>(time) / static_cast<double>(end - begin);
        sum[0] += color.red() * share;
        sum[1] += color.green() * share;
        sum[2] += color.blue() * share;
    };
    Picoseconds rest = end - begin;
    for (std::size_t i = spans.rows[row].first; i < spans.rows[row].last; ++i) {
        const Picoseconds time = std::min(end, spans.end[i]) - std::max(begin, spans.start[i]);
        if (time <= 0) continue;
        add(colors.fill(spans.kind[i], spans.chunk[i]), time);
        rest -= time;
    }
    add(colors.bubble, rest);
    return sum;
}

class RowImageColors : public testing::TestWithParam<unsigned> {};

// From hundreds of spans in a column to spans over many columns.
TEST_P(RowImageColors, AreTheAverageOfWhatTheColumnCovers) {
    const foreshard::Run run = runOf(foreshard::test::random_spans(GetParam(), 2, 4000));
    const TimelineScene scene = sceneOf(run);
    for (const Picoseconds length : {run.spans.finish, run.spans.finish / 20, run.spans.finish / 900}) {
        const Picoseconds begin = (run.spans.finish - length) / 3;
        const TimeAxis axis{begin, begin + length, 60.0};
        const std::vector<Picoseconds> edges = column_edges(axis.begin, axis.end, 60);
        for (const std::size_t row : {0U, 1U}) {
            const SpanRow& its = run.spans.rows[row];
            const Picoseconds finish = run.spans.end[its.last - 1];
            const QImage image = drawn(scene, axis, row);
            for (int x = 0; x < 60 && edges[static_cast<std::size_t>(x) + 1] <= finish; ++x) {
                const auto i = static_cast<std::size_t>(x);
                const std::array<double, 3> expected = averageColor(run.spans, row, edges[i], edges[i + 1]);
                EXPECT_NEAR(qRed(image.pixel(x, 1)), expected[0], 0.51) << length << " " << x;
                EXPECT_NEAR(qGreen(image.pixel(x, 1)), expected[1], 0.51) << length << " " << x;
                EXPECT_NEAR(qBlue(image.pixel(x, 1)), expected[2], 0.51) << length << " " << x;
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RowImageColors, testing::Range(0U, 6U));

/// A forward pass without end, but for one gap.
SpanTable oneGap(Picoseconds gapBegin, Picoseconds gapEnd, Picoseconds finish) {
    SpanTable spans;
    spans.ranks.push_back({0, 0, -1, "PP0"});
    spans.names = {"x"};
    spans.start = {0, gapEnd};
    spans.end = {gapBegin, finish};
    spans.kind.assign(2, SpanKind::forward);
    spans.stage.assign(2, 0);
    spans.chunk.assign(2, 0);
    spans.step.assign(2, 0);
    spans.microbatch.assign(2, 0);
    spans.task.assign(2, 0);
    spans.name.assign(2, 0);
    spans.rows.push_back({0, SpanLane::compute, 0, 0, 2, ""});
    spans.finish = finish;
    spans.window_end = finish;
    return spans;
}

TEST(RowImage, AColumnThatIsThirtyPercentBubbleIsThirtyPercentBubbleColour) {
    const foreshard::Run run = runOf(oneGap(5000, 5300, 10'000));
    const QImage image = drawn(sceneOf(run), {0, 10'000, 10.0}, 0);
    const Theme& colors = theme(ThemeKind::light);
    EXPECT_EQ(image.pixel(5, 0), mixed(colors.fill(SpanKind::forward).rgb(), colors.bubble.rgb(), 0.3));
    EXPECT_EQ(image.pixel(4, 0), colors.fill(SpanKind::forward).rgb());
    EXPECT_EQ(image.pixel(6, 0), colors.fill(SpanKind::forward).rgb());
}

// However far one zooms out, a bubble of a hundredth of a column is seen, and its heat in the minimap is exact.
TEST(RowImage, AShortBubbleNeverVanishes) {
    for (const int width : {10, 100, 1000}) {
        const Picoseconds finish = 1'000'000;
        const Picoseconds column = finish / width;
        const foreshard::Run run = runOf(oneGap(finish / 2, finish / 2 + column / 100, finish));
        const TimelineScene scene = sceneOf(run);
        const QImage image = drawn(scene, {0, finish, static_cast<double>(width)}, 0);
        EXPECT_NE(image.pixel(width / 2, 0), image.pixel(0, 0)) << width;
        EXPECT_DOUBLE_EQ(bubbleHeat(scene, column_edges(0, finish, width))[static_cast<std::size_t>(width) / 2], 0.01);
    }
}

TEST(RowImage, FindsEveryBoxThatIsWideEnough) {
    for (unsigned seed = 0; seed < 10; ++seed) {
        const foreshard::Run run = runOf(foreshard::test::random_spans(seed, 1, 500));
        const TimelineScene scene = sceneOf(run);
        const TimeAxis axis{run.spans.finish / 5, run.spans.finish / 2, 900.0};
        QImage image(900, 4, QImage::Format_RGB32);
        RowImage drawing(scene, axis, 5);
        drawing.drawSpans(image, rowOf(0), 0, 4);
        std::size_t wide = 0;
        for (std::size_t i = 0; i < run.spans.size(); ++i) {
            const double left = std::max(0.0, axis.toPixel(run.spans.start[i]));
            const double right = std::min(axis.width, axis.toPixel(run.spans.end[i]));
            if (right - left >= RowImage::least_box) ++wide;
        }
        std::size_t found = 0;
        for (const WideBox& box : drawing.boxes()) {
            if (!box.gap && std::min(axis.width, box.right) - std::max(0.0, box.left) >= RowImage::least_box) ++found;
        }
        EXPECT_EQ(found, wide) << seed;
        EXPECT_GT(wide, 20U);
    }
}

// Where nothing of a run is, the picture is empty, not a bubble.
TEST(RowImage, OutsideTheRunIsNoBubble) {
    const foreshard::Run run = runOf(oneGap(5000, 6000, 10'000));
    const QImage image = drawn(sceneOf(run), {-10'000, 20'000, 30.0}, 0);
    const Theme& colors = theme(ThemeKind::light);
    EXPECT_EQ(image.pixel(5, 0), colors.window.rgb());
    EXPECT_EQ(image.pixel(15, 0), colors.bubble.rgb());
    EXPECT_EQ(image.pixel(25, 0), colors.window.rgb());
}

}  // namespace
}  // namespace foreshard::gui
