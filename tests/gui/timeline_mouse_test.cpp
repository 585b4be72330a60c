#include <QSignalSpy>
#include <QTest>
#include <QWheelEvent>

#include <gtest/gtest.h>

#include "gui/timeline/minimap.hpp"
#include "gui/timeline/navigation.hpp"
#include "tests/gui/timeline_fixture.hpp"

namespace foreshard::gui {
namespace {

using test::findSpan;
using test::ShownTimeline;

class TimelineMouse : public testing::Test {
protected:
    const Selection& selection() const { return shown.state.selection(); }
    QWidget* viewport() { return shown.view.viewport(); }
    void drag(QPoint from, QPoint to, Qt::MouseButton button = Qt::LeftButton) {
        QTest::mousePress(viewport(), button, Qt::NoModifier, from);
        shown.move(from + (to - from) / 2);
        shown.move(to);
        QTest::mouseRelease(viewport(), button, Qt::NoModifier, to);
    }
    void wheel(QPoint point, int notches, Qt::KeyboardModifiers modifiers) {
        QWheelEvent event(point, viewport()->mapToGlobal(point), {}, {0, 120 * notches}, Qt::NoButton, modifiers,
                          Qt::NoScrollPhase, false);
        QApplication::sendEvent(viewport(), &event);
    }

