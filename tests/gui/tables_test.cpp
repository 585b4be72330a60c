#include <QAbstractItemModelTester>
#include <QApplication>
#include <QClipboard>
#include <QHeaderView>
#include <QTest>

#include <gmock/gmock.h>

#include "gui/charts/draw.hpp"
#include "gui/charts/table_view.hpp"
#include "gui/tables/collectives_table.hpp"
#include "gui/tables/collectives_view.hpp"
#include "gui/tables/critical_path_view.hpp"
#include "tests/gui/golden_image.hpp"
#include "tests/gui/view_runs.hpp"
#include "tests/support/runs.hpp"

namespace foreshard::gui {
namespace {

using test::catalogueRun;
using test::StepRun;

Table smallTable() {
    return {{{"name"}, {"time", Column::Kind::number}}, {{{"b"}, {"2 s", 2e12}}, {{"a"}, {"10 ms", 1e10}}}};
}

TEST(ChartTexts, SayNumbersWithUnits) {
    EXPECT_EQ(durationText(13'610'000'000'000).toStdString(), "13.6 s");
    EXPECT_EQ(durationText(7).toStdString(), "7 ps");
    EXPECT_EQ(differenceText(-1'500'000'000).toStdString(), "-1.50 ms");
    EXPECT_EQ(memoryText(ByteCount{3} << 29).toStdString(), "1.50 GiB");
    EXPECT_EQ(memoryText(ByteCount{3} << 20).toStdString(), "3.00 MiB");
    EXPECT_EQ(axisText(5e11, 4e12).toStdString(), "0.5 s");
    EXPECT_EQ(percentText(0.0001).toStdString(), "<0.1 %");
    EXPECT_EQ(percentText(0.0).toStdString(), "0.0 %");
}

TEST(ChartTicks, AreRoundAndInside) {
    for (const double high : {0.003, 0.7, 1.0, 79.1, 12345.0}) {
        const std::vector<double> ticks = niceTicks(0.0, high, 5);
        ASSERT_GE(ticks.size(), 2U) << high;
        EXPECT_LE(ticks.size(), 6U) << high;
        EXPECT_LE(ticks.back(), high * (1 + 1e-9));
    }
    EXPECT_TRUE(niceTicks(1.0, 1.0, 5).empty());
}

TEST(TableModel, IsAModel) {
    TableModel model;
    const QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
    model.setTable(smallTable());
    EXPECT_EQ(model.index(0, 1).data().toString(), "2 s");
    EXPECT_FALSE(model.index(5, 0).data().isValid());
    model.setTheme(ThemeKind::dark);
    model.setTable({});
    EXPECT_EQ(model.rowCount(), 0);
}

TEST(TableView, SortsByValueAndNamesRowsOfTheTable) {
    TableView view("test");
    view.setTable(smallTable());
    std::vector<int> activated;
    QObject::connect(&view, &TableView::rowActivated, &view, [&](int row) { activated.push_back(row); });
    EXPECT_TRUE(view.text().startsWith("name\ttime\nb\t2 s\n"));
    view.sortByColumn(1, Qt::AscendingOrder);
    EXPECT_TRUE(view.text().startsWith("name\ttime\na\t10 ms\n"));
    view.chooseRow(0);
    QTest::keyClick(&view, Qt::Key_Return);
    EXPECT_EQ(activated, std::vector<int>{0});
    QTest::keyClick(&view, Qt::Key_C, Qt::ControlModifier);
    EXPECT_EQ(QApplication::clipboard()->text(), "name\ttime\nb\t2 s\n");
    view.clearSelection();
    view.showRows({false, true});
    EXPECT_EQ(view.text(), "name\ttime\na\t10 ms\n");
}

TEST(PaintTable, SaysHowManyRowsDoNotFit) {
    Table table = smallTable();
    for (int i = 0; i < 50; ++i) table.rows.push_back(table.rows.front());
    const auto used = [&](int height) {
        int result = 0;
        test::painted({300, height}, [&](QPainter& painter, const QRect& area) {
            result = paintTable(painter, area, table, theme(ThemeKind::light));
        });
        return result;
    };
    EXPECT_LE(used(100), 100);
    EXPECT_GT(used(2000), 52 * 10);
}

/// Parts hold every span of the path once, in order; kinds and pauses sum to its length.
TEST(CriticalPathParts, CoverThePath) {
    for (std::uint64_t seed = 200; seed < 215; ++seed) {
        const StepRun run = foreshard::test::any_run(seed);
        std::size_t spans = 0;
        for (const PathPart& part : pathParts(run)) spans += part.spans;
        EXPECT_EQ(spans, run.critical_path.size()) << seed;
        const PathTotals totals = pathTotals(run);
        Picoseconds sum = totals.between;
        for (const Picoseconds time : totals.time) sum += time;
        EXPECT_EQ(sum, totals.all) << seed;
        EXPECT_GE(totals.between, 0) << seed;
    }
}

TEST(CriticalPathView, ChoosingALineSelectsItsFirstSpan) {
    ViewState state;
    CriticalPathView view(state);
    const StepRun& run = catalogueRun("gpt-tiny-pp4");
    view.setRuns({&run});
    EXPECT_TRUE(view.findChild<TableView*>()->table().rows.empty());  // nobody looks yet
    view.show();
    view.findChild<TableView*>()->chooseRow(1);
    ASSERT_EQ(state.selection().kind, Selection::Kind::span);
    EXPECT_EQ(state.selection().span, pathParts(run)[1].firstSpan);
    const StepRun bare;
    view.setRuns({&bare});
    view.grab();
    view.setRuns({});
    view.grab();
}

TEST(CriticalPathView, LooksAsItDid) {
    ViewState state;
    CriticalPathView view(state);
    view.setRuns({&catalogueRun("gpt-tiny-pp4")});
    const auto draw = [&](QPainter& painter, const QRect& area) { view.paint(painter, area); };
    test::expectGolden(test::painted({700, 220}, draw), "critical-path-light", 1500);
}

TEST(Collectives, ListEveryMessageAndSplitTheTraffic) {
    const StepRun& run = catalogueRun("llama3-70b-dgx-h100-64");
    EXPECT_EQ(messagesTable(run).rows.size(), run.communication.size());
    const Table traffic = trafficTable(run);
    std::vector<std::string> kinds;
    for (const auto& row : traffic.rows) kinds.push_back(row[0].text.toStdString());
    EXPECT_THAT(kinds, testing::IsSupersetOf({"tp", "p2p", "dp"}));
    for (const auto& row : traffic.rows) {
        const auto ps = [&](std::size_t column) { return row[column].sort.toLongLong(); };
        EXPECT_NEAR(static_cast<double>(ps(2)), static_cast<double>(ps(3) + ps(4)), 2.0) << row[0].text.toStdString();
    }
    EXPECT_TRUE(trafficTable({}).rows.empty());
    CollectivesView view;
    view.setRuns({&run});
    const auto draw = [&](QPainter& painter, const QRect& area) { view.paint(painter, area); };
    test::expectGolden(test::painted({860, 260}, draw), "collectives-light", 1500);
}

}  // namespace
}  // namespace foreshard::gui
