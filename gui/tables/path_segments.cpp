#include "gui/tables/path_segments.hpp"

#include <algorithm>
#include <numeric>

#include "gui/charts/draw.hpp"
#include "gui/charts/run_text.hpp"
#include "sim/result/span_query.hpp"

namespace foreshard::gui {

namespace {

QString textOf(std::string_view text) {
    return qt(text);
}

QString what(const PathPart& part) {
    QString text = textOf(to_string(part.kind));
    if (part.stage >= 0) text += QString(" of stage %1").arg(part.stage);
    if (part.firstMicrobatch < 0) return text;
    if (part.firstMicrobatch == part.lastMicrobatch)
        return text + QString(", micro-batch %1").arg(part.firstMicrobatch);
    return text + QString(", micro-batches %1 to %2").arg(part.firstMicrobatch).arg(part.lastMicrobatch);
}

}  // namespace

std::vector<PathPart> pathParts(const Run& run) {
    const SpanTable& spans = run.spans;
    std::vector<PathPart> parts;
    for (const std::size_t span : run.critical_path) {
        const int rank = spans.rows[row_of(spans, span)].rank;
        const bool joins = !parts.empty() && parts.back().rank == rank && parts.back().kind == spans.kind[span] &&
                           parts.back().stage == spans.stage[span];
        if (!joins) {
            parts.push_back({rank, spans.kind[span], spans.stage[span], spans.microbatch[span], spans.microbatch[span],
                             span, 0, spans.start[span], spans.end[span]});
        }
        PathPart& part = parts.back();
        ++part.spans;
        part.end = spans.end[span];
        part.lastMicrobatch = spans.microbatch[span];
    }
    return parts;
}

PathTotals pathTotals(const Run& run) {
    const SpanTable& spans = run.spans;
    PathTotals totals;
    if (run.critical_path.empty()) return totals;
    Picoseconds at = spans.start[run.critical_path.front()];
    totals.all = spans.end[run.critical_path.back()] - at;
    for (const std::size_t span : run.critical_path) {
        // A message may be under way before the path reaches it.
        const Picoseconds begin = std::max(at, spans.start[span]);
        const Picoseconds end = std::max(begin, spans.end[span]);
        totals.between += begin - at;
        totals.time[static_cast<std::size_t>(spans.kind[span])] += end - begin;
        at = end;
    }
    return totals;
}

QString pathSentence(const Run& run) {
    const PathTotals totals = pathTotals(run);
    if (totals.all <= 0) return "";
    const std::vector<PathPart> parts = pathParts(run);
    std::vector<std::size_t> kinds(span_kind_count);
    std::iota(kinds.begin(), kinds.end(), std::size_t{0});
    std::stable_sort(kinds.begin(), kinds.end(),
                     [&](std::size_t a, std::size_t b) { return totals.time[a] > totals.time[b]; });
    QString text = QString("The step is as long as this chain of %1: ").arg(durationText(totals.all));
    for (std::size_t i = 0; i < 4 && totals.time[kinds[i]] > 0; ++i) {
        const double share = static_cast<double>(totals.time[kinds[i]]) / static_cast<double>(totals.all);
        text += (i == 0 ? "" : ", ") + textOf(to_string(static_cast<SpanKind>(kinds[i]))) + " " + percentText(share);
    }
    return text;
}

Table pathTable(const Run& run) {
    Table table;
    table.columns = {{"#", Column::Kind::number},
                     {"rank"},
                     {"what"},
                     {"spans", Column::Kind::number},
                     {"from", Column::Kind::number},
                     {"length", Column::Kind::number},
                     {"of the step", Column::Kind::number}};
    const std::vector<PathPart> parts = pathParts(run);
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const PathPart& part = parts[i];
        const Picoseconds length = part.end - part.begin;
        const double share = static_cast<double>(length) / static_cast<double>(std::max<Picoseconds>(1, run.step_time));
        const Picoseconds from = part.begin - run.spans.window_begin;
        table.rows.push_back({{QString::number(i + 1), static_cast<qulonglong>(i)},
                              {rankName(run, static_cast<std::size_t>(part.rank)), part.rank},
                              {what(part)},
                              {QString::number(part.spans), static_cast<qulonglong>(part.spans)},
                              {durationText(from), static_cast<qlonglong>(from)},
                              {durationText(length), static_cast<qlonglong>(length)},
                              {percentText(share), share}});
    }
    return table;
}

}  // namespace foreshard::gui
