#include "gui/breakdown/breakdown_painter.hpp"

#include <algorithm>
#include <numeric>

#include "gui/charts/draw.hpp"
#include "gui/charts/run_text.hpp"

namespace foreshard::gui {

namespace {

Picoseconds sum(const RankAccount& account) {
    return std::accumulate(account.begin(), account.end(), Picoseconds{0});
}

std::size_t rankCount(const BreakdownScene& scene) {
    std::size_t most = 0;
    for (const Run* run : scene.runs) most = std::max(most, run->accounts.size());
    return most;
}

Picoseconds longest(const BreakdownScene& scene) {
    Picoseconds most = 1;
    for (const Run* run : scene.runs) {
        for (const RankAccount& account : run->accounts) most = std::max(most, sum(account));
    }
    return most;
}

/// Accounts that any rank has, with their mean share in the first run.
std::vector<LegendEntry> legendOf(const BreakdownScene& scene) {
    const Theme& colors = theme(scene.theme);
    const std::vector<double> shares = meanShares(*scene.runs.front());
    std::vector<LegendEntry> entries;
    for (int a = 0; a < account_count; ++a) {
        const auto used = [&](const Run* run) {
            return std::any_of(run->accounts.begin(), run->accounts.end(),
                               [&](const RankAccount& account) { return account[static_cast<std::size_t>(a)] != 0; });
        };
        if (std::none_of(scene.runs.begin(), scene.runs.end(), used)) continue;
        const auto account = static_cast<Account>(a);
        const double share = shares.empty() ? 0.0 : shares[static_cast<std::size_t>(a)];
        entries.push_back(
            {accountColor(colors, account), accountName(account) + " " + percentText(share), accountPattern(account)});
    }
    return entries;
}

struct BreakdownLayout {
    QRect title;
    QRect legend;
    QRectF bars;  ///< without names and axis
    double rowHeight = 1.0;
    double pixelsPerPicosecond = 1.0;
};

int titleHeight(const QPaintDevice& device) {
    return metricsOf(device, viewFont(1.1)).lineSpacing() + tight_margin;
}

int namesWidth(const QPaintDevice& device, const BreakdownScene& scene) {
    const QFontMetrics metrics = metricsOf(device, viewFont());
    int width = metrics.horizontalAdvance("PP00");
    for (const Run* run : scene.runs) {
        for (std::size_t r = 0; r < run->accounts.size(); ++r) {
            width = std::max(width, metrics.horizontalAdvance(rankName(*run, r)));
        }
    }
    return width + metrics.horizontalAdvance(" A") + 2 * tight_margin;
}

BreakdownLayout layoutOf(const QPaintDevice& device, const QRect& area, const BreakdownScene& scene) {
    const QFontMetrics metrics = metricsOf(device, viewFont());
    BreakdownLayout layout;
    layout.title = QRect(area.left() + tight_margin, area.top() + tight_margin, area.width() - 2 * tight_margin,
                         titleHeight(device));
    layout.legend = QRect(layout.title.left(), layout.title.bottom() + 1, layout.title.width(), 0);
    layout.legend.setHeight(legendHeight(device, layout.legend.width(), legendOf(scene)) + tight_margin);
    const int right = metrics.horizontalAdvance("00.00 ms") + tight_margin;
    layout.bars = QRectF(QRect(QPoint(area.left() + namesWidth(device, scene), layout.legend.bottom() + 1),
                               QPoint(area.right() - right, area.bottom() - metrics.lineSpacing() - tight_margin)));
    layout.rowHeight = std::min(layout.bars.height() / static_cast<double>(rankCount(scene)),
                                2.5 * metrics.lineSpacing() * static_cast<double>(scene.runs.size()));
    layout.bars.setHeight(layout.rowHeight * static_cast<double>(rankCount(scene)));
    layout.pixelsPerPicosecond = layout.bars.width() / static_cast<double>(longest(scene));
    return layout;
}

void drawSegment(QPainter& painter, const QRectF& box, const BreakdownSegment& segment, Picoseconds step,
                 const Theme& theme) {
    const QColor color = accountColor(theme, segment.account);
    fillPatterned(painter, box, color, accountPattern(segment.account));
    painter.setPen(QPen(theme.window, 1));
    painter.drawLine(box.topRight(), box.bottomRight());
    const double share = 100.0 * static_cast<double>(segment.end - segment.begin) / static_cast<double>(step);
    const QString text = QString::number(share, 'f', share < 10.0 ? 1 : 0) + " %";
    const QFontMetrics metrics = metricsOf(painter, painter.font());
    const double width = metrics.horizontalAdvance(text) + 4.0;
    if (width > box.width() || metrics.height() > box.height()) return;
    const QRectF label(box.center().x() - width / 2, box.center().y() - metrics.height() / 2.0, width,
                       metrics.height());
    if (accountPattern(segment.account) != Qt::SolidPattern) painter.fillRect(label, color);
    painter.setPen(segment.account == Account::bubble ? theme.text : labelOn(color));
    painter.drawText(label, Qt::AlignCenter, text);
}

void drawBar(QPainter& painter, const BreakdownBar& bar, const BreakdownScene& scene, const BreakdownLayout& layout) {
    const Theme& colors = theme(scene.theme);
    const Run& run = *scene.runs[bar.run];
    const RankAccount& account = run.accounts[bar.rank];
    painter.setFont(viewFont(0.9));
    for (const BreakdownSegment& segment : breakdownSegments(account)) {
        const QRectF box(bar.box.left() + static_cast<double>(segment.begin) * layout.pixelsPerPicosecond,
                         bar.box.top(), static_cast<double>(segment.end - segment.begin) * layout.pixelsPerPicosecond,
                         bar.box.height());
        drawSegment(painter, box, segment, std::max<Picoseconds>(1, sum(account)), colors);
    }
    painter.setPen(colors.faintText);
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(bar.box);
    const QFontMetrics metrics = metricsOf(painter, painter.font());
    if (bar.box.height() < metrics.height() - 3) return;
    const QRectF line(0, bar.box.center().y() - metrics.height() / 2.0, bar.box.left() - tight_margin,
                      metrics.height());
    painter.setPen(colors.text);
    QString label = rankName(run, bar.rank);
    if (scene.runs.size() > 1) label += QString(" %1").arg(QChar('A' + static_cast<int>(bar.run)));
    painter.drawText(line, Qt::AlignRight | Qt::AlignVCenter, label);
    painter.drawText(QRectF(bar.box.right() + tight_margin, line.top(), layout.bars.width(), metrics.height()),
                     Qt::AlignLeft | Qt::AlignVCenter, durationText(sum(account)));
}

void drawAxis(QPainter& painter, const BreakdownLayout& layout, const BreakdownScene& scene) {
    const Theme& colors = theme(scene.theme);
    painter.setFont(viewFont(0.9));
    const QFontMetrics metrics = metricsOf(painter, painter.font());
    const double ms = to_milliseconds(longest(scene));
    for (const double tick : niceTicks(0.0, ms, std::max(2, static_cast<int>(layout.bars.width() / 90.0)))) {
        const double x = layout.bars.left() + tick * 1e9 * layout.pixelsPerPicosecond;
        painter.setPen(colors.grid);
        painter.drawLine(QPointF(x, layout.bars.top()), QPointF(x, layout.bars.bottom() + 3));
        painter.setPen(colors.faintText);
        const QString text = axisText(tick * 1e9, ms * 1e9);
        const double width = metrics.horizontalAdvance(text);
        painter.drawText(QPointF(x - width / 2, layout.bars.bottom() + 3 + metrics.ascent()), text);
    }
}

}  // namespace

std::vector<BreakdownSegment> breakdownSegments(const RankAccount& account) {
    std::vector<BreakdownSegment> segments;
    Picoseconds at = 0;
    for (std::size_t a = 0; a < account.size(); ++a) {
        if (account[a] == 0) continue;
        segments.push_back({static_cast<Account>(a), at, at + account[a]});
        at += account[a];
    }
    return segments;
}

std::vector<double> meanShares(const Run& run) {
    if (run.accounts.empty()) return {};
    std::vector<double> shares(account_count, 0.0);
    for (const RankAccount& account : run.accounts) {
        const auto step = static_cast<double>(std::max<Picoseconds>(1, sum(account)));
        for (std::size_t a = 0; a < account.size(); ++a) {
            shares[a] += static_cast<double>(account[a]) / step / static_cast<double>(run.accounts.size());
        }
    }
    return shares;
}

QString breakdownSentence(const Run& run) {
    const std::vector<double> shares = meanShares(run);
    if (shares.empty()) return "";
    double compute = 0.0;
    for (const Account account : {Account::forward, Account::backward, Account::weight_grad, Account::recompute}) {
        compute += shares[static_cast<std::size_t>(account)];
    }
    constexpr auto first_loss = static_cast<std::size_t>(Account::optimizer);
    std::vector<std::size_t> losses(shares.size() - first_loss);
    std::iota(losses.begin(), losses.end(), first_loss);
    std::stable_sort(losses.begin(), losses.end(), [&](std::size_t x, std::size_t y) { return shares[x] > shares[y]; });
    QString text = QString("Ranks compute %1 % of the %2 step")
                       .arg(QString::number(100.0 * compute, 'f', 0), durationText(run.step_time));
    for (std::size_t i = 0; i < 3 && shares[losses[i]] >= 0.001; ++i) {
        text += (i == 0 ? "; lost: " : ", ") + accountName(static_cast<Account>(losses[i])) + " " +
                percentText(shares[losses[i]]);
    }
    return text;
}

std::vector<BreakdownBar> breakdownBars(const QPaintDevice& device, const QRect& area, const BreakdownScene& scene) {
    const BreakdownLayout layout = layoutOf(device, area, scene);
    const double gap = std::min(4.0, layout.rowHeight / 5.0);
    const double height = (layout.rowHeight - gap) / static_cast<double>(scene.runs.size());
    std::vector<BreakdownBar> bars;
    for (std::size_t rank = 0; rank < rankCount(scene); ++rank) {
        for (std::size_t run = 0; run < scene.runs.size(); ++run) {
            if (rank >= scene.runs[run]->accounts.size()) continue;
            const double top = layout.bars.top() + static_cast<double>(rank) * layout.rowHeight + gap / 2 +
                               static_cast<double>(run) * height;
            const double width = static_cast<double>(sum(scene.runs[run]->accounts[rank])) * layout.pixelsPerPicosecond;
            bars.push_back({run, rank, QRectF(layout.bars.left(), top, width, std::max(1.0, height - 1.0))});
        }
    }
    return bars;
}

int breakdownHeight(const QPaintDevice& device, int width, const BreakdownScene& scene) {
    if (scene.runs.empty()) return 0;
    const int line = metricsOf(device, viewFont()).lineSpacing();
    const int bars = static_cast<int>(rankCount(scene) * scene.runs.size()) * (line + 4);
    return titleHeight(device) + legendHeight(device, width - 2 * tight_margin, legendOf(scene)) + bars + line +
           4 * tight_margin;
}

void paintBreakdown(QPainter& painter, const QRect& area, const BreakdownScene& scene) {
    const Theme& colors = theme(scene.theme);
    if (rankCount(scene) == 0) {
        return drawHint(painter, area,
                        scene.runs.empty() ? "Open a plan to see where the time of every rank goes."
                                           : "This run does not say what its ranks do with their time.",
                        colors);
    }
    painter.fillRect(area, colors.window);
    const BreakdownLayout layout = layoutOf(*painter.device(), area, scene);
    QFont bold = viewFont(1.1);
    bold.setBold(true);
    painter.setFont(bold);
    painter.setPen(colors.text);
    drawElided(painter, layout.title, Qt::AlignLeft | Qt::AlignVCenter, breakdownSentence(*scene.runs.front()));
    drawLegend(painter, layout.legend, legendOf(scene), colors);
    drawAxis(painter, layout, scene);
    for (const BreakdownBar& bar : breakdownBars(*painter.device(), area, scene)) drawBar(painter, bar, scene, layout);
}

}  // namespace foreshard::gui
