#include "gui/timeline/navigation.hpp"

#include <QStringList>
#include <algorithm>
#include <array>

#include "gui/timeline/rows_painter.hpp"

namespace foreshard::gui {

namespace {

std::optional<Selection> asSelection(std::size_t run, std::optional<std::size_t> span) {
    if (!span) return std::nullopt;
    return spanSelection(run, *span);
}

std::optional<Selection> firstInView(const TimelineScene& scene, const ViewState& state) {
    const ShownRun& shown = scene.runs[scene.drawnRun()];
    for (const SpanRow& row : shown.spans().rows) {
        const SpanRange seen =
            visible_spans(shown.spans(), row, state.begin() - shown.shift, state.end() - shown.shift);
        if (!seen.empty()) return spanSelection(scene.drawnRun(), seen.first);
    }
    return std::nullopt;
}

/// Of a diff's first run only what the second lacks is drawn.
std::optional<std::size_t> drawnNeighbour(const TimelineScene& scene, const Selection& now, int step) {
    const SpanTable& spans = scene.runs[now.run].spans();
    const bool some = now.run == 0 && scene.lateness && scene.choice.mode == TimelineMode::diff;
    std::optional<std::size_t> span = now.span;
    do {
        span = step > 0 ? next_span(spans, *span) : previous_span(spans, *span);
    } while (span && some && !scene.lateness->onlyFirst.has(*span));
    return span;
}

std::optional<std::size_t> firstUser(const SpanTable& spans, const SpanUsers& users, std::size_t span) {
    std::optional<std::size_t> first;
    for (std::uint32_t i = users.first[span]; i < users.first[span + 1]; ++i) {
        const std::size_t user = users.users[i];
        if (!first || spans.start[user] < spans.start[*first]) first = user;
    }
    return first;
}

std::optional<Selection> fromGap(const SpanTable& spans, const Selection& selection, int step) {
    const auto gap = gap_at(spans, selection.row, selection.begin);
    if (!gap || !gap->after) return std::nullopt;
    return asSelection(selection.run, step < 0 ? cause_of(spans, *gap->after) : gap->after);
}

QString inMicroseconds(Picoseconds time) {
    return QString::number(static_cast<double>(time) / 1e6, 'f', 3);
}

void addTsvLine(QStringList& lines, const SpanTable& spans, const SpanRow& row, std::size_t span) {
    const auto orNothing = [](int number) { return number < 0 ? QString() : QString::number(number); };
    const QStringList cells = {QString::fromStdString(spans.ranks[static_cast<std::size_t>(row.rank)].name),
                               QString::fromUtf8(to_string(row.lane).data()),
                               QString::fromStdString(span_name(spans, span)),
                               QString::fromUtf8(to_string(spans.kind[span]).data()),
                               orNothing(spans.stage[span]),
                               orNothing(spans.chunk[span]),
                               orNothing(spans.microbatch[span]),
                               inMicroseconds(spans.start[span]),
                               inMicroseconds(spans.end[span]),
                               inMicroseconds(spans.end[span] - spans.start[span])};
    lines.push_back(cells.join('\t'));
}

}  // namespace

Selection spanSelection(std::size_t run, std::size_t span) {
    Selection selection;
    selection.kind = Selection::Kind::span;
    selection.run = run;
    selection.span = span;
    return selection;
}

Selection gapSelection(std::size_t run, const Gap& gap) {
    Selection selection;
    selection.kind = Selection::Kind::gap;
    selection.run = run;
    selection.row = gap.row;
    selection.lastRow = gap.row;
    selection.begin = gap.begin;
    selection.end = gap.end;
    return selection;
}

std::optional<Selection> neighbour(const TimelineScene& scene, const ViewState& state, int step) {
    if (scene.runs.empty()) return std::nullopt;
    const Selection& now = state.selection();
    const bool known = now.run < scene.runs.size();
    if (known && now.kind == Selection::Kind::span) {
        return asSelection(now.run, drawnNeighbour(scene, now, step));
    }
    if (known && now.kind == Selection::Kind::gap) {
        const auto gap = gap_at(scene.runs[now.run].spans(), now.row, now.begin);
        if (!gap) return std::nullopt;
        return asSelection(now.run, step > 0 ? gap->after : gap->before);
    }
    return firstInView(scene, state);
}

std::optional<Selection> dependency(TimelineScene& scene, const Selection& selection, int step) {
    if (selection.run >= scene.runs.size()) return std::nullopt;
    ShownRun& shown = scene.runs[selection.run];
    if (selection.kind == Selection::Kind::gap) return fromGap(shown.spans(), selection, step);
    if (selection.kind != Selection::Kind::span) return std::nullopt;
    if (step < 0) return asSelection(selection.run, cause_of(shown.spans(), selection.span));
    if (!shown.users) shown.users = users_of(shown.spans());
    return asSelection(selection.run, firstUser(shown.spans(), *shown.users, selection.span));
}

std::optional<Selection> bubble(const TimelineScene& scene, const Selection& selection, int step) {
    if (scene.runs.empty()) return std::nullopt;
    const std::size_t run =
        selection.kind == Selection::Kind::gap && selection.run < scene.runs.size() ? selection.run : scene.drawnRun();
    const std::vector<Gap> gaps = gaps_by_length(scene.runs[run].spans());
    if (gaps.empty()) return std::nullopt;
    const auto same = [&](const Gap& gap) { return gap.row == selection.row && gap.begin == selection.begin; };
    const auto found =
        selection.kind == Selection::Kind::gap ? std::find_if(gaps.begin(), gaps.end(), same) : gaps.end();
    if (found == gaps.end()) return gapSelection(run, gaps.front());
    const auto count = static_cast<std::ptrdiff_t>(gaps.size());
    const std::ptrdiff_t next = (found - gaps.begin() + step + count) % count;
    return gapSelection(run, gaps[static_cast<std::size_t>(next)]);
}

std::optional<AxisRange> rangeOf(const TimelineScene& scene, const Selection& selection) {
    if (selection.kind == Selection::Kind::none || selection.run >= scene.runs.size()) return std::nullopt;
    const ShownRun& shown = scene.runs[selection.run];
    if (selection.kind != Selection::Kind::span)
        return AxisRange{selection.begin + shown.shift, selection.end + shown.shift};
    if (selection.span >= shown.spans().size()) return std::nullopt;
    return AxisRange{shown.spans().start[selection.span] + shown.shift,
                     shown.spans().end[selection.span] + shown.shift};
}

std::optional<std::size_t> tableRowOf(const TimelineScene& scene, const Selection& selection) {
    if (selection.kind == Selection::Kind::none || selection.run >= scene.runs.size()) return std::nullopt;
    const SpanTable& spans = scene.runs[selection.run].spans();
    if (selection.kind != Selection::Kind::span) {
        return selection.row < spans.rows.size() ? std::optional(selection.row) : std::nullopt;
    }
    return selection.span < spans.size() ? std::optional(row_of(spans, selection.span)) : std::nullopt;
}

QString spanText(const ShownRun& shown, std::size_t span) {
    const SpanTable& spans = shown.spans();
    const SpanRow& row = spans.rows[row_of(spans, span)];
    QStringList parts = {QString::fromStdString(span_name(spans, span)),
                         QString::fromUtf8(to_string(spans.kind[span]).data()),
                         QString::fromStdString(spans.ranks[static_cast<std::size_t>(row.rank)].name)};
    if (spans.stage[span] >= 0) parts << QString("stage %1").arg(spans.stage[span]);
    if (spans.chunk[span] >= 0) parts << QString("chunk %1").arg(spans.chunk[span]);
    if (spans.microbatch[span] >= 0) parts << QString("micro-batch %1").arg(spans.microbatch[span]);
    parts << timeText(spans.end[span] - spans.start[span]);
    parts << "from " + timeText(spans.start[span] - spans.window_begin);
    return parts.join(" · ");
}

QString areaText(const ShownRun& shown, const Selection& area) {
    const AreaTotals totals = area_totals(shown.spans(), area.row, area.lastRow, area.begin, area.end);
    QStringList lines = {QString("%1 × %2 rows, %3 spans")
                             .arg(timeText(area.end - area.begin))
                             .arg(area.lastRow - area.row + 1)
                             .arg(totals.spans)};
    const Picoseconds whole = (area.end - area.begin) * totals.compute_rows;
    const auto add = [&](const QString& name, Picoseconds time) {
        const double share = whole > 0 ? 100.0 * static_cast<double>(time) / static_cast<double>(whole) : 0.0;
        lines << (whole > 0 ? QString("%1: %2 (%3 %)").arg(name, timeText(time)).arg(share, 0, 'f', 1)
                            : QString("%1: %2").arg(name, timeText(time)));
    };
    for (int kind = 0; kind < span_kind_count; ++kind) {
        const Picoseconds time = totals.time[static_cast<std::size_t>(kind)];
        if (time > 0) add(QString::fromUtf8(to_string(static_cast<SpanKind>(kind)).data()), time);
    }
    if (totals.compute_rows > 0) add("bubble", totals.bubble);
    return lines.join('\n');
}

QString rowsAsTsv(const TimelineScene& scene, const Selection& selection) {
    const auto row = tableRowOf(scene, selection);
    if (!row) return {};
    const SpanTable& spans = scene.runs[selection.run].spans();
    const bool area = selection.kind == Selection::Kind::area;
    QStringList lines = {"rank\tlane\tname\tkind\tstage\tchunk\tmicrobatch\tstart_us\tend_us\tduration_us"};
    for (std::size_t r = *row; r <= (area ? selection.lastRow : *row) && r < spans.rows.size(); ++r) {
        const SpanRow& its = spans.rows[r];
        const SpanRange range =
            area ? visible_spans(spans, its, selection.begin, selection.end) : SpanRange{its.first, its.last};
        for (std::size_t span = range.first; span < range.last; ++span) addTsvLine(lines, spans, its, span);
    }
    return lines.join('\n') + '\n';
}

}  // namespace foreshard::gui
