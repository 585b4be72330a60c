#include "gui/memory/memory_head.hpp"

#include <array>

#include "gui/charts/draw.hpp"
#include "gui/charts/run_text.hpp"

namespace foreshard::gui {

namespace {

std::vector<LegendEntry> legendOf(const MemoryScene& scene, int chosen) {
    const Theme& colors = theme(scene.theme);
    const Run& run = *scene.runs.front();
    const MemoryStack stack = peakStack(run.memory[static_cast<std::size_t>(chosen)]);
    std::vector<LegendEntry> entries;
    for (int c = 0; c < memory_category_count; ++c) {
        const auto category = static_cast<MemoryCategory>(c);
        entries.push_back({memoryColor(colors, category),
                           QString("%1 %2").arg(name(category), memoryText(stack[static_cast<std::size_t>(c)]))});
    }
    if (run.memory_capacity > 0) {
        entries.push_back(
            {colors.capacity, "usable " + memoryText(run.memory_capacity), Qt::SolidPattern, LegendMark::line});
    }
    for (std::size_t i = 1; i < scene.runs.size(); ++i) {
        const Run& other = *scene.runs[i];
        entries.push_back({otherRunPen(colors, other, i).color(), QString::fromStdString(other.name), Qt::SolidPattern,
                           other.source == RunSource::simulated ? LegendMark::line : LegendMark::dashed_line});
    }
    return entries;
}

QString liveSentence(const Run& run, int rank) {
    QString text;
    for (const std::string& item : liveAtPeak(run, rank)) {
        text += (text.isEmpty() ? "live then: " : "; ") + QString::fromStdString(item);
    }
    return text;
}

int chosenOf(const MemoryScene& scene) {
    return scene.chosen < 0 ? worstRank(*scene.runs.front()) : scene.chosen;
}

QFont boldFont() {
    QFont font = viewFont(1.1);
    font.setBold(true);
    return font;
}

}  // namespace

QPen otherRunPen(const Theme& theme, const Run& run, std::size_t index) {
    const std::array<QColor, 3> colors = {theme.text, theme.accent, theme.late};
    const Qt::PenStyle style = run.source == RunSource::simulated ? Qt::SolidLine : Qt::DashLine;
    return {colors[(index - 1) % colors.size()], 2, style};
}

QString peakSentence(const Run& run, int rank) {
    const RankMemory& memory = run.memory[static_cast<std::size_t>(rank)];
    const ByteCount need = memory.runtime + memory.peak;
    const QString who = rankName(run, static_cast<std::size_t>(rank));
    const QString when = QString("%1 into the step, %2")
                             .arg(durationText(memory.peak_time - run.spans.window_begin),
                                  QString::fromStdString(peakMoment(run, rank)));
    if (run.memory_capacity == 0) return QString("%1 peaks at %2, %3").arg(who, memoryText(need), when);
    switch (memory_verdict(memory, run.memory_capacity)) {
        case MemoryVerdict::does_not_fit:
            return QString("%1 DOES NOT FIT: needs %2, %3 more than the usable %4 (%5)")
                .arg(who, memoryText(need), memoryText(need - run.memory_capacity), memoryText(run.memory_capacity),
                     when);
        case MemoryVerdict::tight:
            return QString("%1 is tight: %2 of %3, and %4 with the allocator's fragmentation (%5)")
                .arg(who, memoryText(need), memoryText(run.memory_capacity),
                     memoryText(memory.runtime + memory.reserved), when);
        case MemoryVerdict::fits:
            break;
    }
    const double share = 100.0 * static_cast<double>(need) / static_cast<double>(run.memory_capacity);
    return QString("%1 peaks at %2 of %3 (%4 %), %5")
        .arg(who, memoryText(need), memoryText(run.memory_capacity), QString::number(share, 'f', 0), when);
}

namespace {

/// At most two lines.
int liveHeight(const QPaintDevice& device, int width, const Run& run, int rank) {
    const QFontMetrics metrics = metricsOf(device, viewFont());
    const bool one = metrics.horizontalAdvance(liveSentence(run, rank)) <= width;
    return (one ? 1 : 2) * metrics.lineSpacing();
}

}  // namespace

int headHeight(const QPaintDevice& device, int width, const MemoryScene& scene) {
    const std::vector<LegendEntry> legend = legendOf(scene, chosenOf(scene));
    return metricsOf(device, boldFont()).lineSpacing() +
           liveHeight(device, width - 2 * tight_margin, *scene.runs.front(), chosenOf(scene)) +
           legendHeight(device, width - 2 * tight_margin, legend) + 2 * tight_margin;
}

void paintHead(QPainter& painter, const QRect& area, const MemoryScene& scene, int chosen) {
    const Theme& colors = theme(scene.theme);
    const Run& run = *scene.runs.front();
    const bool fits = run.memory_capacity == 0 || memory_verdict(run.memory[static_cast<std::size_t>(chosen)],
                                                                 run.memory_capacity) != MemoryVerdict::does_not_fit;
    painter.fillRect(area, colors.panel);
    QRect line = area.adjusted(tight_margin, tight_margin, -tight_margin, -tight_margin);
    painter.setFont(boldFont());
    const int first = metricsOf(painter, boldFont()).lineSpacing();
    if (!fits) painter.fillRect(QRect(area.left(), area.top(), area.width(), first + tight_margin), colors.capacity);
    painter.setPen(fits ? colors.text : labelOn(colors.capacity));
    line.setHeight(first);
    drawElided(painter, line, Qt::AlignLeft | Qt::AlignVCenter, peakSentence(run, chosen));
    const QRect legend(line.left(), line.bottom() + 1 + tight_margin / 2, line.width(), area.height());
    const int used = drawLegend(painter, legend, legendOf(scene, chosen), colors);
    painter.setFont(viewFont());
    painter.setPen(colors.faintText);
    const QRect live(line.left(), legend.top() + used, line.width(),
                     liveHeight(*painter.device(), line.width(), run, chosen));
    painter.drawText(live, Qt::AlignLeft | Qt::AlignTop | Qt::TextWordWrap, liveSentence(run, chosen));
}

}  // namespace foreshard::gui
