#include "gui/timeline/timeline_rows.hpp"

#include <gtest/gtest.h>

#include "tests/gui/timeline_fixture.hpp"

namespace foreshard::gui {
namespace {

std::vector<QString> labels(const std::vector<TimelineRow>& rows) {
    std::vector<QString> result;
    result.reserve(rows.size());
    for (const TimelineRow& row : rows) result.push_back(row.label);
    return result;
}

/// Rows of a block neither overlap nor leave its height.
void expectStacked(const std::vector<TimelineRow>& rows, int height) {
    int bottom = 0;
    for (const TimelineRow& row : rows) {
        EXPECT_GE(row.top, bottom);
        EXPECT_GT(row.height, 0);
        bottom = row.top + row.height;
    }
    EXPECT_LE(bottom, height);
}

class TimelineRows : public testing::Test {
protected:
    /// Of what `choice` says.
    RowLayout layout(const std::vector<const foreshard::Run*>& runs) const {
        const RowLayout result = layoutRows(runs, choice);
        expectStacked(result.pinned, result.pinnedHeight);
        expectStacked(result.scrolled, result.scrolledHeight);
        return result;
    }
    foreshard::Run a = test::smallRun(2, 3);
    foreshard::Run b = test::zeroBubbleRun(3, 3);
    RowChoice choice;
};

TEST_F(TimelineRows, SingleHasARowPerRank) {
    EXPECT_EQ(labels(layout({&a, &b}).scrolled), (std::vector<QString>{"PP0", "PP1"}));
}

TEST_F(TimelineRows, AnExpandedRankHasEveryRowOfItsLanes) {
    choice.expanded = {1};
    const RowLayout expanded = layout({&a});
    std::vector<std::size_t> ofRankOne;
    for (const TimelineRow& row : expanded.scrolled) {
        if (row.rank == 1) ofRankOne.push_back(row.row);
    }
    std::vector<std::size_t> all;
    for (std::size_t row = 0; row < a.spans.rows.size(); ++row) {
        if (a.spans.rows[row].rank == 1) all.push_back(row);
    }
    EXPECT_EQ(ofRankOne, all);
    EXPECT_GT(all.size(), 1U);
}

TEST_F(TimelineRows, PinnedRanksHaveABlockOfTheirOwn) {
    choice.pinned = {1};
    const RowLayout result = layout({&a});
    EXPECT_EQ(labels(result.pinned), std::vector<QString>{"PP1"});
    EXPECT_EQ(labels(result.scrolled), std::vector<QString>{"PP0"});
}

// Ranks meet by their place in the pipeline; one that only B has follows.
TEST_F(TimelineRows, StackHasARowPerRunAndRank) {
    choice.mode = TimelineMode::stack;
    EXPECT_EQ(labels(layout({&a, &b}).scrolled), (std::vector<QString>{"PP0 A", "B", "PP1 A", "B", "PP2 B"}));
}

TEST_F(TimelineRows, DiffHasTheSecondRunAndAStrip) {
    choice.mode = TimelineMode::diff;
    const RowLayout result = layout({&a, &b});
    EXPECT_EQ(labels(result.scrolled),
              (std::vector<QString>{"PP0", "late/early", "PP1", "late/early", "PP2", "late/early"}));
    EXPECT_EQ(result.scrolled[0].run, 1U);
    EXPECT_EQ(result.scrolled[1].content, RowContent::late_early);
}

TEST_F(TimelineRows, ARankThatOnlyTheBaselineHasIsStillShown) {
    choice.mode = TimelineMode::diff;
    const RowLayout result = layout({&b, &a});
    EXPECT_EQ(result.scrolled.back().label, "PP2");
    EXPECT_EQ(result.scrolled.back().run, 0U);
}

TEST_F(TimelineRows, OverlayOutlinesTheFirstRunsRowOfTheSameRank) {
    choice.mode = TimelineMode::overlay;
    const RowLayout result = layout({&a, &b});
    ASSERT_EQ(result.scrolled.size(), 3U);
    EXPECT_EQ(a.spans.rows[result.scrolled[1].outlineRow.value()].rank, 1);
    EXPECT_FALSE(result.scrolled[2].outlineRow);
}

TEST_F(TimelineRows, ComparingOneRunShowsIt) {
    choice.mode = TimelineMode::diff;
    EXPECT_EQ(labels(layout({&a}).scrolled), (std::vector<QString>{"PP0", "PP1"}));
    EXPECT_TRUE(layout({}).scrolled.empty());
}

TEST_F(TimelineRows, FittingHeightIsTheLargestThatFits) {
    const int height = fittingRowHeight({&a}, choice, 61, 8, 100);
    choice.rowHeight = height;
    EXPECT_LE(layout({&a}).scrolledHeight, 61);
    choice.rowHeight = height + 1;
    EXPECT_GT(layout({&a}).scrolledHeight, 61);
}

}  // namespace
}  // namespace foreshard::gui
