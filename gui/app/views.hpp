#pragma once

#include <QString>
#include <vector>

#include "gui/export/picture.hpp"
#include "gui/theme.hpp"
#include "gui/view_state.hpp"
#include "sim/result/run.hpp"

class QTabWidget;
class QWidget;

namespace foreshard::gui {

class BreakdownView;
class CollectivesView;
class CompareView;
class CriticalPathView;
class KpiStrip;
class MemoryView;
class OverlayView;
class PlansView;
class TimelineView;

/// All views of a window. Qt's parents own them.
struct Views {
    KpiStrip* kpis = nullptr;
    TimelineView* timeline = nullptr;
    MemoryView* memory = nullptr;
    BreakdownView* breakdown = nullptr;
    CompareView* compare = nullptr;
    OverlayView* overlay = nullptr;
    PlansView* plans = nullptr;
    CriticalPathView* criticalPath = nullptr;
    CollectivesView* collectives = nullptr;
};

Views makeViews(ViewState& state, QWidget* parent);
/// Puts breakdown, compare, ... into tabs.
void addTabs(const Views& views, QTabWidget& tabs);

void showRuns(const Views& views, const std::vector<const Run*>& runs);
void showTheme(const Views& views, ThemeKind kind);

/// A view that can be written to a file, under the name of `--view` and of the menu.
struct PaintedView {
    QString name;
    std::function<void(QPainter&, const QRect&)> paint;
};
std::vector<PaintedView> paintedViews(const Views& views);

}  // namespace foreshard::gui
