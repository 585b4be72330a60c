#include "gui/plans/plans_view.hpp"

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QLabel>
#include <QLineEdit>
#include <QPainter>
#include <QSplitter>
#include <QTabWidget>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/charts/chart_widget.hpp"
#include "gui/charts/draw.hpp"
#include "gui/charts/table_view.hpp"
#include "gui/plans/heat_map.hpp"
#include "gui/plans/neighbour_table.hpp"
#include "gui/plans/plan_filter.hpp"
#include "gui/plans/plan_table.hpp"
#include "gui/plans/scaling_chart.hpp"
#include "gui/plans/search_panel.hpp"

namespace foreshard::gui {

namespace {

const char* const plans_hint =
    "Press 'Search plans', or open the result of a search\n(foreshard search ... --json F), to compare its plans.";

const char* const map_tab = "TP \u00d7 P&P";

/// From this height on, scatter and map stand one above the other.
constexpr int roomy_height = 420;

}  // namespace

PlansView::PlansView(QWidget* parent) : QWidget(parent) {
    setAccessibleName("Plans that a search found");
    summary_ = new QLabel;
    summary_->setWordWrap(true);
    panel_ = new SearchPanel;
    filter_ = new QLineEdit;
    filter_->setObjectName("planFilter");
    filter_->setAccessibleName("Filter of the plans");
    filter_->setPlaceholderText("Filter: tp=8 pp<=4 memory<60 zb");
    filter_->setClearButtonEnabled(true);
    connect(filter_, &QLineEdit::textChanged, this, &PlansView::setFilter);
    filterMessage_ = new QLabel;
    table_ = new TableView("Plans, best first");
    connect(table_, &TableView::rowActivated, this, &PlansView::activate);
    connect(table_, &TableView::rowChosen, this, [this](int row) {
        chosen_ = row;
        updateCharts();
        emit planChosen(row);
    });
    neighbours_ = new TableView("What plans next to the best one gain and lose");
    reasons_ = new TableView("Why plans cannot run");
    buildMenu();
    buildCharts();
    buildLayout();
    setTheme(theme_);
}

/// Of the chosen plan: a click with the right button chooses too.
void PlansView::buildMenu() {
    const auto addAction = [this](const QString& text, auto act) {
        auto* action = new QAction(text, table_);
        connect(action, &QAction::triggered, this, [this, act] {
            if (search_ && chosen_ >= 0) act();
        });
        table_->addAction(action);
    };
    addAction("&Open as a run", [this] { activate(chosen_); });
    for (const SettingsFormat format :
         {SettingsFormat::foreshard, SettingsFormat::megatron, SettingsFormat::torchtitan}) {
        addAction(QString("Copy %1").arg(settingsName(format)), [this, format] { copySettings(format); });
    }
    table_->setContextMenuPolicy(Qt::ActionsContextMenu);
}

void PlansView::copySettings(SettingsFormat format) {
    const PlanSettings settings = settingsOf(search_->plans[static_cast<std::size_t>(chosen_)], format);
    if (!settings.refused.isEmpty()) return emit settingsRefused(settings.refused);
    QApplication::clipboard()->setText(settings.text);
    emit settingsCopied(QString("%1 of plan %2 copied").arg(settingsName(format)).arg(chosen_ + 1));
}

/// A click chooses the plan whose point is there, a double click opens it.
void PlansView::choosesPlans(ChartWidget* chart, PlanAt planAt) {
    chart->setTip([this, chart, planAt](const QRect& area, const QPoint& place) {
        const auto plan = search_ ? planAt(*chart, area, scene(), place) : std::nullopt;
        return plan ? planText(*search_, *plan) : QString();
    });
    const auto at = [this, chart, planAt](QPoint place) {
        return search_ ? planAt(*chart, chart->rect(), scene(), place) : std::nullopt;
    };
    connect(chart, &ChartWidget::pressed, this, [this, at](QPoint place) {
        if (const auto plan = at(place)) choosePlan(static_cast<int>(*plan));
    });
    connect(chart, &ChartWidget::activated, this, [this, at](QPoint place) {
        if (const auto plan = at(place)) activate(static_cast<int>(*plan));
    });
}

void PlansView::buildCharts() {
    scatter_ = new ChartWidget([this](QPainter& painter, const QRect& area) { paintScatter(painter, area); });
    scatter_->setAccessibleName("Throughput of the plans against their peak memory");
    choosesPlans(scatter_, paretoPlanAt);
    scaling_ = new ChartWidget([this](QPainter& painter, const QRect& area) {
        if (search_) paintScaling(painter, area, scene());
    });
    scaling_->setAccessibleName("Throughput a GPU of the best plan of every size");
    choosesPlans(scaling_, scalingPlanAt);
    buildMap();
}

void PlansView::buildMap() {
    map_ = new ChartWidget([this](QPainter& painter, const QRect& area) {
        if (!search_) return drawHint(painter, area, plans_hint, theme(theme_));
        paintHeatMap(painter, area, scene());
    });
    map_->setAccessibleName("Best throughput for every TP and PP degree");
    choosesPlans(map_, [](const QPaintDevice& device, const QRect& area, const PlansScene& scene, const QPoint& place) {
        const auto cell = heatCellAt(device, area, scene, place);
        return cell ? cell->best : std::nullopt;
    });
    // Cells without a plan have something to say too.
    map_->setTip([this](const QRect& area, const QPoint& place) {
        const auto cell = search_ ? heatCellAt(*map_, area, scene(), place) : std::nullopt;
        return cell ? heatCellText(scene(), *cell) : QString();
    });
}

void PlansView::updateCharts() {
    for (ChartWidget* chart : {scatter_, map_, scaling_}) chart->update();
}

void PlansView::buildLayout() {
    auto* tables = new QTabWidget;
    auto* plans = new QWidget;
    auto* column = new QVBoxLayout(plans);
    column->setContentsMargins(0, 0, 0, 0);
    column->addWidget(filter_);
    column->addWidget(filterMessage_);
    column->addWidget(table_);
    tables->addTab(plans, "&Plans");
    tables->addTab(neighbours_, "&Why not");
    tables->addTab(reasons_, "&Refused");
    chartTabs_ = new QTabWidget;
    chartTabs_->setObjectName("planCharts");
    chartTabs_->addTab(scatter_, "Throughput against &memory");
    chartTabs_->addTab(scaling_, "&Scaling");
    chartTabs_->setTabVisible(chartTabs_->indexOf(scaling_), false);
    chartTabs_->addTab(map_, map_tab);
    charts_ = new QSplitter(Qt::Vertical);
    charts_->addWidget(chartTabs_);
    auto* splitter = new QSplitter;
    splitter->addWidget(panel_);
    splitter->addWidget(tables);
    splitter->addWidget(charts_);
    splitter->setStretchFactor(0, 0);
    splitter->setStretchFactor(1, 1);
    splitter->setStretchFactor(2, 1);
    splitter->setSizes({240, 480, 480});
    auto* box = new QVBoxLayout(this);
    box->setContentsMargins(0, 0, 0, 0);
    box->addWidget(summary_);
    box->addWidget(splitter, 1);
    filterMessage_->hide();
}

void PlansView::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    const bool roomy = height() >= roomy_height;
    const int tab = chartTabs_->indexOf(map_);
    if (roomy == (tab < 0)) return;
    if (roomy) {
        chartTabs_->removeTab(tab);
        charts_->addWidget(map_);
        charts_->setSizes({1, 1});
        map_->show();
    } else {
        chartTabs_->addTab(map_, map_tab);
    }
}

