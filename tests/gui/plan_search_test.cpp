#include "gui/app/plan_search.hpp"

#include <QAbstractItemModel>
#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QLineEdit>
#include <QPushButton>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gui/charts/table_view.hpp"
#include "gui/plans/heat_map.hpp"
#include "gui/plans/neighbour_table.hpp"
#include "gui/plans/plan_settings.hpp"
#include "gui/plans/plan_table.hpp"
#include "gui/plans/plans_view.hpp"
#include "gui/plans/scaling_chart.hpp"
#include "gui/plans/search_panel.hpp"
#include "sim/spec/catalogue.hpp"
#include "sim/spec/request_text.hpp"
#include "tests/gui/main_window_fixture.hpp"

/// Searches that are run in the window.
namespace foreshard::gui {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class SearchInWindow : public MainWindowTest {
protected:
    SearchPanel& panel() { return window_.views().plans->panel(); }
    const ReadSearch& shown() const { return *window_.views().plans->search(); }

    void press() { QTest::mouseClick(panel().findChild<QPushButton*>("search"), Qt::LeftButton); }

    void search() {
        press();
        ASSERT_TRUE(waitUntilIdle(window_));
    }

    /// A job whose search takes long enough to be stopped.
    void openLarge() { openPlan("llama2-7b-dgx-a100-8"); }

