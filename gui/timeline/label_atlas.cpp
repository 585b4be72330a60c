#include "gui/timeline/label_atlas.hpp"

#include <QFontInfo>
#include <QFontMetrics>
#include <QPainter>
#include <cmath>

#include "gui/theme.hpp"

namespace foreshard::gui {

namespace {

constexpr int most_pictures = 20000;

}  // namespace

QFont pixelFont(double scale) {
    QFont font = viewFont(scale);
    font.setPixelSize(std::max(6, QFontInfo(font).pixelSize()));
    return font;
}

void LabelAtlas::prepare(const QFont& font, double scale) {
    if (font == font_ && scale == scale_ && pictures_.size() < most_pictures) return;
    font_ = font;
    scale_ = scale;
    pictures_.clear();
    widths_.clear();
}

int LabelAtlas::widthOf(const QString& text) {
    const auto known = widths_.constFind(text);
    if (known != widths_.constEnd()) return *known;
    return *widths_.insert(text, QFontMetrics(font_).horizontalAdvance(text));
}

const QImage& LabelAtlas::picture(const QString& text, QRgb color) {
    const QPair<QString, QRgb> key(text, color);
    const auto known = pictures_.constFind(key);
    if (known != pictures_.constEnd()) return *known;
    const QSize size(widthOf(text) + 2, QFontMetrics(font_).height());
    QImage picture((QSizeF(size) * scale_).toSize(), QImage::Format_ARGB32_Premultiplied);
    picture.setDevicePixelRatio(scale_);
    picture.fill(Qt::transparent);
    QPainter painter(&picture);
    painter.setFont(font_);
    painter.setPen(QColor(color));
    painter.drawText(QRect(QPoint(1, 0), size), Qt::AlignLeft | Qt::AlignVCenter, text);
    painter.end();
    return *pictures_.insert(key, picture);
}

}  // namespace foreshard::gui
