#pragma once

#include <QFont>
#include <QHash>
#include <QImage>
#include <QRgb>
#include <QString>

namespace foreshard::gui {

/// Short texts drawn once and kept as pictures: thousands of labels in a frame then cost a copy each.
class LabelAtlas {
public:
    /// @param scale pixels of the screen per pixel of the widget
    void prepare(const QFont& font, double scale);
    const QImage& picture(const QString& text, QRgb color);
    int widthOf(const QString& text);

private:
    QFont font_;
    double scale_ = 0.0;
    QHash<QPair<QString, QRgb>, QImage> pictures_;
    QHash<QString, int> widths_;
};

/// What drawing keeps from frame to frame.
struct DrawingCache {
    LabelAtlas labels;
    QImage rows;  ///< memory that a frame writes anew; to get it from the system each time costs as much as to fill it
};

/// A font whose size is in pixels, so that it is the same on screens and on paper.
QFont pixelFont(double scale);

}  // namespace foreshard::gui
