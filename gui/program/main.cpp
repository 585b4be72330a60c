#include <QApplication>
#include <QStyleFactory>
#include <cstdio>

#include <fmt/format.h>

#include "cli/exit_code.hpp"
#include "gui/app/kept_memory.hpp"
#include "gui/app/main_window.hpp"
#include "gui/program/command_line.hpp"
#include "sim/error.hpp"
#include "sim/sim.hpp"

namespace foreshard::gui {

namespace {

int complain(const std::string& text) {
    fmt::print(stderr, "foreshard-gui: error: {}\n", text);
    return cli::bad_input;
}

void waitFor(const MainWindow& window) {
    while (window.busy()) QApplication::processEvents(QEventLoop::WaitForMoreEvents);
}

/// The picture must not depend on what somebody chose before.
int drawScreenshot(const CommandLine& line) {
    QApplication::setFont(pictureFont());
    MainWindow window(MainWindow::Persistence::none);
    window.resize(line.size);
    if (line.theme) window.setThemeKind(*line.theme);
    window.show();
    if (line.session) window.openSession(QString::fromStdString(*line.session));
    waitFor(window);
    if (window.messages().severity() == MessageBar::Severity::error) {
        return complain(window.messages().messages().join("; ").toStdString());
    }
    for (const OpenRequest& request : line.inputs) {
        OpenResult result = openNow(request);
        if (!result.error.empty()) return complain(result.error);
        window.add(std::move(result));
    }
    waitFor(window);
    window.setWindowView(line.view);
    QApplication::processEvents();
    window.setWindowView(line.view);  // sizes of docks hold once they were laid out
    QApplication::processEvents();
    window.exportWindow(line.screenshot);
    for (const QString& message : window.messages().messages()) fmt::print(stderr, "{}\n", message.toStdString());
    return cli::ok;
}

int runWindow(const CommandLine& line) {
    MainWindow window(MainWindow::Persistence::settings);
    if (line.theme) window.setThemeKind(*line.theme);
    window.show();
    if (line.session) window.openSession(QString::fromStdString(*line.session));
    for (const OpenRequest& request : line.inputs) window.open(request);
    if (line.view != WindowView::timeline) window.setWindowView(line.view);
    return QApplication::exec();
}

int runProgram(int count, char** values) {
    const CommandLine line = parseCommandLine(count, values);
    if (line.text) {
        fmt::print("{}", *line.text);
        return cli::ok;
    }
    keepFreedMemory();
    const bool asked_for = !qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM");
    if (drawsOffScreen(count, values) && !asked_for) qputenv("QT_QPA_PLATFORM", "offscreen");
    const QApplication application(count, values);
    QApplication::setApplicationName("foreshard-gui");
    QApplication::setOrganizationName("foreshard");
    QApplication::setApplicationVersion(version());
    QApplication::setStyle(QStyleFactory::create("Fusion"));
    return line.screenshot.isEmpty() ? runWindow(line) : drawScreenshot(line);
}

}  // namespace

}  // namespace foreshard::gui

int main(int count, char** values) {
    try {
        return foreshard::gui::runProgram(count, values);
    } catch (const foreshard::UnreadableFile& error) {
        foreshard::gui::complain(error.what());
        return foreshard::cli::unreadable_file;
    } catch (const foreshard::InputError& error) {
        return foreshard::gui::complain(error.what());
    } catch (const std::exception& error) {
        fmt::print(stderr, "foreshard-gui: internal error: {}\n", error.what());
        return foreshard::cli::internal_error;
    }
}
