#include <QAbstractItemModelTester>
#include <QTest>

#include <gmock/gmock.h>

#include "gui/charts/table_view.hpp"
#include "gui/compare/compare_view.hpp"
#include "gui/compare/waterfall_painter.hpp"
#include "sim/result/without_bubbles.hpp"
#include "sim/spec/catalogue.hpp"
#include "tests/gui/golden_image.hpp"
#include "tests/gui/view_runs.hpp"
#include "tests/support/runs.hpp"

namespace foreshard::gui {
namespace {

using test::catalogueRun;
using test::StepRun;

/// The same plan under another schedule.
StepRun tinyUnder(const std::string& schedule) {
    JobRequest request = load_job_request("gpt-tiny-pp4");
    request.schedule = schedule;
    return test::runOf(schedule, request);
}

/// Each bar starts where the one before it ended, and the last change ends at B's step, however many are joined.
TEST(WaterfallBars, LeadFromAToB) {
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
        const StepRun a = foreshard::test::any_run(seed);
        const StepRun b = foreshard::test::any_run(seed + 1);
        for (const std::size_t most : {1U, 3U, 99U}) {
            const std::vector<WaterfallBar> bars = waterfallBars(waterfall(a, b), most);
            EXPECT_EQ(bars.front().to, a.step_time);
            EXPECT_EQ(bars.back().to, b.step_time);
            ASSERT_GE(bars.size(), 2U);
            EXPECT_LE(bars.size(), most + 2);
            for (std::size_t i = 1; i + 1 < bars.size(); ++i) EXPECT_EQ(bars[i].from, bars[i - 1].to) << seed;
            EXPECT_EQ(bars[bars.size() - 2].to, b.step_time) << seed;
        }
    }
}

TEST(WaterfallBars, OfEqualRunsAreTheTotalsAlone) {
    const StepRun& run = catalogueRun("gpt-tiny-pp4");
    EXPECT_EQ(waterfallBars(waterfall(run, run), 9).size(), 2U);
    EXPECT_TRUE(waterfallSentence(waterfall(run, run)).startsWith("A and B take the same time"));
}

TEST(WaterfallSentence, NamesTheLargestTerm) {
    const StepRun& run = catalogueRun("gpt3-175b-selene-64");
    const StepRun best = without_bubbles(run);
    const QString sentence = waterfallSentence(waterfall(run, best));
    EXPECT_TRUE(sentence.contains("faster than A: ")) << sentence.toStdString();
    EXPECT_TRUE(sentence.contains("bubble -")) << sentence.toStdString();
}

TEST(CompareTables, SayWhatDiffersAndWhatIsBetter) {
    const StepRun& a = catalogueRun("gpt-tiny-pp4");
    const StepRun b = tinyUnder("gpipe");
    const Table settings = settingsTable(compare(a, b));
    ASSERT_FALSE(settings.rows.empty());
    EXPECT_EQ(settings.rows.front()[0].text, "schedule");
    EXPECT_EQ(settings.rows.front()[2].text, "gpipe");
    const Table figures = figuresTable(a, b);
    ASSERT_FALSE(figures.rows.empty());
    EXPECT_EQ(figures.rows.front()[0].text, "step time");
    const bool slower = b.step_time > a.step_time;
    EXPECT_EQ(figures.rows.front()[3].tone, slower ? Cell::Tone::worse : Cell::Tone::better);
}

TEST(CompareTables, CountUnmatchedSpansOfBothSides) {
    const StepRun& a = catalogueRun("gpt-tiny-pp4");
    const StepRun b = tinyUnder("zb-h1");
    const Comparison comparison = compare(a, b);
    const std::vector<UnmatchedGroup> groups = unmatchedGroups(comparison, a, b);
    std::array<std::size_t, 2> spans{};
    std::array<Picoseconds, 2> time{};
    for (const UnmatchedGroup& group : groups) {
        spans[group.run] += group.spans;
        time[group.run] += group.time;
    }
    EXPECT_EQ(spans[0], comparison.only_a.size());
    EXPECT_EQ(spans[1], comparison.only_b.size());
    EXPECT_GT(spans[1], 0U);
    Picoseconds expected = 0;
    for (const std::size_t span : comparison.only_b) expected += b.spans.end[span] - b.spans.start[span];
    EXPECT_EQ(time[1], expected);
    TableModel model;
    const QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
    model.setTable(unmatchedTable(groups, a, b));
    EXPECT_EQ(model.rowCount(), static_cast<int>(groups.size()));
}

TEST(CompareView, ShowsAnUnmatchedSpanWhenItIsActivated) {
    ViewState state;
    CompareView view(state);
    const StepRun b = tinyUnder("zb-h1");
    view.setRuns({&catalogueRun("gpt-tiny-pp4"), &b});
    EXPECT_FALSE(view.compared());  // not before it is seen
    view.show();
    ASSERT_TRUE(view.compared());
    for (TableView* table : view.findChildren<TableView*>()) {
        if (!table->accessibleName().startsWith("Spans without")) continue;
        table->chooseRow(0);
        QTest::keyClick(table, Qt::Key_Return);
    }
    EXPECT_EQ(state.selection().kind, Selection::Kind::span);
}

TEST(CompareView, BearsOneRunAndRunsThatKnowLittle) {
    ViewState state;
    CompareView view(state);
    view.resize(900, 500);
    view.show();
    StepRun bare;
    bare.name = "log";
    view.setRuns({&bare});
    EXPECT_FALSE(view.compared());
    view.grab();
    view.setRuns({&catalogueRun("gpt-tiny-pp4"), &bare, &catalogueRun("gpt-tiny-pp4")});
    view.grab();
    view.setRuns({});
    view.grab();
}

TEST(CompareView, LooksAsItDid) {
    ViewState state;
    CompareView view(state);
    const auto draw = [&](QPainter& painter, const QRect& area) { view.paint(painter, area); };
    const StepRun& run = catalogueRun("gpt3-175b-selene-64");
    JobRequest request = load_job_request("gpt3-175b-selene-64");
    request.schedule = "1f1b";
    request.vpp = 1;
    const StepRun plain = test::runOf("plain 1F1B", request);
    view.setRuns({&plain, &run});
    test::expectGolden(test::painted({1180, 400}, draw), "compare-light", 2500);
    const StepRun ideal = without_bubbles(run);
    view.setRuns({&run, &ideal});
    view.setTheme(ThemeKind::dark);
    test::expectGolden(test::painted({700, 520}, draw), "compare-without-bubbles-dark", 2500);
}

}  // namespace
}  // namespace foreshard::gui
