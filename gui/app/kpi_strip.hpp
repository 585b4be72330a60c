#pragma once

#include <QAbstractButton>
#include <QWidget>
#include <array>
#include <vector>

#include "gui/app/figures.hpp"
#include "gui/theme.hpp"

namespace foreshard::gui {

/// One figure of A, of B, and the difference.
class KpiTile : public QAbstractButton {
    Q_OBJECT

public:
    explicit KpiTile(Figure figure, QWidget* parent = nullptr);

    void setRuns(const Run* a, const Run* b);
    void setTheme(ThemeKind kind);
    QSize sizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    Figure figure_;
    ThemeKind theme_ = ThemeKind::light;
    QString a_, b_, difference_;
    Verdict verdict_ = Verdict::same;
    bool alarm_ = false;  ///< does not fit
};

/// The six figures that a plan is judged by.
class KpiStrip : public QWidget {
    Q_OBJECT

public:
    explicit KpiStrip(QWidget* parent = nullptr);

    void setRuns(std::vector<const Run*> runs);  ///< the first two are shown
    void setTheme(ThemeKind kind);

signals:
    void figureChosen(Figure figure);

private:
    std::array<KpiTile*, figure_count> tiles_{};
};

}  // namespace foreshard::gui
