#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gui/plans/plans_view.hpp"
#include "gui/timeline/timeline_view.hpp"
#include "sim/json_report.hpp"
#include "sim/spec/catalogue.hpp"
#include "tests/gui/main_window_fixture.hpp"

/// Sessions, and plans of a search: work that is done beside the window.
namespace foreshard::gui {
namespace {

using testing::HasSubstr;

TEST_F(MainWindowTest, ASessionComesBack) {
    openPlan("gpt-tiny-pp4");
    window_.pinBaseline();
    edit("gbs", "32");
    window_.setThemeKind(ThemeKind::dark);
    window_.state().setVisible(1000, 2'000'000);
    window_.views().timeline->setMarks({5'000'000, 7'000'000});
    window_.views().timeline->setRanks({2}, {1});
    window_.saveSession(file("session.json"));

    MainWindow other(MainWindow::Persistence::none);
    other.openSession(file("session.json"));
    ASSERT_TRUE(waitUntilIdle(other));
    EXPECT_TRUE(other.messages().messages().isEmpty()) << other.messages().messages().join('\n').toStdString();
    ASSERT_EQ(other.workspace().size(), 2U);
    for (std::size_t i = 0; i < 2; ++i) {
        EXPECT_EQ(other.workspace().document(i).name, window_.workspace().document(i).name);
        EXPECT_EQ(other.workspace().document(i).run.step_time, window_.workspace().document(i).run.step_time);
    }
    EXPECT_EQ(other.workspace().edited(), window_.workspace().edited());
    EXPECT_EQ(other.views().timeline->mode(), TimelineMode::diff);
    EXPECT_EQ(other.themeKind(), ThemeKind::dark);
    EXPECT_EQ(other.state().begin(), 1000);
    EXPECT_EQ(other.state().end(), 2'000'000);
    const TimelineScene& scene = other.views().timeline->scene();
    EXPECT_EQ(scene.marks, (std::vector<Picoseconds>{5'000'000, 7'000'000}));
    EXPECT_EQ(scene.choice.pinned, (std::set<std::size_t>{2}));
    EXPECT_EQ(scene.choice.expanded, (std::set<std::size_t>{1}));
}

/// What is open stays usable meanwhile, and stays when the session is cancelled.
TEST_F(MainWindowTest, ASessionIsOpenedBesideAndCanBeCancelled) {
    openPlan("gpt-tiny-pp4");
    window_.saveSession(file("session.json"));
    edit("gbs", "64");
    const double before = stepOf(0);
    window_.openSession(file("session.json"));
    EXPECT_TRUE(window_.busy());
    EXPECT_EQ(stepOf(0), before);
    window_.cancelWork();
    EXPECT_FALSE(window_.busy());
    QTest::qWait(100);
    EXPECT_EQ(stepOf(0), before);
    window_.openSession(file("session.json"));
    ASSERT_TRUE(waitUntilIdle(window_));
    EXPECT_NE(stepOf(0), before);
}

/// A measured report is two runs, each of which comes back once; a run that cannot be saved moves no other.
TEST_F(MainWindowTest, ASessionKeepsWhichRunIsWhich) {
    openPlan("gpt-tiny-pp4");
    window_.add(openNow({.source = "gpt-tiny-pp4", .bubbleFree = true}));
    std::string text = report_json(evaluate(resolve(load_job_request("gpt-tiny-pp4"))), {"foreshard-run", {}});
    text.insert(text.find('{') + 1, R"("measured": {"n": 20, "step_time_min_ms": 1.0},)");
    QFile report(file("measured.json"));
    ASSERT_TRUE(report.open(QIODevice::WriteOnly));
    report.write(text.data(), static_cast<qint64>(text.size()));
    report.close();
    openPlan(file("measured.json").toStdString());
    window_.saveSession(file("session.json"));
    QStringList names;
    for (std::size_t i = 0; i < window_.workspace().size(); ++i)
        names << QString::fromStdString(window_.workspace().document(i).name);
    ASSERT_EQ(names.size(), 5);
    MainWindow other(MainWindow::Persistence::none);
    other.openSession(file("session.json"));
    ASSERT_TRUE(waitUntilIdle(other));
    names.removeAt(2);  // without bubbles: made, not opened
    ASSERT_EQ(other.workspace().size(), 4U);
    for (std::size_t i = 0; i < 4; ++i)
        EXPECT_EQ(other.workspace().document(i).name, names[static_cast<int>(i)].toStdString());
}

TEST_F(MainWindowTest, APlanOfASearchIsOpenedBeside) {
    openPlan("gpt-tiny-pp4");
    window_.add(openNow({.source = FORESHARD_SOURCE_DIR "/tests/golden/search-small.json"}));
    emit window_.views().plans->planActivated(0);
    EXPECT_TRUE(window_.busy());
    EXPECT_EQ(window_.workspace().size(), 1U);
    ASSERT_TRUE(waitUntilIdle(window_));
    ASSERT_EQ(window_.workspace().size(), 2U);
    EXPECT_EQ(window_.workspace().document(1).name, "plan 1");
    EXPECT_EQ(window_.views().timeline->mode(), TimelineMode::stack);
    emit window_.views().plans->planActivated(1);
    window_.cancelWork();
    QTest::qWait(100);
    EXPECT_EQ(window_.workspace().size(), 2U);
}

TEST_F(MainWindowTest, AFailedSessionLeavesWhatWasOpen) {
    openPlan("gpt-tiny-pp4");
    QFile bad(file("bad.json"));
    ASSERT_TRUE(bad.open(QIODevice::WriteOnly));
    bad.write(R"({"schema": "foreshard.session", "schema_version": "1.0", "runs": [], "mode": "sideways"})");
    bad.close();
    window_.openSession(file("bad.json"));
    EXPECT_EQ(window_.workspace().size(), 1U);
    EXPECT_THAT(window_.messages().messages().join('\n').toStdString(), HasSubstr("sideways"));
}

}  // namespace
}  // namespace foreshard::gui
