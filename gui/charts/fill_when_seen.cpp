#include "gui/charts/fill_when_seen.hpp"

#include <QEvent>
#include <QWidget>
#include <utility>

namespace foreshard::gui {

FillWhenSeen::FillWhenSeen(QWidget* view, std::function<void()> fill)
    : QObject(view), view_(view), fill_(std::move(fill)) {
    view_->installEventFilter(this);
}

void FillWhenSeen::request() {
    stale_ = !view_->isVisible();
    if (!stale_) fill_();
}

bool FillWhenSeen::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() == QEvent::Show && std::exchange(stale_, false)) fill_();
    return QObject::eventFilter(watched, event);
}

}  // namespace foreshard::gui
