#include <QAbstractItemModelTester>
#include <QTest>

#include <gmock/gmock.h>

#include "gui/breakdown/breakdown_painter.hpp"
#include "gui/breakdown/breakdown_table.hpp"
#include "gui/breakdown/breakdown_view.hpp"
#include "gui/charts/table_view.hpp"
#include "tests/gui/golden_image.hpp"
#include "tests/gui/view_runs.hpp"
#include "tests/support/jobs.hpp"

namespace foreshard::gui {
namespace {

using test::catalogueRun;
using test::StepRun;

constexpr QAbstractItemModelTester::FailureReportingMode reporting =
    QAbstractItemModelTester::FailureReportingMode::Fatal;

/// Every bar is as long as the step: no picosecond is missing or counted twice.
TEST(Breakdown, BarsSumToTheStep) {
    for (std::uint64_t seed = 100; seed < 115; ++seed) {
        const Evaluation e = evaluate(foreshard::test::any_plan(seed));
        const StepRun run = make_run("any", e.job, e.graph, e.timeline, e.report);
        for (const RankAccount& account : run.accounts) {
            const std::vector<BreakdownSegment> segments = breakdownSegments(account);
            ASSERT_FALSE(segments.empty());
            EXPECT_EQ(segments.front().begin, 0);
            EXPECT_EQ(segments.back().end, run.step_time) << "seed " << seed;
            for (std::size_t i = 1; i < segments.size(); ++i) EXPECT_EQ(segments[i].begin, segments[i - 1].end);
        }
    }
}

TEST(Breakdown, SharesSumToOne) {
    double sum = 0.0;
    for (const double share : meanShares(catalogueRun("llama3-70b-dgx-h100-64"))) sum += share;
    EXPECT_NEAR(sum, 1.0, 1e-12);
}

TEST(Breakdown, TheSentenceNamesTheLargestLosses) {
    StepRun run;
    run.step_time = 1'000'000'000;
    RankAccount account{};
    account[static_cast<std::size_t>(Account::forward)] = 600'000'000;
    account[static_cast<std::size_t>(Account::bubble)] = 300'000'000;
    account[static_cast<std::size_t>(Account::exposed_dp)] = 100'000'000;
    run.accounts = {account};
    EXPECT_EQ(breakdownSentence(run).toStdString(),
              "Ranks compute 60 % of the 1.00 ms step; lost: bubble 30.0 %, exposed DP 10.0 %");
}

TEST(Breakdown, BarsAreInProportionToTheirSteps) {
    StepRun shorter = catalogueRun("gpt-tiny-pp4");
    for (RankAccount& account : shorter.accounts) {
        for (Picoseconds& time : account) time /= 2;
    }
    const QImage device(1, 1, QImage::Format_RGB32);
    const BreakdownScene scene{{&catalogueRun("gpt-tiny-pp4"), &shorter}};
    const std::vector<BreakdownBar> bars = breakdownBars(device, {0, 0, 700, 300}, scene);
    ASSERT_EQ(bars.size(), 8U);
    EXPECT_NEAR(bars[1].box.width(), bars[0].box.width() / 2, 0.01);
    for (std::size_t i = 1; i < bars.size(); ++i) EXPECT_GE(bars[i].box.top(), bars[i - 1].box.bottom());
}

TEST(BreakdownTable, HasARowPerRankAndAMeanThatSumToTheStep) {
    TableModel model;
    const QAbstractItemModelTester tester(&model, reporting);
    const StepRun& run = catalogueRun("gpt3-175b-selene-64");
    model.setTable(breakdownTable(run));
    ASSERT_EQ(model.rowCount(), 9);
    const int last = model.columnCount() - 1;
    EXPECT_EQ(model.headerData(last, Qt::Horizontal).toString(), "step, ms");
    for (int row = 0; row < model.rowCount(); ++row) {
        double sum = 0.0;
        for (int column = 1; column < last; ++column) sum += model.index(row, column).data(sort_role).toDouble();
        EXPECT_NEAR(sum, static_cast<double>(run.step_time), 1.0) << row;
        EXPECT_NEAR(model.index(row, last).data(sort_role).toDouble(), sum, 1.0) << row;
    }
    model.setTable(breakdownTable({}));
    EXPECT_EQ(model.rowCount(), 0);
}

TEST(BreakdownView, BearsRunsWithoutAccountsAndNone) {
    BreakdownView view;
    view.resize(700, 400);
    const StepRun bare;
    view.grab();
    view.setRuns({&bare});
    view.grab();
    view.setRuns({&catalogueRun("gpt-tiny-pp4"), &bare});
    view.grab();
}

TEST(BreakdownView, LooksAsItDid) {
    BreakdownView view;
    const auto draw = [&](QPainter& painter, const QRect& area) { view.paint(painter, area); };
    view.setRuns({&catalogueRun("gpt3-175b-selene-64")});
    test::expectGolden(test::painted({760, 320}, draw), "breakdown-light", 1500);
    view.setTheme(ThemeKind::high_contrast);
    view.setRuns({&catalogueRun("gpt-tiny-pp4"), &catalogueRun("gpt-tiny-pp4")});
    test::expectGolden(test::painted({760, 320}, draw), "breakdown-pair-high-contrast", 1500);
}

}  // namespace
}  // namespace foreshard::gui