    TableView& table() const {
        for (auto* table : window_.views().plans->findChildren<TableView*>()) {
            if (table->accessibleName() == "Plans, best first") return *table;
        }
        throw std::logic_error("no table of plans");
    }
    int rows() const { return table().model()->rowCount(); }
};

TEST_F(SearchInWindow, FindsTheBestPlansAndOpensThem) {
    openPlan("gpt-tiny-pp4");
    panel().change("top", "4");
    search();
    EXPECT_THAT(panel().shownMessages(), IsEmpty());
    const SearchRequest request = searchRequestOf(window_.editor().request(), nullptr, {{"top", "4"}}).search;
    const SearchOutcome expected = foreshard::search(request);
    ASSERT_GE(shown().plans.size(), 4U);
    EXPECT_EQ(rows(), static_cast<int>(shown().plans.size()));
    EXPECT_EQ(shown().plans[0].figure("step_time_ms"), expected.plans[0].summary.step_time_ms);
    EXPECT_EQ(shown().pareto.size(), expected.front.size());
    const std::size_t before = window_.workspace().size();
    emit window_.views().plans->planActivated(0);
    ASSERT_TRUE(QTest::qWaitFor([&] { return window_.workspace().size() > before; }, patience_ms));
    EXPECT_DOUBLE_EQ(stepOf(before), expected.plans[0].summary.step_time_ms);
}

/// Against all plans of the space: the best of every TP x PP, and a reason where there is none.
TEST_F(SearchInWindow, TheMapHasEveryCell) {
    openPlan("gpt-tiny-pp4");
    panel().change("top", "1");
    panel().change("mbs", "1,2");
    panel().change("cp", "1");
    search();
    SearchRequest all = searchRequestOf(window_.editor().request(), nullptr, {{"mbs", "1,2"}, {"cp", "1"}}).search;
    all.top = 1'000'000;
    std::map<std::pair<int, int>, double> best;
    for (const FoundPlan& plan : foreshard::search(all).plans) {
        best.emplace(std::pair(*plan.plan.tp, *plan.plan.pp), plan.summary.tokens_per_s);
    }
    const HeatMap map = heatMapOf({&shown(), {}});
    std::size_t hatched = 0;
    for (const HeatCell& cell : map.cells) {
        const auto expected = best.find({cell.tp, cell.pp});
        const QString text = heatCellText({&shown(), {}}, cell);
        if (expected == best.end()) {
            EXPECT_TRUE(cell.hatched()) << cell.tp << " " << cell.pp;
            EXPECT_THAT(text.toStdString(), HasSubstr("gpus, dp, tp, pp, cp"));
            ++hatched;
        } else {
            EXPECT_DOUBLE_EQ(cell.speed, expected->second) << cell.tp << " " << cell.pp;
            best.erase(expected);
        }
    }
    EXPECT_THAT(best, IsEmpty());
    EXPECT_GT(hatched, 0U);
}

TEST_F(SearchInWindow, StoppedItKeepsWhatItHas) {
    openLarge();
    press();
    EXPECT_TRUE(window_.busy());
    EXPECT_THAT(panel().findChild<QPushButton*>("search")->text().toStdString(), HasSubstr("Stop"));
    press();
    ASSERT_TRUE(waitUntilIdle(window_));
    EXPECT_THAT(panel().progressText().toStdString(), HasSubstr("Stopped"));
    EXPECT_TRUE(window_.views().plans->search());
    EXPECT_THAT(panel().findChild<QPushButton*>("search")->text().toStdString(), HasSubstr("Search"));
}

/// Plans are shown while the search runs.
TEST_F(SearchInWindow, ShowsPlansAsTheyAreFound) {
    openLarge();
    QSignalSpy streamed(&window_.searcher(), &SearchRunner::streamed);
    press();
    ASSERT_TRUE(streamed.wait(patience_ms));
    ASSERT_TRUE(window_.views().plans->search());
    EXPECT_FALSE(shown().plans.empty());
    EXPECT_EQ(rows(), static_cast<int>(shown().plans.size()));
    EXPECT_TRUE(window_.busy());
    window_.cancelWork();
    ASSERT_TRUE(waitUntilIdle(window_));
}

/// What is shown on the way is what the end says, once all was told.
void endsAsTheSearchDoes(const SearchTexts& texts) {
    const SweepRequest request = searchRequestOf(load_job_request("gpt-tiny-pp4"), nullptr, texts);
    PlansSoFar soFar(request);
    const FoundPlans found = findPlans(
        request, {}, {}, [&](const SweepPoint& size, const Improvement& improvement) { soFar.add(size, improvement); });
    EXPECT_EQ(found.error, "");
    const ReadSearch streamed = soFar.shown();
    ASSERT_EQ(streamed.plans.size(), found.shown.plans.size());
    for (std::size_t i = 0; i < streamed.plans.size(); ++i) {
        EXPECT_EQ(streamed.plans[i].plan, found.shown.plans[i].plan);
    }
    EXPECT_EQ(streamed.pareto, found.shown.pareto);
}

TEST(PlansSoFar, EndAsTheSearchDoes) {
    endsAsTheSearchDoes({{"top", "3"}});
    endsAsTheSearchDoes({{"top", "3"}, {"gpus", "2,4"}, {"gbs", "8,16"}});
}

TEST(PlansSoFar, AreInTheOrderOfTheObjective) {
    endsAsTheSearchDoes({{"top", "5"},
                         {"objective", "energy-per-token"},
                         {"gpu_idle_w", "60"},
                         {"gpu_busy_w", "400"},
                         {"node_rest_w", "0"}});
}

/// Several sizes in the window: the plans, the curve and the file are those of foreshard search.
TEST_F(SearchInWindow, SeveralSizesGiveTheScalingCurve) {
    openPlan("gpt-tiny-pp4");
    panel().change("top", "2");
    panel().change("gpus", "2,4");
    search();
    EXPECT_THAT(panel().shownMessages(), IsEmpty());
    const SweepRequest request = searchRequestOf(window_.editor().request(), nullptr, {{"top", "2"}, {"gpus", "2,4"}});
    const SweepOutcome expected = sweep(request);
    ASSERT_EQ(shown().plans.size(), expected.plans.size());
    for (std::size_t i = 0; i < expected.plans.size(); ++i) {
        EXPECT_EQ(shown().plans[i].figure("step_time_ms"), expected.plan(i).summary.step_time_ms);
    }
    const std::vector<ScalingLine> lines = scalingLines(shown());
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_EQ(lines[0].points.size(), 2U);
    EXPECT_FALSE(shown().neighbours.empty());
    window_.exportSearch(file("sizes.json"));
    EXPECT_EQ(read_search(file("sizes.json").toStdString()).plans.size(), shown().plans.size());
    const std::size_t before = window_.workspace().size();
    emit window_.views().plans->planActivated(0);
    ASSERT_TRUE(QTest::qWaitFor([&] { return window_.workspace().size() > before; }, patience_ms));
    EXPECT_DOUBLE_EQ(stepOf(before), expected.plan(0).summary.step_time_ms);
}

/// An objective's figure is the first that is told of a plan; what it lacks stands at its field.
TEST_F(SearchInWindow, OrdersPlansByTheObjective) {
    openPlan("gpt-tiny-pp4");
    panel().change("cp", "1");
    panel().change("objective", "cost-per-token");
    search();
    ASSERT_EQ(panel().shownMessages().size(), 1U);
    EXPECT_EQ(panel().shownMessages()[0].field, "objective");
    panel().change("price_usd_per_gpu_hour", "2.5");
    search();
    ASSERT_FALSE(shown().plans.empty());
    const Table plans = planTable(shown());
    std::vector<double> costs;
    for (std::size_t column = 0; column < plans.columns.size(); ++column) {
        if (plans.columns[column].title != "$ a million tokens") continue;
        for (const auto& row : plans.rows) costs.push_back(row[column].sort.toDouble());
    }
    ASSERT_EQ(costs.size(), plans.rows.size());
    EXPECT_TRUE(std::is_sorted(costs.begin(), costs.end()));
    EXPECT_GT(costs.front(), 0.0);
}

/// What a search in the window tells of the best plan's neighbours.
TEST_F(SearchInWindow, TellsWhyNeighboursLose) {
    openPlan("gpt-tiny-pp4");
    panel().change("cp", "1");
    search();
    ASSERT_FALSE(shown().neighbours.empty());
    const Table table = neighbourTable(shown());
    ASSERT_EQ(table.rows.size(), shown().neighbours.size());
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
        EXPECT_EQ(table.rows[i].size(), table.columns.size());
        EXPECT_EQ(table.rows[i].back().text.isEmpty(), shown().neighbours[i].runs);
    }
}

