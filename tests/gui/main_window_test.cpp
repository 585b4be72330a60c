#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QDropEvent>
#include <QImage>
#include <QLineEdit>
#include <QMimeData>
#include <QPainter>
#include <QUrl>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gui/app/command_palette.hpp"
#include "gui/app/help_text.hpp"
#include "gui/app/kpi_strip.hpp"
#include "gui/timeline/timeline_view.hpp"
#include "sim/json_report.hpp"
#include "sim/result/span_query.hpp"
#include "sim/spec/catalogue.hpp"
#include "tests/gui/main_window_fixture.hpp"

namespace foreshard::gui {
namespace {

using testing::HasSubstr;

/// The way of a user: open a plan, pin it, change the schedule, read the difference, export it.
TEST_F(MainWindowTest, OpenEditCompareExport) {
    openPlan("gpt-tiny-pp4");
    ASSERT_EQ(window_.workspace().size(), 1U);
    const double before = stepOf(0);
    EXPECT_EQ(window_.views().timeline->mode(), TimelineMode::single);

    window_.pinBaseline();
    ASSERT_EQ(window_.workspace().shown().size(), 2U);
    EXPECT_EQ(window_.views().timeline->mode(), TimelineMode::diff);

    edit("gbs", "32");
    EXPECT_EQ(stepOf(0), before) << "the baseline stays";
    EXPECT_GT(stepOf(1), before);
    EXPECT_EQ(window_.editor().request().gbs, 32);

    for (const char* name : {"t.png", "t.svg", "t.pdf"}) window_.exportView("Timeline", file(name));
    window_.exportView("Memory", file("m.svg"));
    window_.exportHtml(file("report.html"));
    EXPECT_TRUE(window_.messages().messages().isEmpty()) << window_.messages().messages().join('\n').toStdString();
    EXPECT_FALSE(QImage(file("t.png")).isNull());
    EXPECT_TRUE(contents(file("t.pdf")).startsWith("%PDF"));
    EXPECT_TRUE(contents(file("t.svg")).contains("<svg"));
    const QByteArray html = contents(file("report.html"));
    EXPECT_GE(html.count("<svg"), 4);
    EXPECT_TRUE(html.contains("global_batch_size"));
    for (const char* load : {"<script", "<link", "src=\"http", "href=\"http"})
        EXPECT_FALSE(html.contains(load)) << load;
}

TEST_F(MainWindowTest, APlanThatCannotRunLeavesTheOldOneAndSaysWhyAtTheField) {
    openPlan("gpt-tiny-pp4");
    edit("dp", "");
    const double before = stepOf(0);
    edit("pp", "3");
    EXPECT_EQ(stepOf(0), before);
    ASSERT_FALSE(window_.editor().shownMessages().empty());
    EXPECT_NE(window_.editor().shownMessages().front().field, "");
    edit("pp", "2");
    EXPECT_TRUE(window_.editor().shownMessages().empty());
    EXPECT_NE(stepOf(0), before);
    edit("schedule", "1f1bb");
    ASSERT_EQ(window_.editor().shownMessages().size(), 1U);
    EXPECT_EQ(window_.editor().shownMessages().front().field, "schedule");
}

TEST_F(MainWindowTest, UndoAndRedoSimulateAgain) {
    openPlan("gpt-tiny-pp4");
    const double before = stepOf(0);
    edit("gbs", "64");
    const double after = stepOf(0);
    QSignalSpy finished(&window_.runner(), &JobRunner::finished);
    window_.editor().undo();
    ASSERT_TRUE(finished.wait(patience_ms));
    EXPECT_EQ(stepOf(0), before);
    window_.editor().redo();
    ASSERT_TRUE(finished.wait(patience_ms));
    EXPECT_EQ(stepOf(0), after);
}

TEST_F(MainWindowTest, APlanIsMadeFromNothing) {
    window_.editor().change("model", "llama3-8b");
    window_.editor().change("cluster", "dgx-h100");
    window_.editor().change("tp", "8");
    edit("gbs", "8");
    ASSERT_EQ(window_.workspace().size(), 1U);
    EXPECT_GT(stepOf(0), 0.0);
}

TEST_F(MainWindowTest, ErrorsStandInTheBar) {
    window_.open({.source = file("no such.json").toStdString()});
    ASSERT_TRUE(QTest::qWaitFor([&] { return !window_.messages().messages().isEmpty(); }, patience_ms));
    EXPECT_THAT(window_.messages().messages().front().toStdString(), HasSubstr("no such.json"));
    EXPECT_TRUE(window_.messages().isVisible());
    window_.open({.source = "gpt3-175b-selene-65"});
    ASSERT_TRUE(QTest::qWaitFor([&] { return window_.messages().messages().size() > 1; }, patience_ms));
    EXPECT_THAT(window_.messages().messages().front().toStdString(), HasSubstr("gpt3-175b-selene-64"));
    openPlan("gpt-tiny-pp4");
    window_.exportView("Timeline", "/no/such/folder/t.png");
    window_.exportView("Timeline", file("t.bmp"));
    EXPECT_THAT(window_.messages().messages().join('\n').toStdString(), HasSubstr("/no/such/folder/t.png"));
    EXPECT_TRUE(window_.logText().contains("t.bmp"));
    window_.messages().clear();
    EXPECT_FALSE(window_.messages().isVisible());
}

TEST_F(MainWindowTest, AReportIsSimulatedAgainAndDifferencesAreWarnings) {
    const Evaluation evaluation = evaluate(resolve(load_job_request("gpt-tiny-pp4")));
    std::string text = report_json(evaluation, {"foreshard simulate", {}});
    const auto write = [&](const char* name) {
        QFile out(file(name));
        ASSERT_TRUE(out.open(QIODevice::WriteOnly));
        out.write(text.data(), static_cast<qint64>(text.size()));
    };
    write("same.json");
    openPlan(file("same.json").toStdString());
    EXPECT_TRUE(window_.messages().messages().isEmpty()) << window_.messages().messages().join('\n').toStdString();
    const std::string key = "\"step_time_ms\": ";
    text.insert(text.find(key) + key.size(), "1");
    write("other.json");
    openPlan(file("other.json").toStdString());
    ASSERT_FALSE(window_.messages().messages().isEmpty());
    EXPECT_THAT(window_.messages().messages().join('\n').toStdString(), HasSubstr("step_time_ms"));
}

TEST_F(MainWindowTest, FilesAreDropped) {
    QMimeData files;
    files.setUrls({QUrl::fromLocalFile(FORESHARD_SOURCE_DIR "/models/plans/gpt-tiny-pp4.json")});
    QDropEvent drop(QPointF(300, 300), Qt::CopyAction, &files, Qt::LeftButton, Qt::NoModifier);
    static_cast<QObject&>(window_).event(&drop);
    EXPECT_TRUE(QTest::qWaitFor([&] { return window_.workspace().size() == 1; }, patience_ms));
}

TEST_F(MainWindowTest, TheInspectorExplainsASpanAndABubble) {
    openPlan("gpt3-175b-selene-64");
    const SpanTable& spans = window_.workspace().document(0).run.spans;
    window_.find("3F2", false);
    EXPECT_EQ(window_.state().selection().kind, Selection::Kind::span);
    const std::string span = window_.inspectorText().toStdString();
    EXPECT_THAT(span, HasSubstr("2 m n k = 2 x 2048"));
    EXPECT_THAT(span, HasSubstr("bound by"));
    EXPECT_THAT(span, HasSubstr("Waits for"));
    const std::vector<Gap> gaps = gaps_by_length(spans);
    ASSERT_FALSE(gaps.empty());
    const auto waits = std::find_if(gaps.begin(), gaps.end(), [](const Gap& gap) { return gap.after.has_value(); });
    window_.state().select({.kind = Selection::Kind::gap, .row = waits->row, .begin = waits->begin, .end = waits->end});
    EXPECT_THAT(window_.inspectorText().toStdString(), HasSubstr("Bubble of"));
    window_.state().select(
        {.kind = Selection::Kind::area, .row = 0, .lastRow = 3, .begin = spans.window_begin, .end = spans.window_end});
    EXPECT_THAT(window_.inspectorText().toStdString(), HasSubstr("bubble"));
    window_.find("mb 3", false);
    EXPECT_EQ(window_.state().litMicrobatch(), 3);
}

TEST_F(MainWindowTest, CommandsNarrowWhileOneTypes) {
    EXPECT_EQ(matchScore("pin", "Pin as baseline"), 0);
    EXPECT_GT(matchScore("pab", "Pin as baseline"), matchScore("as", "Pin as baseline"));
    EXPECT_EQ(matchScore("xyz", "Pin as baseline"), -1);
    const QList<QAction*> all = window_.commands();
    const auto opener = std::find_if(all.begin(), all.end(), [](const QAction* action) {
        return action->shortcut() == QKeySequence("Ctrl+Shift+P");
    });
    ASSERT_NE(opener, all.end());
    (*opener)->trigger();
    auto* palette = window_.findChild<CommandPalette*>();
    ASSERT_TRUE(palette->isVisible());
    auto* line = palette->findChild<QLineEdit*>();
    QTest::keyClicks(line, "dark");
    EXPECT_EQ(palette->shown().front(), "Dark theme");
    QTest::keyClick(line, Qt::Key_Return);
    EXPECT_EQ(window_.themeKind(), ThemeKind::dark);
    EXPECT_FALSE(palette->isVisible());
}

TEST_F(MainWindowTest, KeysReachTheTimelineFromAnywhere) {
    openPlan("gpt-tiny-pp4");
    window_.setFocus();
    const Picoseconds before = window_.state().end() - window_.state().begin();
    QTest::keyClick(&window_, Qt::Key_W);
    EXPECT_LT(window_.state().end() - window_.state().begin(), before);
}

TEST_F(MainWindowTest, TheWindowFollowsTheApplicationsFont) {
    const QFont before = QApplication::font();
    QFont large = before;
    large.setPointSizeF(2 * before.pointSizeF());
    QApplication::setFont(large);
    QApplication::processEvents();
    EXPECT_EQ(window_.font().pointSizeF(), large.pointSizeF());
    EXPECT_EQ(window_.views().kpis->font().pointSizeF(), large.pointSizeF());
    QApplication::setFont(before);
    QApplication::processEvents();
    EXPECT_EQ(window_.font().pointSizeF(), before.pointSizeF());
}

TEST_F(MainWindowTest, FlagsAreCopied) {
    openPlan("gpt-tiny-pp4");
    window_.copyFlags();
    EXPECT_THAT(QApplication::clipboard()->text().toStdString(), HasSubstr("--pp 4"));
}

TEST_F(MainWindowTest, RunsAreClosedInAnyOrder) {
    openPlan("gpt-tiny-pp4");
    window_.pinBaseline();
    window_.pinBaseline();
    ASSERT_EQ(window_.workspace().size(), 3U);
    auto* list = window_.findChild<QWidget*>("runList");
    ASSERT_NE(list, nullptr);
    for (int i = 0; i < 3; ++i) {
        QTest::keyClick(list, Qt::Key_Delete);
        QApplication::processEvents();
    }
    EXPECT_EQ(window_.workspace().size(), 0U);
    EXPECT_TRUE(window_.inspectorText().contains("Nothing is open"));
}

TEST_F(MainWindowTest, AllThemesAndViewsAreDrawn) {
    openPlan("gpt-tiny-pp4");
    window_.add(openNow({.source = "gpt-tiny-pp4", .bubbleFree = true}));
    for (const ThemeKind kind : {ThemeKind::light, ThemeKind::dark, ThemeKind::high_contrast}) {
        window_.setThemeKind(kind);
        for (const char* view : {"timeline", "memory", "compare", "search"}) {
            window_.setWindowView(windowView(view));
            QApplication::processEvents();
            const QImage image = window_.grab().toImage();
            EXPECT_EQ(image.size(), QSize(1200, 800));
        }
        for (const PaintedView& view : paintedViews(window_.views())) {
            QImage image(800, 500, QImage::Format_RGB32);
            image.fill(Qt::magenta);
            QPainter painter(&image);
            view.paint(painter, image.rect());
        }
    }
}

TEST_F(MainWindowTest, EveryActionHasANameAndNoTwoShareAKey) {
    QStringList keys;
    for (const QAction* action : window_.commands()) {
        EXPECT_FALSE(action->text().isEmpty());
        if (action->shortcut().isEmpty()) continue;
        EXPECT_FALSE(keys.contains(action->shortcut().toString())) << action->text().toStdString();
        keys << action->shortcut().toString();
    }
    EXPECT_GT(keyHelp().size(), 20U);
}

}  // namespace
}  // namespace foreshard::gui
