#include "tests/gui/golden_image.hpp"

#include <cstdlib>

#include <gtest/gtest.h>

namespace foreshard::gui::test {

namespace {

bool differ(QRgb a, QRgb b) {
    constexpr int shade = 24;
    return std::abs(qRed(a) - qRed(b)) > shade || std::abs(qGreen(a) - qGreen(b)) > shade ||
           std::abs(qBlue(a) - qBlue(b)) > shade;
}

/// Sixteen levels per channel: small files, and shades of text that differ between versions of a library count less.
QImage coarse(const QImage& image) {
    QImage result = image.convertToFormat(QImage::Format_RGB32);
    for (int y = 0; y < result.height(); ++y) {
        for (int x = 0; x < result.width(); ++x) result.setPixel(x, y, result.pixel(x, y) & 0xFFF0F0F0U);
    }
    return result;
}

/// With a palette where that loses nothing.
QImage compact(const QImage& image) {
    const QImage indexed = image.convertToFormat(QImage::Format_Indexed8, Qt::AvoidDither);
    return indexed.convertToFormat(image.format()) == image ? indexed : image;
}

/// The picture in grey, pixels that differ in red.
QImage marked(const QImage& image, const QImage& golden, int& count) {
    QImage result = image.convertToFormat(QImage::Format_Grayscale8).convertToFormat(QImage::Format_RGB32);
    for (int y = 0; y < image.height(); ++y) {
        for (int x = 0; x < image.width(); ++x) {
            if (!differ(image.pixel(x, y), golden.pixel(x, y))) continue;
            ++count;
            result.setPixel(x, y, qRgb(255, 0, 0));
        }
    }
    return result;
}

}  // namespace

void expectGolden(const QImage& image, const std::string& name, int most) {
    const QString file =
        QString::fromStdString(std::string(FORESHARD_SOURCE_DIR) + "/tests/golden/images/" + name + ".png");
    if (std::getenv("UPDATE_GOLDEN") != nullptr) {
        compact(coarse(image)).save(file, nullptr, 0);
    }
    const QImage golden = QImage(file).convertToFormat(QImage::Format_RGB32);
    ASSERT_EQ(golden.size(), image.size()) << "no picture of this size in " << file.toStdString();
    int count = 0;
    const QImage marks = marked(coarse(image), golden, count);
    EXPECT_LE(count, most) << name << ": see " << name << "-actual.png and " << name << "-diff.png";
    if (count <= most) return;
    image.save(QString::fromStdString(name + "-actual.png"));
    marks.save(QString::fromStdString(name + "-diff.png"));
}

int pixelsOf(const QImage& image, const QColor& color) {
    int count = 0;
    for (int y = 0; y < image.height(); ++y) {
        for (int x = 0; x < image.width(); ++x) count += image.pixel(x, y) == color.rgb() ? 1 : 0;
    }
    return count;
}

}  // namespace foreshard::gui::test
