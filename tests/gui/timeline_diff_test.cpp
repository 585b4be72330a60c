#include <QSignalSpy>
#include <QTest>

#include <gtest/gtest.h>

#include "gui/timeline/legend.hpp"
#include "gui/timeline/row_image.hpp"
#include "tests/gui/timeline_fixture.hpp"

/// The second run against the first: what is late or early, and what only one of them has.
namespace foreshard::gui {
namespace {

constexpr Picoseconds span_length = 500'000;
constexpr Picoseconds step_length = 10'000'000;

/// Forward passes of micro-batches 0, 1, ... on one rank; -1: that micro-batch is missing.
foreshard::Run passesAt(const std::vector<Picoseconds>& starts) {
    foreshard::Run run;
    SpanTable& spans = run.spans;
    spans.ranks.push_back({0, 0, -1, "PP0"});
    spans.names = {"F"};
    for (std::size_t i = 0; i < starts.size(); ++i) {
        if (starts[i] < 0) continue;
        spans.start.push_back(starts[i]);
        spans.end.push_back(starts[i] + span_length);
        spans.microbatch.push_back(static_cast<std::int32_t>(i));
        spans.kind.push_back(SpanKind::forward);
        for (std::vector<std::int16_t>* zeros : {&spans.stage, &spans.chunk, &spans.step}) zeros->push_back(0);
        for (std::vector<std::int32_t>* zeros : {&spans.task, &spans.name}) zeros->push_back(0);
    }
    spans.rows.push_back({0, SpanLane::compute, 0, 0, spans.size(), "PP0"});
    spans.finish = 2 * step_length;
    spans.window_end = step_length;
    return run;
}

TimelineScene diffOf(const foreshard::Run& a, const foreshard::Run& b) {
    TimelineScene scene;
    setSceneRuns(scene, {&a, &b}, Alignment::start_of_step);
    setSceneMode(scene, TimelineMode::diff);
    return scene;
}

int pixelsOfColor(const QImage& image, int x, const QColor& color) {
    int count = 0;
    for (int y = 0; y < image.height(); ++y) count += image.pixel(x, y) == color.rgb() ? 1 : 0;
    return count;
}

/// Full height is half of A's step, whatever else the runs hold: pictures can be compared.
TEST(TimelineDiff, LateAndEarlyAreCutOffAtHalfOfTheStep) {
    const foreshard::Run a = passesAt({5'000'000, 6'000'000, 7'000'000, 8'000'000});
    const foreshard::Run b = passesAt({3'750'000, 7'250'000, 12'000'000, 17'000'000});
    const TimelineScene scene = diffOf(a, b);
    constexpr int height = 40;
    QImage strip(200, height, QImage::Format_RGB32);
    strip.fill(scene.theme().window);
    TimelineRow row;
    row.run = 1;
    row.content = RowContent::late_early;
    RowImage(scene, {0, 2 * step_length, 200.0}, 5).drawLateEarly(strip, row, 0, height);
    const auto columnOf = [&](std::size_t span) {
        return static_cast<int>((b.spans.start[span] + span_length / 2) / 100'000);
    };
    const Theme& colors = theme(ThemeKind::light);
    EXPECT_EQ(pixelsOfColor(strip, columnOf(0), colors.early), height / 4) << "an eighth of the step: half height";
    EXPECT_EQ(pixelsOfColor(strip, columnOf(1), colors.late), height / 4);
    EXPECT_EQ(pixelsOfColor(strip, columnOf(2), colors.late), height / 2) << "half of the step";
    EXPECT_EQ(pixelsOfColor(strip, columnOf(3), colors.late), height / 2) << "nine tenths of the step";
    EXPECT_EQ(pixelsOfColor(strip, 1, colors.late) + pixelsOfColor(strip, 1, colors.early), 0) << "nothing runs there";
}

TEST(TimelineDiff, WhatOnlyTheFirstRunHasStandsAtItsPlaceInARowOfItsOwn) {
    const foreshard::Run a = passesAt({1'000'000, 2'000'000, 3'000'000, 4'000'000});
    const foreshard::Run b = passesAt({1'000'000, 2'500'000, -1, 4'000'000});
    const TimelineScene scene = diffOf(a, b);
    const RowLayout layout = layoutRows(scene.runPointers(), scene.choice);
    ASSERT_EQ(layout.scrolled.size(), 3U);
    const TimelineRow& row = layout.scrolled[2];
    EXPECT_EQ(row.label, "only A");
    EXPECT_EQ(row.content, RowContent::only_first);
    QImage image(100, 6, QImage::Format_RGB32);
    RowImage drawing(scene, {0, step_length, 100.0}, 3);
    drawing.drawSpans(image, row, 0, 6);
    ASSERT_EQ(drawing.boxes().size(), 1U);
    EXPECT_EQ(drawing.boxes()[0].run, 0U);
    EXPECT_EQ(drawing.boxes()[0].span, 2U) << "as A counts it, for its label";
    EXPECT_TRUE(drawing.boxes()[0].unmatched);
    const Theme& colors = theme(ThemeKind::light);
    for (int x = 0; x < 100; ++x) {
        const bool there = x >= 30 && x < 35;
        EXPECT_EQ(image.pixel(x, 2) == colors.panel.rgb(), !there) << x;
    }
}

TEST(TimelineDiff, RunsWithoutUnmatchedSpansHaveNoSuchRow) {
    const foreshard::Run a = passesAt({1'000'000, 2'000'000});
    const foreshard::Run b = passesAt({1'000'000, 2'500'000});
    const TimelineScene scene = diffOf(a, b);
    EXPECT_EQ(layoutRows(scene.runPointers(), scene.choice).scrolled.size(), 2U);
}

TEST(TimelineDiff, TheLegendCountsBothSides) {
    const foreshard::Run a = passesAt({1'000'000, 2'000'000, 3'000'000, 4'000'000});
    const foreshard::Run b = passesAt({1'000'000, -1, -1, 4'000'000, 5'000'000});
    QStringList texts;
    for (const LegendItem& item : timelineLegend(diffOf(a, b))) texts << item.text;
    EXPECT_TRUE(texts.join('\n').contains("1 only in B, 2 only in A")) << texts.join('\n').toStdString();
    EXPECT_TRUE(texts.join('\n').contains("50 % of A's step")) << texts.join('\n').toStdString();
}

class ShownDiff : public testing::Test {
protected:
    ShownDiff() { shown.view.setMode(TimelineMode::diff); }

    foreshard::Run a = passesAt({1'000'000, 2'000'000, 3'000'000, 4'000'000});
    foreshard::Run b = passesAt({1'000'000, 2'500'000, -1, 4'000'000});
    test::ShownTimeline shown{{&a, &b}};
};

TEST_F(ShownDiff, AClickOnASpanThatOnlyAHasSelectsIt) {
    QSignalSpy hovered(&shown.view, &TimelineView::hovered);
    shown.move(shown.middleOf(0, 2));
    ASSERT_FALSE(hovered.empty());
    EXPECT_TRUE(hovered.back()[0].toString().contains("only in A"));
    QTest::mouseClick(shown.view.viewport(), Qt::LeftButton, {}, shown.middleOf(0, 2));
    EXPECT_EQ(shown.state.selection().kind, Selection::Kind::span);
    EXPECT_EQ(shown.state.selection().run, 0U);
    EXPECT_EQ(shown.state.selection().span, 2U);
}

/// Where A's other spans would be is nothing of A.
TEST_F(ShownDiff, MatchedSpansOfAAreNeitherDrawnNorFound) {
    EXPECT_FALSE(spanRect(shown.view.frame(), 0, 1));
    const TimelineFrame frame = shown.view.frame();
    const int y = shown.middleOf(0, 2).y();
    const Hit hit = hitTest(frame, QPoint(static_cast<int>(frame.x(0, a.spans.start[1] + span_length / 2)), y));
    EXPECT_FALSE(hit.span);
    shown.state.select(Selection{.kind = Selection::Kind::span, .run = 0, .span = 2});
    shown.press(Qt::Key_Period);
    EXPECT_EQ(shown.state.selection().span, 2U) << "the only one that is drawn";
}

/// Keys go through what is drawn: the second run.
TEST_F(ShownDiff, KeysBeginWithTheSecondRun) {
    shown.press(Qt::Key_B);
    EXPECT_EQ(shown.state.selection().kind, Selection::Kind::gap);
    EXPECT_EQ(shown.state.selection().run, 1U);
    shown.press(Qt::Key_Escape);
    shown.press(Qt::Key_Period);
    EXPECT_EQ(shown.state.selection().run, 1U);
}

QImage lettersOf(const test::ShownTimeline& shown, std::size_t run, std::size_t span) {
    const QRectF box = spanRect(shown.view.frame(), run, span).value();
    QRect letters(0, 0, 10, 10);
    letters.moveCenter(box.center().toPoint());
    return shown.view.viewport()->grab().toImage().copy(letters);
}

/// Edges of A run through the middle of B's passes: letters are as without A, though its outlines are drawn.
TEST(TimelineOverlay, OutlinesOfTheFirstRunStayBelowLetters) {
    const foreshard::Run a = passesAt({1'000'000, 2'000'000, 3'000'000, 4'000'000});
    foreshard::Run b = passesAt({1'250'000, 2'250'000, 3'250'000, 4'250'000});
    test::ShownTimeline alone({&b});
    test::ShownTimeline over({&a, &b});
    over.view.setMode(TimelineMode::overlay);
    for (test::ShownTimeline* shown : {&alone, &over}) shown->state.setVisible(1'000'000, 5'000'000);
    for (std::size_t span = 0; span < 4; ++span) {
        ASSERT_EQ(spanRect(over.view.frame(), 1, span), spanRect(alone.view.frame(), 0, span));
        EXPECT_EQ(lettersOf(over, 1, span), lettersOf(alone, 0, span)) << span;
    }
    EXPECT_NE(over.view.viewport()->grab().toImage(), alone.view.viewport()->grab().toImage());
}

}  // namespace
}  // namespace foreshard::gui