PlansScene PlansView::scene() const {
    return {search_ ? &*search_ : nullptr, shown_, chosen_, theme_};
}

void PlansView::paintScatter(QPainter& painter, const QRect& area) const {
    if (!search_) return drawHint(painter, area, plans_hint, theme(theme_));
    paintPareto(painter, area, scene());
}

namespace {

/// The plan that says the same in another search; -1: none.
int twinOf(const SearchPlan& plan, const ReadSearch& search) {
    const auto twin = std::find_if(search.plans.begin(), search.plans.end(),
                                   [&](const SearchPlan& other) { return other.plan == plan.plan; });
    return twin == search.plans.end() ? -1 : static_cast<int>(twin - search.plans.begin());
}

}  // namespace

void PlansView::setSearch(std::optional<ReadSearch> search) {
    const bool keeps = search_ && search && chosen_ >= 0;
    const int chosen = keeps ? twinOf(search_->plans[static_cast<std::size_t>(chosen_)], *search) : -1;
    search_ = std::move(search);
    chosen_ = -1;
    shown_.clear();
    table_->setTable(search_ ? planTable(*search_) : Table{});
    neighbours_->setTable(search_ ? neighbourTable(*search_) : Table{});
    reasons_->setTable(search_ ? reasonsTable(*search_) : Table{});
    QString text = search_ ? searchSentence(*search_) : QString(plans_hint);
    const QString common = search_ ? commonSettings(*search_) : QString();
    if (!common.isEmpty()) text += "\nAll plans: " + common;
    summary_->setText(text);
    scatter_->setAccessibleDescription(text);
    chartTabs_->setTabVisible(chartTabs_->indexOf(scaling_), search_ && !scalingLines(*search_).empty());
    setFilter(filter_->text());
    if (chosen >= 0) choosePlan(chosen);
}

