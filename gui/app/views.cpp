#include "gui/app/views.hpp"

#include <QTabWidget>

#include "gui/app/kpi_strip.hpp"
#include "gui/breakdown/breakdown_view.hpp"
#include "gui/compare/compare_view.hpp"
#include "gui/compare/overlay_view.hpp"
#include "gui/memory/memory_view.hpp"
#include "gui/plans/plans_view.hpp"
#include "gui/tables/collectives_view.hpp"
#include "gui/tables/critical_path_view.hpp"
#include "gui/timeline/timeline_view.hpp"

namespace foreshard::gui {

namespace {

template <class View>
PaintedView painted(const QString& name, const View* view) {
    return {name, [view](QPainter& painter, const QRect& area) { view->paint(painter, area); }};
}

}  // namespace

Views makeViews(ViewState& state, QWidget* parent) {
    Views views;
    views.kpis = new KpiStrip(parent);
    views.timeline = new TimelineView(state, parent);
    views.memory = new MemoryView(state, parent);
    views.breakdown = new BreakdownView(parent);
    views.compare = new CompareView(state, parent);
    views.overlay = new OverlayView(state, parent);
    views.plans = new PlansView(parent);
    views.criticalPath = new CriticalPathView(state, parent);
    views.collectives = new CollectivesView(parent);
    return views;
}

void addTabs(const Views& views, QTabWidget& tabs) {
    tabs.addTab(views.breakdown, QObject::tr("Breakdown"));
    tabs.addTab(views.compare, QObject::tr("Compare"));
    tabs.addTab(views.overlay, QObject::tr("Validate"));
    tabs.addTab(views.plans, QObject::tr("Plans"));
    tabs.addTab(views.criticalPath, QObject::tr("Critical path"));
    tabs.addTab(views.collectives, QObject::tr("Collectives"));
}

void showRuns(const Views& views, const std::vector<const Run*>& runs) {
    views.kpis->setRuns(runs);
    views.timeline->setRuns(runs);
    views.memory->setRuns(runs);
    views.breakdown->setRuns(runs);
    views.compare->setRuns(runs);
    views.overlay->setRuns(runs);
    views.criticalPath->setRuns(runs);
    views.collectives->setRuns(runs);
}

void showTheme(const Views& views, ThemeKind kind) {
    views.kpis->setTheme(kind);
    views.timeline->setTheme(kind);
    views.memory->setTheme(kind);
    views.breakdown->setTheme(kind);
    views.compare->setTheme(kind);
    views.overlay->setTheme(kind);
    views.plans->setTheme(kind);
    views.criticalPath->setTheme(kind);
    views.collectives->setTheme(kind);
}

std::vector<PaintedView> paintedViews(const Views& views) {
    return {painted("Timeline", views.timeline),          painted("Memory", views.memory),
            painted("Breakdown", views.breakdown),        painted("Compare", views.compare),
            painted("Validate", views.overlay),           painted("Plans", views.plans),
            painted("Critical path", views.criticalPath), painted("Collectives", views.collectives)};
}

}  // namespace foreshard::gui
