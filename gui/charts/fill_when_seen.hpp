#pragma once

#include <QObject>
#include <functional>

class QWidget;

namespace foreshard::gui {

/// Leaves the work of filling a view until somebody looks: runs of a plan that is being edited change many times before
/// a hidden tab is opened.
class FillWhenSeen : public QObject {
public:
    /// @param view also the owner
    FillWhenSeen(QWidget* view, std::function<void()> fill);

    /// What the view shows has changed: it is filled now if it is visible, else when it is shown next.
    void request();

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    QWidget* view_;
    std::function<void()> fill_;
    bool stale_ = false;
};

}  // namespace foreshard::gui
