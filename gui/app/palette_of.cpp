#include "gui/app/palette_of.hpp"

namespace foreshard::gui {

QPalette paletteOf(const Theme& theme) {
    QPalette palette;
    palette.setColor(QPalette::Window, theme.panel);
    palette.setColor(QPalette::Base, theme.window);
    palette.setColor(QPalette::AlternateBase, theme.panel);
    palette.setColor(QPalette::Button, theme.panel);
    palette.setColor(QPalette::ToolTipBase, theme.panel);
    for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText, QPalette::ToolTipText}) {
        palette.setColor(role, theme.text);
        palette.setColor(QPalette::Disabled, role, theme.faintText);
    }
    palette.setColor(QPalette::PlaceholderText, theme.faintText);
    palette.setColor(QPalette::BrightText, theme.capacity);
    palette.setColor(QPalette::Link, theme.accent);
    palette.setColor(QPalette::LinkVisited, theme.accent);
    palette.setColor(QPalette::Highlight, theme.accent);
    const bool dark_accent = theme.accent.lightnessF() < 0.5;
    palette.setColor(QPalette::HighlightedText, dark_accent ? Qt::white : Qt::black);
    palette.setColor(QPalette::Light, theme.panel.lighter(110));
    palette.setColor(QPalette::Midlight, theme.grid);
    palette.setColor(QPalette::Mid, theme.grid);
    palette.setColor(QPalette::Dark, theme.grid.darker(130));
    palette.setColor(QPalette::Shadow, theme.grid.darker(160));
    return palette;
}

QString styleSheetOf(const Theme& theme) {
    return QStringLiteral(
               "QDockWidget::title { padding: 3px 6px; background: %1; }"
               "QMainWindow::separator { background: %2; width: 3px; height: 3px; }"
               "QToolTip { color: %3; background: %1; border: 1px solid %2; }")
        .arg(theme.panel.name(), theme.grid.name(), theme.text.name());
}

}  // namespace foreshard::gui
