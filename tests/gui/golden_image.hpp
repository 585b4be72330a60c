#pragma once

#include <QImage>
#include <QPainter>
#include <QRect>
#include <QSize>
#include <string>

/// Pictures that views paint, compared with those of tests/golden/images.
namespace foreshard::gui::test {

/// What `paint(QPainter&, QRect)` draws on an opaque image.
template <typename Paint>
QImage painted(QSize size, const Paint& paint) {
    QImage image(size, QImage::Format_RGB32);
    image.fill(Qt::magenta);  // what a view forgets to paint is seen
    QPainter painter(&image);
    paint(painter, QRect(QPoint(0, 0), size));
    return image;
}

/// Fails when more than `most` pixels differ by more than a shade (24 of 255 in a channel); then the picture and one
/// that marks the pixels are written to the working directory. UPDATE_GOLDEN=1 rewrites tests/golden/images/<name>.png.
void expectGolden(const QImage& image, const std::string& name, int most);

/// Pixels of exactly this colour.
int pixelsOf(const QImage& image, const QColor& color);

}  // namespace foreshard::gui::test