/// The context menu copies what foreshard export writes.
TEST_F(SearchInWindow, CopiesSettingsOfAPlan) {
    openPlan("gpt-tiny-pp4");
    panel().change("schedule", "1f1b,zb-v,none");
    search();
    PlansView& view = *window_.views().plans;
    ASSERT_EQ(table().contextMenuPolicy(), Qt::ActionsContextMenu);
    const auto act = [&](const char* text) {
        for (QAction* action : table().actions()) {
            if (action->text().contains(text)) action->trigger();
        }
    };
    QSignalSpy refused(&view, &PlansView::settingsRefused);
    bool expressed = false;
    bool said_why = false;
    for (std::size_t i = 0; i < shown().plans.size(); ++i) {
        view.choosePlan(static_cast<int>(i));
        const PlanSettings settings = settingsOf(shown().plans[i], SettingsFormat::megatron);
        QApplication::clipboard()->setText("nothing");
        refused.clear();
        act("Megatron-LM");
        if (settings.refused.isEmpty()) {
            EXPECT_EQ(QApplication::clipboard()->text(), settings.text);
            EXPECT_THAT(settings.text.toStdString(), HasSubstr("--pipeline-model-parallel-size"));
            expressed = true;
        } else {
            EXPECT_EQ(QApplication::clipboard()->text(), "nothing");
            ASSERT_EQ(refused.size(), 1);
            EXPECT_EQ(refused.front().front().toString(), settings.refused);
            said_why = true;
        }
    }
    EXPECT_TRUE(expressed);
    act("torchtitan");
    act("flags of foreshard");
    EXPECT_THAT(QApplication::clipboard()->text().toStdString(), HasSubstr("--model gpt-tiny"));
    EXPECT_TRUE(said_why || std::none_of(shown().plans.begin(), shown().plans.end(),
                                         [](const SearchPlan& plan) { return plan.plan.at("schedule") == "zb-v"; }));
}

TEST_F(SearchInWindow, SaysHowFarItIs) {
    openLarge();
    QSignalSpy progressed(&window_.searcher(), &SearchRunner::progressed);
    press();
    ASSERT_TRUE(progressed.wait(patience_ms));
    EXPECT_THAT(panel().progressText().toStdString(), HasSubstr("plans bounded"));
    window_.cancelWork();
    ASSERT_TRUE(waitUntilIdle(window_));
}

TEST_F(SearchInWindow, ANewSearchEndsTheOldOne) {
    openLarge();
    press();
    panel().change("tp", "8");
    panel().change("pp", "1");
    window_.startSearch();
    ASSERT_TRUE(waitUntilIdle(window_));
    ASSERT_FALSE(shown().plans.empty());
    for (const SearchPlan& plan : shown().plans) EXPECT_EQ(plan.plan.at("tp"), "8");
}

