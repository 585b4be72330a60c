#pragma once

#include <QWidget>
#include <functional>

class QPainter;

namespace foreshard::gui {

/// A widget that a function paints: the same function makes the picture for a file.
class ChartWidget : public QWidget {
    Q_OBJECT

public:
    using Paint = std::function<void(QPainter&, const QRect&)>;
    /// Text for a place, shown as tool tip; empty: none.
    using Tip = std::function<QString(const QRect&, const QPoint&)>;

    explicit ChartWidget(Paint paint, QWidget* parent = nullptr);
    void setTip(Tip tip) { tip_ = std::move(tip); }

signals:
    void pressed(QPoint place);
    void activated(QPoint place);  ///< double-click

protected:
    bool event(QEvent* event) override;
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;

private:
    Paint paint_;
    Tip tip_;
};

}  // namespace foreshard::gui
