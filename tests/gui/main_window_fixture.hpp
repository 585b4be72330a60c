#pragma once

#include <QFile>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>

#include <gtest/gtest.h>

#include "gui/app/main_window.hpp"
#include "gui/editor/plan_editor.hpp"

/// A shown window, and what its tests do with it.
namespace foreshard::gui {

class MainWindowTest : public testing::Test {
protected:
    static constexpr int patience_ms = 60'000;

    MainWindowTest() : window_(MainWindow::Persistence::none) {
        window_.resize(1200, 800);
        window_.show();
    }

    void openPlan(const std::string& source) {
        const std::size_t before = window_.workspace().size();
        window_.open({.source = source});
        ASSERT_TRUE(QTest::qWaitFor([&] { return window_.workspace().size() > before; }, patience_ms));
    }

    /// Changes a field and waits for the answer.
    void edit(const char* field, const char* text) {
        QSignalSpy finished(&window_.runner(), &JobRunner::finished);
        window_.editor().change(field, text);
        ASSERT_TRUE(finished.wait(patience_ms));
    }

    static bool waitUntilIdle(const MainWindow& window) {
        return QTest::qWaitFor([&] { return !window.busy(); }, patience_ms);
    }

    QString file(const char* name) const { return folder_.filePath(name); }

    static QByteArray contents(const QString& path) {
        QFile read(path);
        EXPECT_TRUE(read.open(QIODevice::ReadOnly)) << path.toStdString();
        return read.readAll();
    }

    double stepOf(std::size_t index) const {
        return to_milliseconds(window_.workspace().document(index).run.step_time);
    }

    QTemporaryDir folder_;
    MainWindow window_;
};

}  // namespace foreshard::gui
