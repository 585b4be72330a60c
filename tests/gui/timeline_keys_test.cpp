#include <QClipboard>
#include <QScrollBar>
#include <QSignalSpy>
#include <QTest>

#include <gtest/gtest.h>

#include "tests/gui/timeline_fixture.hpp"

namespace foreshard::gui {
namespace {

using test::findSpan;
using test::ShownTimeline;

class TimelineKeys : public testing::Test {
protected:
    const Selection& selection() const { return shown.state.selection(); }
    Picoseconds length() const { return shown.state.end() - shown.state.begin(); }
    void selectSpan(int pp, SpanKind kind, int microbatch) {
        shown.view.revealSpan(0, findSpan(run.spans, pp, kind, microbatch));
    }

    foreshard::Run run = test::smallRun(4, 6);
    ShownTimeline shown{{&run}};
};

TEST_F(TimelineKeys, ShowsTheWholeStepFirst) {
    EXPECT_EQ(shown.state.begin(), run.spans.window_begin);
    EXPECT_EQ(shown.state.end(), run.spans.window_end);
}

TEST_F(TimelineKeys, WAndSZoomAboutTheCursor) {
    const Picoseconds whole = length();
    shown.state.setCursor(run.spans.window_begin + whole / 4);
    const double before = shown.view.frame().x(*shown.state.cursor());
    shown.press(Qt::Key_W);
    shown.press(Qt::Key_W);
    EXPECT_NEAR(static_cast<double>(length()), 0.64 * static_cast<double>(whole), 10.0);
    EXPECT_NEAR(shown.view.frame().x(*shown.state.cursor()), before, 0.01);
    shown.press(Qt::Key_S);
    EXPECT_NEAR(static_cast<double>(length()), 0.8 * static_cast<double>(whole), 10.0);
}

TEST_F(TimelineKeys, AAndDPanByATenthAndStopAtTheEnds) {
    shown.state.setVisible(run.spans.finish / 2, run.spans.finish / 2 + 10'000'000'000);
    const Picoseconds begin = shown.state.begin();
    shown.press(Qt::Key_D);
    EXPECT_NEAR(static_cast<double>(shown.state.begin() - begin), 1e9, 10.0);
    shown.press(Qt::Key_A);
    EXPECT_NEAR(static_cast<double>(shown.state.begin() - begin), 0.0, 10.0);
    for (int i = 0; i < 1000; ++i) shown.press(Qt::Key_A);
    EXPECT_EQ(shown.state.begin(), shown.view.scene().first);
    EXPECT_EQ(length(), 10'000'000'000);
}

TEST_F(TimelineKeys, FFitsTheSelectionOrTheStepAndZeroTheRun) {
    selectSpan(1, SpanKind::forward, 2);
    const std::size_t span = selection().span;
    shown.press(Qt::Key_F);
    EXPECT_LT(shown.state.begin(), run.spans.start[span]);
    EXPECT_GT(shown.state.end(), run.spans.end[span]);
    EXPECT_LT(length(), 2 * (run.spans.end[span] - run.spans.start[span]));
    shown.press(Qt::Key_0);
    EXPECT_EQ(shown.state.begin(), run.spans.begin);
    EXPECT_EQ(shown.state.end(), run.spans.finish);
    shown.press(Qt::Key_Escape);
    shown.press(Qt::Key_W);
    shown.press(Qt::Key_F);
    EXPECT_EQ(shown.state.begin(), run.spans.window_begin);
    EXPECT_EQ(shown.state.end(), run.spans.window_end);
}

TEST_F(TimelineKeys, PeriodAndCommaGoToNeighboursInTheRow) {
    selectSpan(1, SpanKind::forward, 0);
    const std::size_t span = selection().span;
    shown.press(Qt::Key_Period);
    EXPECT_EQ(selection().span, span + 1);
    shown.press(Qt::Key_Comma);
    EXPECT_EQ(selection().span, span);
    shown.press(Qt::Key_Comma);
    EXPECT_EQ(selection().span, span) << "the first of the row has nothing before it";
}

TEST_F(TimelineKeys, PeriodStartsWithTheFirstSpanInView) {
    shown.press(Qt::Key_Period);
    EXPECT_EQ(selection().kind, Selection::Kind::span);
    EXPECT_EQ(selection().span, run.spans.rows[0].first);
}

// The forward pass of stage 2 waits for its receive, that for the send of stage 1, and that for the pass there.
TEST_F(TimelineKeys, BracketsFollowDependencies) {
    const std::size_t from = findSpan(run.spans, 1, SpanKind::forward, 0);
    const std::size_t to = findSpan(run.spans, 2, SpanKind::forward, 0);
    shown.view.revealSpan(0, to);
    for (int hop = 0; hop < 3 && selection().span != from; ++hop) shown.press(Qt::Key_BracketLeft);
    EXPECT_EQ(selection().span, from);
    shown.press(Qt::Key_BracketRight);
    EXPECT_NE(selection().span, from);
    EXPECT_GE(run.spans.start[selection().span], run.spans.end[from]);
}

TEST_F(TimelineKeys, BGoesThroughBubblesFromTheLargest) {
    const std::vector<Gap> gaps = gaps_by_length(run.spans);
    shown.press(Qt::Key_B);
    EXPECT_EQ(selection().kind, Selection::Kind::gap);
    EXPECT_EQ(selection().end - selection().begin, gaps[0].length());
    shown.press(Qt::Key_B);
    EXPECT_EQ(selection().begin, gaps[1].begin);
    EXPECT_EQ(selection().row, gaps[1].row);
    shown.press(Qt::Key_B, Qt::ShiftModifier);
    EXPECT_EQ(selection().row, gaps[0].row);
}

TEST_F(TimelineKeys, ASelectedGapBringsItsChain) {
    QSignalSpy why(&shown.view, &TimelineView::gapSelected);
    shown.press(Qt::Key_B);
    ASSERT_EQ(why.size(), 1);
    EXPECT_FALSE(why[0][0].toString().isEmpty());
    // The largest gap of 1F1B with a span behind it has a cause.
    for (int i = 0; i < 8 && shown.view.scene().chain.empty(); ++i) shown.press(Qt::Key_B);
    EXPECT_FALSE(shown.view.scene().chain.empty());
    shown.press(Qt::Key_Escape);
    EXPECT_TRUE(shown.view.scene().chain.empty());
}

TEST_F(TimelineKeys, CTogglesTheCriticalPathMMarksAndEscapeClears) {
    shown.press(Qt::Key_C);
    EXPECT_TRUE(shown.view.scene().criticalPath);
    shown.press(Qt::Key_M);
    EXPECT_TRUE(shown.view.scene().marks.empty()) << "no cursor, no mark";
    shown.state.setCursor(30'000'000'000);
    shown.press(Qt::Key_M);
    shown.state.setCursor(10'000'000'000);
    shown.press(Qt::Key_M);
    EXPECT_EQ(shown.view.scene().marks, (std::vector<Picoseconds>{10'000'000'000, 30'000'000'000}));
    shown.press(Qt::Key_M);
    EXPECT_EQ(shown.view.scene().marks, (std::vector<Picoseconds>{30'000'000'000}));
    shown.press(Qt::Key_Escape);
    EXPECT_TRUE(shown.view.scene().marks.empty());
    EXPECT_FALSE(shown.view.scene().criticalPath);
}

TEST_F(TimelineKeys, PPinsAndEExpandsTheSelectedRank) {
    selectSpan(2, SpanKind::forward, 1);
    shown.press(Qt::Key_P);
    EXPECT_EQ(shown.view.scene().choice.pinned, (std::set<std::size_t>{2}));
    EXPECT_LT(shown.middleOf(0, findSpan(run.spans, 2, SpanKind::forward, 1)).y(),
              shown.middleOf(0, findSpan(run.spans, 0, SpanKind::forward, 1)).y());
    shown.press(Qt::Key_P);
    EXPECT_TRUE(shown.view.scene().choice.pinned.empty());
    shown.press(Qt::Key_E);
    EXPECT_EQ(shown.view.scene().choice.expanded, (std::set<std::size_t>{2}));
    shown.press(Qt::Key_E, Qt::ShiftModifier);
    EXPECT_EQ(shown.view.scene().choice.expanded.size(), 4U);
    shown.press(Qt::Key_E, Qt::ShiftModifier);
    EXPECT_TRUE(shown.view.scene().choice.expanded.empty());
}

TEST_F(TimelineKeys, UpAndDownGoToWhatTheNextRowShowsThen) {
    selectSpan(1, SpanKind::forward, 1);
    const Picoseconds middle = (run.spans.start[selection().span] + run.spans.end[selection().span]) / 2;
    shown.press(Qt::Key_Down);
    ASSERT_EQ(selection().kind, Selection::Kind::span);
    EXPECT_EQ(run.spans.ranks[static_cast<std::size_t>(run.spans.rows[row_of(run.spans, selection().span)].rank)].pp,
              2);
    EXPECT_LE(run.spans.start[selection().span], middle);
    EXPECT_GT(run.spans.end[selection().span], middle);
}

TEST_F(TimelineKeys, ControlCCopiesTheRow) {
    selectSpan(1, SpanKind::forward, 0);
    shown.press(Qt::Key_C, Qt::ControlModifier);
    const QStringList lines = QApplication::clipboard()->text().split('\n', Qt::SkipEmptyParts);
    const SpanRow& row = run.spans.rows[row_of(run.spans, selection().span)];
    EXPECT_EQ(static_cast<std::size_t>(lines.size()), row.last - row.first + 1);
    EXPECT_EQ(lines[0].split('\t').size(), 10);
    EXPECT_EQ(lines[1], "PP1\tcompute\t1F0\tforward\t1\t0\t0\t11000.000\t21000.000\t10000.000");
}

TEST_F(TimelineKeys, DigitsChooseTheMode) {
    QSignalSpy changed(&shown.view, &TimelineView::modeChanged);
    shown.press(Qt::Key_3);
    EXPECT_EQ(shown.view.mode(), TimelineMode::diff);
    shown.press(Qt::Key_1);
    EXPECT_EQ(shown.view.mode(), TimelineMode::single);
    EXPECT_EQ(changed.size(), 2);
}

TEST_F(TimelineKeys, EnterOpensTheSelectedSpan) {
    QSignalSpy activated(&shown.view, &TimelineView::spanActivated);
    selectSpan(0, SpanKind::backward, 3);
    shown.press(Qt::Key_Return);
    ASSERT_EQ(activated.size(), 1);
    EXPECT_EQ(activated[0][1].value<std::size_t>(), selection().span);
}

TEST_F(TimelineKeys, KeysOfTheWindowAreLeftToIt) {
    QKeyEvent slash(QEvent::KeyPress, Qt::Key_Slash, Qt::NoModifier, "/");
    QApplication::sendEvent(&shown.view, &slash);
    EXPECT_FALSE(slash.isAccepted());
}

TEST_F(TimelineKeys, NewRunsKeepTheVisibleTimeUnlessItWasTheStep) {
    const foreshard::Run longer = test::smallRun(4, 8);
    shown.view.setRuns({&longer});
    EXPECT_EQ(shown.state.end(), longer.spans.window_end);
    shown.press(Qt::Key_W);
    const Picoseconds end = shown.state.end();
    shown.view.setRuns({&run});
    EXPECT_EQ(shown.state.end(), end);
    shown.view.setRuns({});
    shown.press(Qt::Key_W);
    shown.press(Qt::Key_B);
    shown.press(Qt::Key_Period);
    shown.view.grab();
}

TEST_F(TimelineKeys, SaysWhatIsSelectedToScreenReaders) {
    EXPECT_FALSE(shown.view.accessibleName().isEmpty());
    selectSpan(1, SpanKind::forward, 2);
    EXPECT_TRUE(shown.view.accessibleDescription().contains("micro-batch 2"));
}

}  // namespace
}  // namespace foreshard::gui
