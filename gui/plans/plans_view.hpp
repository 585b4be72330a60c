#pragma once

#include <QRect>
#include <QWidget>
#include <optional>

#include "gui/plans/pareto_painter.hpp"
#include "gui/plans/plan_settings.hpp"
#include "gui/theme.hpp"
#include "traces/read_search.hpp"

class QLabel;
class QLineEdit;
class QPainter;
class QSplitter;
class QTabWidget;

namespace foreshard::gui {

class ChartWidget;
class SearchPanel;
class TableView;

/// A search to run, and what it found: a table to sort and filter, throughput against memory with the front of plans
/// that nothing beats in both, a map of TP x PP, the scaling of several sizes, why the best plan's neighbours lose, and
/// why plans were refused.
class PlansView : public QWidget {
    Q_OBJECT

public:
    explicit PlansView(QWidget* parent = nullptr);

    /// Nothing: a hint is shown. A plan stays chosen that the new search has too.
    void setSearch(std::optional<ReadSearch> search);
    const std::optional<ReadSearch>& search() const { return search_; }
    void setTheme(ThemeKind kind);
    /// The answer, scatter and map side by side, the first plans below: for pictures.
    void paint(QPainter& painter, const QRect& area) const;
    /// Shows plans that pass only; see parsePlanFilter.
    void setFilter(const QString& text);
    void choosePlan(int plan);
    int chosenPlan() const { return chosen_; }
    SearchPanel& panel() { return *panel_; }

signals:
    void planChosen(int plan);
    /// Double-click or Return on a plan that can run: index into the search's plans.
    void planActivated(int plan);
    void settingsCopied(const QString& note);
    /// Why another program cannot run the plan.
    void settingsRefused(const QString& reason);

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    PlansScene scene() const;
    void activate(int plan);
    void paintScatter(QPainter& painter, const QRect& area) const;
    void buildCharts();
    void buildMap();
    void buildScaling();
    using PlanAt = std::optional<std::size_t> (*)(const QPaintDevice&, const QRect&, const PlansScene&, const QPoint&);
    void choosesPlans(ChartWidget* chart, PlanAt planAt);
    void updateCharts();
    void buildMenu();
    void copySettings(SettingsFormat format);
    void buildLayout();

    std::optional<ReadSearch> search_;
    std::vector<bool> shown_;
    int chosen_ = -1;
    ThemeKind theme_ = ThemeKind::light;
    SearchPanel* panel_ = nullptr;
    QLabel* summary_ = nullptr;
    QLineEdit* filter_ = nullptr;
    QLabel* filterMessage_ = nullptr;
    TableView* table_ = nullptr;
    TableView* neighbours_ = nullptr;
    TableView* reasons_ = nullptr;
    ChartWidget* scatter_ = nullptr;
    ChartWidget* map_ = nullptr;
    ChartWidget* scaling_ = nullptr;
    QTabWidget* chartTabs_ = nullptr;  ///< scatter, scaling of several sizes, and map where there is no room below
    QSplitter* charts_ = nullptr;
};

}  // namespace foreshard::gui
