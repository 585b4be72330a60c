#include <QApplication>

#include <gmock/gmock.h>

#include "gui/theme.hpp"

/// Widgets need an application; without a display it draws off screen.
int main(int argc, char** argv) {
    if (qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
    const QApplication application(argc, argv);
    QApplication::setFont(foreshard::gui::pictureFont());
    testing::InitGoogleMock(&argc, argv);
    return RUN_ALL_TESTS();
}
