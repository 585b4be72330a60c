#pragma once

#include <QSize>
#include <QString>
#include <optional>
#include <string>
#include <vector>

#include "gui/app/file_opener.hpp"
#include "gui/app/main_window.hpp"
#include "gui/theme.hpp"

/// What the program was started with.
namespace foreshard::gui {

struct CommandLine {
    std::vector<OpenRequest> inputs;
    std::optional<std::string> session;
    QString screenshot;  ///< empty: show the window
    QSize size{1440, 900};
    WindowView view = WindowView::timeline;
    std::optional<ThemeKind> theme;
    std::optional<std::string> text;  ///< help or version: print it and leave
};

/// @throws InputError naming the argument that is wrong
CommandLine parseCommandLine(int count, const char* const* arguments);

/// True when no window is to be shown, so that no display is needed; looks at the arguments only.
bool drawsOffScreen(int count, const char* const* arguments);

}  // namespace foreshard::gui