void PlansView::setFilter(const QString& text) {
    if (filter_->text() != text) return filter_->setText(text);  // comes back here
    shown_.clear();
    filterMessage_->hide();
    if (search_) {
        const PlanFilter filter = parsePlanFilter(text, *search_);
        for (const SearchPlan& plan : search_->plans)
            shown_.push_back(filter.error.isEmpty() ? passes(filter, plan) : true);
        const auto count = std::count(shown_.begin(), shown_.end(), true);
        filterMessage_->setText(filter.error.isEmpty() ? QString("%1 of %2 plans").arg(count).arg(shown_.size())
                                                       : filter.error);
        filterMessage_->setVisible(!text.isEmpty());
    }
    table_->showRows(shown_);
    updateCharts();
}

void PlansView::choosePlan(int plan) {
    table_->chooseRow(plan);
}

void PlansView::activate(int plan) {
    if (search_->plans[static_cast<std::size_t>(plan)].infeasible.empty()) emit planActivated(plan);
}

void PlansView::setTheme(ThemeKind kind) {
    theme_ = kind;
    applyTheme(*this, theme(kind));
    table_->setTheme(kind);
    neighbours_->setTheme(kind);
    reasons_->setTheme(kind);
    panel_->setTheme(kind);
    updateCharts();
}

void PlansView::paint(QPainter& painter, const QRect& area) const {
    const Theme& colors = theme(theme_);
    if (!search_) return drawHint(painter, area, plans_hint, colors);
    painter.fillRect(area, colors.window);
    QFont bold = viewFont(1.1);
    bold.setBold(true);
    painter.setFont(bold);
    painter.setPen(colors.text);
    const int line = metricsOf(painter, bold).lineSpacing();
    const QRect inside = area.adjusted(chart_margin, chart_margin, -chart_margin, -chart_margin);
    drawElided(painter, QRect(inside.left(), inside.top(), inside.width(), line), Qt::AlignLeft | Qt::AlignVCenter,
               searchSentence(*search_));
    const int chartsTop = inside.top() + line + chart_margin / 2;
    const int chartsHeight = (inside.bottom() - chartsTop) * 3 / 5;
    const bool scales = !scalingLines(*search_).empty();
    const QRect left(inside.left(), chartsTop, inside.width() / (scales ? 3 : 2), chartsHeight);
    paintPareto(painter, left, scene());
    paintHeatMap(painter, left.translated(left.width(), 0), scene());
    if (scales) paintScaling(painter, left.translated(2 * left.width(), 0), scene());
    const QRect below(inside.left(), left.bottom() + chart_margin, inside.width(),
                      inside.bottom() - left.bottom() - chart_margin);
    const int half = inside.width() * 3 / 4;
    paintTable(painter, QRect(below.left(), below.top(), half - 2 * chart_margin, below.height()), planTable(*search_),
               colors);
    paintTable(painter, QRect(below.left() + half, below.top(), inside.width() - half, below.height()),
               reasonsTable(*search_), colors);
}

}  // namespace foreshard::gui
