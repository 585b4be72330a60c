#include "gui/tables/collectives_view.hpp"

#include <QLabel>
#include <QPainter>
#include <QSplitter>
#include <QVBoxLayout>

#include "gui/charts/draw.hpp"
#include "gui/charts/fill_when_seen.hpp"
#include "gui/charts/table_view.hpp"
#include "gui/tables/collectives_table.hpp"

namespace foreshard::gui {

namespace {

const char* const traffic_title = "In one step, means over ranks";
const char* const messages_title = "Each kind of message";

QWidget* titled(const QString& title, TableView* table) {
    auto* label = new QLabel(title);
    label->setBuddy(table);
    auto* widget = new QWidget;
    auto* box = new QVBoxLayout(widget);
    box->setContentsMargins(0, 0, 0, 0);
    box->setSpacing(2);
    box->addWidget(label);
    box->addWidget(table);
    return widget;
}

int paintTitled(QPainter& painter, const QRect& area, const QString& title, const Table& table, const Theme& theme) {
    QFont bold = viewFont();
    bold.setBold(true);
    painter.setFont(bold);
    painter.setPen(theme.text);
    const int line = metricsOf(painter, bold).lineSpacing();
    painter.drawText(QRect(area.left(), area.top(), area.width(), line), Qt::AlignLeft, title);
    return line + paintTable(painter, area.adjusted(0, line, 0, 0), table, theme);
}

}  // namespace

CollectivesView::CollectivesView(QWidget* parent) : QWidget(parent) {
    setAccessibleName("Communication");
    filling_ = new FillWhenSeen(this, [this] { fill(); });
    traffic_ = new TableView("Communication of a step by kind");
    messages_ = new TableView("Messages and collectives with what limits them");
    auto* splitter = new QSplitter(Qt::Vertical);
    splitter->addWidget(titled(traffic_title, traffic_));
    splitter->addWidget(titled(messages_title, messages_));
    splitter->setStretchFactor(1, 2);
    auto* box = new QVBoxLayout(this);
    box->setContentsMargins(0, 0, 0, 0);
    box->addWidget(splitter);
    setTheme(theme_);
}

void CollectivesView::setRuns(std::vector<const Run*> runs) {
    runs_ = std::move(runs);
    filling_->request();
}

void CollectivesView::fill() {
    traffic_->setTable(runs_.empty() ? Table{} : trafficTable(*runs_.front()));
    messages_->setTable(runs_.empty() ? Table{} : messagesTable(*runs_.front()));
}

void CollectivesView::setTheme(ThemeKind kind) {
    theme_ = kind;
    applyTheme(*this, theme(kind));
    traffic_->setTheme(kind);
    messages_->setTheme(kind);
}

void CollectivesView::paint(QPainter& painter, const QRect& area) const {
    const Theme& colors = theme(theme_);
    const Table traffic = runs_.empty() ? Table{} : trafficTable(*runs_.front());
    const Table messages = runs_.empty() ? Table{} : messagesTable(*runs_.front());
    if (traffic.rows.empty() && messages.rows.empty()) {
        return drawHint(painter, area, "No communication to show.", colors);
    }
    painter.fillRect(area, colors.window);
    QRect rest = area.adjusted(8, 8, -8, -8);
    rest.setTop(rest.top() + paintTitled(painter, rest, traffic_title, traffic, colors) + 12);
    paintTitled(painter, rest, messages_title, messages, colors);
}

}  // namespace foreshard::gui