    foreshard::Run run = test::smallRun(4, 6);
    ShownTimeline shown{{&run}};
};

TEST_F(TimelineMouse, AClickSelectsASpanOrAGapOrNothing) {
    const std::size_t span = findSpan(run.spans, 2, SpanKind::backward, 1);
    QTest::mouseClick(viewport(), Qt::LeftButton, Qt::NoModifier, shown.middleOf(0, span));
    EXPECT_EQ(selection(), spanSelection(0, span));
    const Gap gap = gaps_by_length(run.spans).front();
    QTest::mouseClick(viewport(), Qt::LeftButton, Qt::NoModifier, shown.middleOf(gap));
    EXPECT_EQ(selection(), gapSelection(0, gap));
    QTest::mouseClick(viewport(), Qt::LeftButton, Qt::NoModifier, shown.view.frame().rows.bottomRight() - QPoint(5, 5));
    EXPECT_EQ(selection().kind, Selection::Kind::none);
}

TEST_F(TimelineMouse, HoverLightsTheMicrobatchAndMovesTheCursor) {
    QSignalSpy hovered(&shown.view, &TimelineView::hovered);
    const QPoint point = shown.middleOf(0, findSpan(run.spans, 1, SpanKind::forward, 3));
    shown.move(point);
    EXPECT_EQ(shown.state.litMicrobatch(), 3);
    ASSERT_TRUE(shown.state.cursor());
    EXPECT_NEAR(shown.view.frame().x(*shown.state.cursor()), point.x(), 0.01);
    EXPECT_TRUE(hovered.back()[0].toString().contains("micro-batch 3"));
    QEvent leave(QEvent::Leave);
    QApplication::sendEvent(viewport(), &leave);
    EXPECT_EQ(shown.state.litMicrobatch(), -1);
    EXPECT_FALSE(shown.state.cursor());
}

// The lit micro-batch is outlined on every rank: pixels change in all rows.
TEST_F(TimelineMouse, TheLitMicrobatchIsSeenOnAllRanks) {
    const QImage before = shown.view.grab().toImage();
    shown.state.lightMicrobatch(2);
    const QImage after = shown.view.grab().toImage();
    for (int pp = 0; pp < 4; ++pp) {
        const QPoint middle = shown.middleOf(0, findSpan(run.spans, pp, SpanKind::forward, 2));
        const auto rect = spanRect(shown.view.frame(), 0, findSpan(run.spans, pp, SpanKind::forward, 2)).value();
        const QPoint edge(static_cast<int>(rect.left()) + 1, middle.y());
        EXPECT_NE(before.pixel(edge), after.pixel(edge)) << pp;
    }
}

TEST_F(TimelineMouse, ADragSelectsAnAreaWithExactTotals) {
    QSignalSpy areas(&shown.view, &TimelineView::areaSelected);
    const QPoint from = shown.middleOf(0, findSpan(run.spans, 1, SpanKind::forward, 0));
    const QPoint to = shown.middleOf(0, findSpan(run.spans, 2, SpanKind::backward, 2));
    drag(from, to);
    ASSERT_EQ(selection().kind, Selection::Kind::area);
    EXPECT_EQ(run.spans.rows[selection().row].rank, 1);
    EXPECT_EQ(run.spans.rows[selection().lastRow].rank, 2);
    EXPECT_EQ(selection().begin, shown.view.frame().axisTime(from.x()));
    EXPECT_EQ(selection().end, shown.view.frame().axisTime(to.x()));
    ASSERT_FALSE(areas.empty());
    EXPECT_EQ(areas.back()[0].toString(), areaText(shown.view.scene().runs[0], selection()));
    EXPECT_TRUE(areas.back()[0].toString().contains("bubble"));
}

TEST_F(TimelineMouse, WheelWithControlZoomsUnderThePointer) {
    const QPoint point = shown.view.frame().rows.center();
    const Picoseconds before = shown.view.frame().axisTime(point.x());
    const Picoseconds length = shown.state.end() - shown.state.begin();
    wheel(point, 1, Qt::ControlModifier);
    EXPECT_NEAR(static_cast<double>(shown.state.end() - shown.state.begin()), 0.8 * static_cast<double>(length), 10.0);
    EXPECT_NEAR(static_cast<double>(shown.view.frame().axisTime(point.x())), static_cast<double>(before), 1000.0);
    const Picoseconds begin = shown.state.begin();
    wheel(point, -1, Qt::ShiftModifier);
    EXPECT_GT(shown.state.begin(), begin);
}

TEST_F(TimelineMouse, TheMiddleButtonPans) {
    shown.press(Qt::Key_W);
    shown.press(Qt::Key_W);
    const QPoint point = shown.view.frame().rows.center();
    const Picoseconds held = shown.view.frame().axisTime(point.x());
    drag(point, point + QPoint(-40, 0), Qt::MiddleButton);
    EXPECT_NEAR(shown.view.frame().x(held), point.x() - 40, 0.1);
    EXPECT_EQ(selection().kind, Selection::Kind::none);
}

TEST_F(TimelineMouse, ADoubleClickZoomsToASpanAndOpensIt) {
    QSignalSpy activated(&shown.view, &TimelineView::spanActivated);
    const std::size_t span = findSpan(run.spans, 3, SpanKind::forward, 4);
    QTest::mouseDClick(viewport(), Qt::LeftButton, Qt::NoModifier, shown.middleOf(0, span));
    EXPECT_EQ(activated.size(), 1);
    EXPECT_LE(shown.state.begin(), run.spans.start[span]);
    EXPECT_GE(shown.state.end(), run.spans.end[span]);
    EXPECT_LT(shown.state.end() - shown.state.begin(), 2 * (run.spans.end[span] - run.spans.start[span]));
    QTest::mouseDClick(viewport(), Qt::LeftButton, Qt::NoModifier, shown.view.frame().minimap.center());
    EXPECT_EQ(shown.state.end(), run.spans.window_end);
}

TEST_F(TimelineMouse, TheMinimapsWindowIsDraggedAndResized) {
    shown.state.setVisible(run.spans.finish / 4, run.spans.finish / 2);
    const Picoseconds length = shown.state.end() - shown.state.begin();
    const TimelineFrame frame = shown.view.frame();
    const TimeAxis whole = minimapAxis(frame);
    const auto at = [&](Picoseconds time) {
        return QPoint(frame.minimap.left() + static_cast<int>(whole.toPixel(time)), frame.minimap.center().y());
    };
    drag(at(run.spans.finish * 3 / 8), at(run.spans.finish * 5 / 8));
    EXPECT_NEAR(static_cast<double>(shown.state.begin()), 0.5 * static_cast<double>(run.spans.finish),
                2.0 / whole.pixelsPerPicosecond());
    EXPECT_NEAR(static_cast<double>(shown.state.end() - shown.state.begin()), static_cast<double>(length), 10.0);
    const Picoseconds begin = shown.state.begin();
    drag(at(shown.state.end()), at(run.spans.finish * 7 / 8));
    EXPECT_EQ(shown.state.begin(), begin);
    EXPECT_NEAR(static_cast<double>(shown.state.end()), 0.875 * static_cast<double>(run.spans.finish),
                2.0 / whole.pixelsPerPicosecond());
}

TEST_F(TimelineMouse, AClickOnARanksNameShowsItsLanes) {
    const QPoint name(10, shown.middleOf(0, findSpan(run.spans, 1, SpanKind::forward, 0)).y());
    QTest::mouseClick(viewport(), Qt::LeftButton, Qt::NoModifier, name);
    EXPECT_EQ(shown.view.scene().choice.expanded, (std::set<std::size_t>{1}));
    QTest::mouseClick(viewport(), Qt::LeftButton, Qt::NoModifier, name);
    EXPECT_TRUE(shown.view.scene().choice.expanded.empty());
}

// What is drawn where the pointer is is what the hit test finds, at every zoom.
TEST_F(TimelineMouse, HitTestFindsWhatIsUnderThePoint) {
    for (int zoom = 0; zoom < 8; ++zoom) {
        const TimelineFrame frame = shown.view.frame();
        for (int x = frame.rows.left() + 1; x < frame.rows.right(); x += 7) {
            for (const ShownRow& row : visibleRows(frame)) {
                const Hit hit = hitTest(frame, {x, row.rect.center().y()});
                const Picoseconds time = frame.axisTime(x);
                const auto span = span_at(run.spans, run.spans.rows[row.row->row], time);
                ASSERT_EQ(hit.part, Hit::Part::rows);
                ASSERT_TRUE(!span || hit.span == span);
                ASSERT_TRUE(hit.span || hit.gap == gap_at(run.spans, row.row->row, time));
                ASSERT_TRUE(hit.span || hit.gap);
            }
        }
        shown.press(Qt::Key_W);
    }
}

}  // namespace
}  // namespace foreshard::gui
