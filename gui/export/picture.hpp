#pragma once

#include <QByteArray>
#include <QPainter>
#include <QRect>
#include <QSize>
#include <QString>
#include <functional>

#include "gui/theme.hpp"

/// Views as files.
namespace foreshard::gui {

struct Picture {
    QString title;
    QString provenance;  ///< the line at the foot
    ThemeKind theme = ThemeKind::light;
    QSize size{1600, 900};
    std::function<void(QPainter& painter, const QRect& area)> paint;  ///< draws the view with its legend
};

/// Title, view and provenance, in picture coordinates.
void paintPicture(QPainter& painter, const Picture& picture);

/// By the file's ending: .png, .svg or .pdf. @throws InputError when it has another or cannot be written
void writePicture(const QString& path, const Picture& picture);

/// The picture as SVG text, without the XML declaration: to be put into HTML.
QByteArray svgText(const Picture& picture);

}  // namespace foreshard::gui