TEST_F(SearchInWindow, ABadConstraintIsToldAtItsField) {
    openPlan("gpt-tiny-pp4");
    panel().change("pp", "4..2");
    ASSERT_EQ(panel().shownMessages().size(), 1U);
    EXPECT_EQ(panel().shownMessages()[0].field, "pp");
    EXPECT_THAT(panel().shownMessages()[0].text, HasSubstr("4..2"));
    press();
    EXPECT_FALSE(window_.busy());
    panel().change("pp", "");
    EXPECT_THAT(panel().shownMessages(), IsEmpty());
    panel().change("tp", "5..7");  // only with the job it is known that these divide no 4 GPUs
    EXPECT_THAT(panel().shownMessages(), IsEmpty());
    search();
    ASSERT_EQ(panel().shownMessages().size(), 1U);
    EXPECT_EQ(panel().shownMessages()[0].field, "tp");
    EXPECT_FALSE(window_.views().plans->search());
}

TEST_F(SearchInWindow, WhereNothingFitsItSaysWhatWouldMakeRoom) {
    openPlan("gpt-tiny-pp4");
    panel().change("max_memory_gib", "0.001");
    search();
    EXPECT_TRUE(shown().plans.empty() || !shown().plans[0].fits || !shown().plans[0].infeasible.empty());
    ASSERT_FALSE(panel().shownMessages().empty());
    EXPECT_THAT(panel().shownMessages()[0].text, HasSubstr("GiB"));
    for (const HeatCell& cell : heatMapOf({&shown(), {}}).cells) EXPECT_TRUE(cell.hatched());
}

TEST_F(SearchInWindow, WritesTheFileThatCanBeOpened) {
    openPlan("gpt-tiny-pp4");
    search();
    window_.exportSearch(file("search.json"));
    const ReadSearch read = read_search(file("search.json").toStdString());
    ASSERT_EQ(read.plans.size(), shown().plans.size());
    for (std::size_t i = 0; i < read.plans.size(); ++i) EXPECT_EQ(read.plans[i].plan, shown().plans[i].plan);
    EXPECT_EQ(read.pareto, shown().pareto);
    ASSERT_FALSE(read.refused.empty()) << "the map's reasons are in the file";
    ASSERT_EQ(read.refused.size(), shown().refused.size());
    for (std::size_t i = 0; i < read.refused.size(); ++i) EXPECT_EQ(read.refused[i].reason, shown().refused[i].reason);
    for (const RefusedDegrees& cell : read.refused) {
        const HeatMap map = heatMapOf({&read, {}});
        const auto hatched = std::find_if(map.cells.begin(), map.cells.end(),
                                          [&](const HeatCell& c) { return c.tp == cell.tp && c.pp == cell.pp; });
        ASSERT_NE(hatched, map.cells.end());
        EXPECT_TRUE(hatched->hatched());
        EXPECT_THAT(heatCellText({&read, {}}, *hatched).toStdString(), HasSubstr(cell.reason));
    }
}

TEST_F(SearchInWindow, ASessionWithAnUnknownConstraintIsRefused) {
    openPlan("gpt-tiny-pp4");
    window_.saveSession(file("session.json"));
    QByteArray text = contents(file("session.json"));
    text.replace("\"search\": {}", "\"search\": {\"tpp\": \"8\"}");
    QFile changed(file("session.json"));
    ASSERT_TRUE(changed.open(QIODevice::WriteOnly));
    changed.write(text);
    changed.close();
    window_.openSession(file("session.json"));
    EXPECT_THAT(window_.messages().messages().join('\n').toStdString(), HasSubstr("/search/tpp"));
}

TEST_F(SearchInWindow, ASessionKeepsTheConstraints) {
    openPlan("gpt-tiny-pp4");
    panel().change("tp", "1,2");
    panel().change("space", "full");
    window_.saveSession(file("session.json"));
    MainWindow other(MainWindow::Persistence::none);
    other.openSession(file("session.json"));
    ASSERT_TRUE(waitUntilIdle(other));
    EXPECT_EQ(other.views().plans->panel().texts(), (SearchTexts{{"space", "full"}, {"tp", "1,2"}}));
    EXPECT_EQ(other.views().plans->panel().findChild<QLineEdit*>("tp")->text(), "1,2");
}

}  // namespace
}  // namespace foreshard::gui
