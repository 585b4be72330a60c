#include "gui/compare/compare_painter.hpp"

#include <algorithm>

#include "gui/charts/draw.hpp"
#include "gui/compare/compare_tables.hpp"
#include "gui/compare/waterfall_painter.hpp"

namespace foreshard::gui {

namespace {

constexpr std::size_t most_settings = 8;

QString headline(const ComparedRuns& runs) {
    if (runs.waterfall) return waterfallSentence(*runs.waterfall);
    const Picoseconds change = runs.b->step_time - runs.a->step_time;
    return QString("B's step is %1 longer than A's; why is not known, since not both runs say what their ranks do")
        .arg(differenceText(change));
}

/// "schedule: interleaved-1f1b -> zb-h1" and so on, in one paragraph.
QString settingsSentence(const Comparison& comparison) {
    if (comparison.settings.empty()) return "A and B have the same settings.";
    QStringList parts;
    for (const SettingDifference& setting : comparison.settings) {
        const auto value = [](const std::string& text) { return text.empty() ? "none" : QString::fromStdString(text); };
        parts
            << QString("%1 %2 \u2192 %3").arg(QString::fromStdString(setting.name), value(setting.a), value(setting.b));
        if (static_cast<std::size_t>(parts.size()) == most_settings) break;
    }
    const std::size_t rest = comparison.settings.size() - static_cast<std::size_t>(parts.size());
    if (rest > 0) parts << QString("and %1 more").arg(rest);
    return "Settings that differ (A \u2192 B): " + parts.join("; ");
}

/// Text on as many lines as it needs.
/// @return height used
int drawParagraph(QPainter& painter, const QRect& area, const QString& text) {
    QRect used;
    painter.drawText(area, Qt::AlignLeft | Qt::AlignTop | Qt::TextWordWrap, text, &used);
    return used.height();
}

}  // namespace

ComparedRuns compareRuns(const Run& a, const Run& b) {
    ComparedRuns runs{&a, &b, compare(a, b), {}};
    if (!a.accounts.empty() && !b.accounts.empty()) runs.waterfall = waterfall(a, b);
    return runs;
}

QString comparisonText(const ComparedRuns& runs) {
    return headline(runs) + ". " + settingsSentence(runs.comparison) + ". " + matchSentence(runs.comparison);
}

void paintExplanation(QPainter& painter, const QRect& area, const ComparedRuns& runs, const Theme& theme) {
    painter.fillRect(area, theme.window);
    QRect rest = area.adjusted(chart_margin, chart_margin, -chart_margin, -chart_margin);
    painter.setFont(headlineFont());
    painter.setPen(theme.text);
    rest.setTop(rest.top() + drawParagraph(painter, rest, headline(runs)) + chart_margin / 2);
    painter.setFont(viewFont());
    rest.setTop(rest.top() + drawParagraph(painter, rest, settingsSentence(runs.comparison)) + chart_margin / 2);
    painter.setPen(theme.capacity);
    for (const std::string& note : runs.comparison.notes) {
        rest.setTop(rest.top() + drawParagraph(painter, rest, QString::fromStdString(note)));
    }
    const int line = metricsOf(painter, viewFont()).lineSpacing();
    painter.setPen(theme.faintText);
    drawElided(painter, QRect(rest.left(), rest.bottom() - line, rest.width(), line), Qt::AlignLeft | Qt::AlignVCenter,
               matchSentence(runs.comparison));
    if (!runs.waterfall) return;
    paintWaterfall(painter, rest.adjusted(0, chart_margin / 2, 0, -line - chart_margin / 2), *runs.waterfall,
                   QString::fromStdString(runs.a->name), QString::fromStdString(runs.b->name), theme);
}

void paintComparison(QPainter& painter, const QRect& area, const ComparedRuns& runs, const Theme& theme) {
    const Table figures = figuresTable(*runs.a, *runs.b);
    const int width = tableWidth(*painter.device(), figures);
    const int line = metricsOf(painter, viewFont()).lineSpacing();
    painter.fillRect(area, theme.window);
    QRect table = area.adjusted(chart_margin, chart_margin, -chart_margin, -chart_margin);
    QRect left = area;
    if (area.width() > 5 * width / 2) {
        left.setRight(area.right() - width - 2 * chart_margin);
        table.setLeft(left.right() + chart_margin);
    } else {
        const int wanted = 8 * line + (runs.waterfall ? waterfallHeight(*painter.device(), *runs.waterfall) : 0);
        left.setHeight(std::clamp(wanted, area.height() / 3, area.height() * 2 / 3));
        table.setTop(left.bottom() + chart_margin);
    }
    paintExplanation(painter, left, runs, theme);
    paintTable(painter, table, figures, theme);
}

}  // namespace foreshard::gui
