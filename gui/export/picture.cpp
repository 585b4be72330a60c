#include "gui/export/picture.hpp"

#include <QBuffer>
#include <QFile>
#include <QFileInfo>
#include <QFontMetrics>
#include <QImage>
#include <QPageSize>
#include <QPdfWriter>
#include <QSvgGenerator>

#include "sim/error.hpp"

namespace foreshard::gui {

namespace {

constexpr int page_margin = 12;
constexpr int pdf_dots_per_inch = 96;

[[noreturn]] void refuse(const QString& path, const char* reason) {
    throw InputError(path.toStdString(), "", reason);
}

void writePng(const QString& path, const Picture& picture) {
    QImage image(picture.size, QImage::Format_RGB32);
    QPainter painter(&image);
    paintPicture(painter, picture);
    painter.end();
    if (!image.save(path, "PNG")) refuse(path, "cannot be written");
}

void generateSvg(QIODevice& device, const Picture& picture) {
    QSvgGenerator generator;
    generator.setOutputDevice(&device);
    generator.setSize(picture.size);
    generator.setViewBox(QRect(QPoint(0, 0), picture.size));
    generator.setTitle(picture.title);
    generator.setDescription(picture.provenance);
    QPainter painter(&generator);
    paintPicture(painter, picture);
}

void writeSvg(const QString& path, const Picture& picture) {
    QFile file(path);
    if (!file.open(QIODevice::WriteOnly)) refuse(path, "cannot be written");
    generateSvg(file, picture);
}

void writePdf(const QString& path, const Picture& picture) {
    QFile file(path);
    if (!file.open(QIODevice::WriteOnly)) refuse(path, "cannot be written");
    QPdfWriter writer(&file);
    writer.setResolution(pdf_dots_per_inch);
    const QSizeF inches = QSizeF(picture.size) / pdf_dots_per_inch;
    writer.setPageSize(QPageSize(inches, QPageSize::Inch, QString(), QPageSize::ExactMatch));
    writer.setPageMargins(QMarginsF(0, 0, 0, 0));
    writer.setTitle(picture.title);
    writer.setCreator("foreshard-gui");
    QPainter painter(&writer);
    paintPicture(painter, picture);
}

}  // namespace

void paintPicture(QPainter& painter, const Picture& picture) {
    const Theme& colors = theme(picture.theme);
    const QRect page(QPoint(0, 0), picture.size);
    painter.fillRect(page, colors.window);
    QFont title = viewFont(1.4);
    title.setBold(true);
    const QFont small = viewFont(0.9);
    const int head = QFontMetrics(title).height() + page_margin;
    const int foot = QFontMetrics(small).height() + page_margin;
    painter.setPen(colors.text);
    painter.setFont(title);
    painter.drawText(QRect(page_margin, page_margin / 2, page.width() - 2 * page_margin, head),
                     Qt::AlignLeft | Qt::AlignVCenter, picture.title);
    painter.setFont(small);
    painter.setPen(colors.faintText);
    painter.drawText(QRect(page_margin, page.height() - foot, page.width() - 2 * page_margin, foot - page_margin / 2),
                     Qt::AlignLeft | Qt::AlignVCenter, picture.provenance);
    painter.setFont(viewFont());
    const QRect area(page_margin, head + page_margin / 2, page.width() - 2 * page_margin,
                     page.height() - head - foot - page_margin);
    painter.save();
    if (picture.paint) picture.paint(painter, area);
    painter.restore();
}

void writePicture(const QString& path, const Picture& picture) {
    const QString ending = QFileInfo(path).suffix().toLower();
    if (ending == "png") {
        writePng(path, picture);
    } else if (ending == "svg") {
        writeSvg(path, picture);
    } else if (ending == "pdf") {
        writePdf(path, picture);
    } else {
        refuse(path, "a picture ends in .png, .svg or .pdf");
    }
}

QByteArray svgText(const Picture& picture) {
    QBuffer buffer;
    buffer.open(QIODevice::WriteOnly);
    generateSvg(buffer, picture);
    const QByteArray text = buffer.data();
    const qsizetype start = text.indexOf("<svg");
    return start < 0 ? text : text.mid(start);
}

}  // namespace foreshard::gui
