#include "gui/app/inspector_text.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "gui/app/figures.hpp"
#include "sim/engine/task_detail.hpp"
#include "sim/result/span_query.hpp"
#include "sim/result/text_format.hpp"

namespace foreshard::gui {

namespace {

std::string duration(Picoseconds time) {
    return milliseconds(to_milliseconds(time));
}

std::string difference(Picoseconds time) {
    return (time < 0 ? "-" : "+") + duration(time < 0 ? -time : time);
}

std::string row(const std::string& name, const std::string& value) {
    return fmt::format("<tr><td>{}&nbsp;&nbsp;</td><td align='right'>{}</td></tr>", escaped(name), escaped(value));
}

std::string table(const std::string& rows) {
    return "<table cellspacing='0' cellpadding='1'>" + rows + "</table>";
}

std::string heading(const std::string& text) {
    return "<h3>" + escaped(text) + "</h3>";
}

std::string list(const std::vector<std::string>& lines, const std::string& title) {
    if (lines.empty()) return "";
    std::string html = "<p><b>" + escaped(title) + "</b></p><ul>";
    for (const std::string& line : lines) html += "<li>" + escaped(line) + "</li>";
    return html + "</ul>";
}

std::string link(const SpanTable& spans, std::size_t run, std::size_t span) {
    const SpanRow& place = spans.rows[row_of(spans, span)];
    return fmt::format("<a href='span:{}:{}'>{}</a> on {}", run, span, escaped(span_name(spans, span)),
                       escaped(spans.ranks[static_cast<std::size_t>(place.rank)].name));
}

std::string placeRows(const SpanTable& spans, std::size_t span) {
    const SpanRow& place = spans.rows[row_of(spans, span)];
    std::string rows = row("rank", spans.ranks[static_cast<std::size_t>(place.rank)].name + ", " + place.name);
    rows += row("kind", std::string(to_string(spans.kind[span])));
    if (spans.stage[span] >= 0) rows += row("stage", std::to_string(spans.stage[span]));
    if (spans.chunk[span] >= 0) rows += row("chunk", std::to_string(spans.chunk[span]));
    if (spans.microbatch[span] >= 0) rows += row("micro-batch", std::to_string(spans.microbatch[span]));
    rows += row("start", duration(spans.start[span] - spans.window_begin));
    rows += row("duration", duration(spans.end[span] - spans.start[span]));
    return rows;
}

std::string partnerHtml(const std::vector<const Document*>& shown, std::size_t run, std::size_t span,
                        const Comparison& comparison) {
    const auto pair = partnerOf(comparison, run, span);
    if (!pair) return "<p>Nothing in the other run is the same work.</p>";
    const std::size_t other = 1 - run;
    const SpanTable& spans = shown[other]->run.spans;
    const std::size_t partner = other == 0 ? pair->a : pair->b;
    std::string rows =
        row(fmt::format("duration in {}", other == 0 ? "A" : "B"), duration(spans.end[partner] - spans.start[partner]));
    rows += row("B is longer by", difference(pair->longer));
    rows += row("B starts later by", difference(pair->late));
    return "<p><b>Against " + escaped(shown[other]->name) + "</b></p>" + table(rows);
}

std::string waitsHtml(const SpanTable& spans, std::size_t run, std::size_t span) {
    const std::vector<std::size_t> inputs = inputs_of(spans, span);
    if (inputs.empty()) return "";
    std::string html = "<p><b>Waits for</b></p><ul>";
    const auto cause = cause_of(spans, span);
    for (const std::size_t input : inputs) {
        html += "<li>" + link(spans, run, input) +
                fmt::format(", ended {} before",
                            duration(spans.start[span] - std::min(spans.end[input], spans.start[span])));
        html += cause == input ? " <b>(the last)</b></li>" : "</li>";
    }
    return html + "</ul>";
}

std::string partRow(const TaskPart& part) {
    const std::string name = part.times > 1 ? fmt::format("{} x {}", part.times, part.name) : part.name;
    return fmt::format(
        "<tr><td>{}&nbsp;</td><td align='right'>{}</td></tr><tr><td colspan='2'><small>{}; bound by "
        "{}</small></td></tr>",
        escaped(name), escaped(milliseconds(part.time.value * 1e3)), escaped(part.formula), escaped(part.bound));
}

std::string formulaHtml(const Document& document, std::size_t span) {
    if (!document.evaluation) return "";
    const std::int32_t task = document.run.spans.task[span];
    if (task < 0 || static_cast<std::size_t>(task) >= document.evaluation->graph.tasks.size()) return "";
    TaskDetail detail = task_detail(*document.evaluation, task);
    std::stable_sort(detail.parts.begin(), detail.parts.end(),
                     [](const TaskPart& a, const TaskPart& b) { return a.time > b.time; });
    std::string rows;
    for (const TaskPart& part : detail.parts) rows += partRow(part);
    rows += row("sum of " + detail.name, milliseconds(detail.predicted.value * 1e3));
    return "<p><b>What it is made of</b></p>" + table(rows) + list(detail.notes, "Note");
}

std::string spanHtml(const std::vector<const Document*>& shown, const Selection& selection,
                     const Comparison* comparison) {
    const Document& document = *shown[selection.run];
    const SpanTable& spans = document.run.spans;
    if (selection.span >= spans.size()) return "";
    std::string html = heading(span_name(spans, selection.span)) + table(placeRows(spans, selection.span));
    if (comparison && selection.run < 2) html += partnerHtml(shown, selection.run, selection.span, *comparison);
    html += formulaHtml(document, selection.span);
    return html + waitsHtml(spans, selection.run, selection.span);
}

std::string gapHtml(const Document& document, const Selection& selection) {
    const SpanTable& spans = document.run.spans;
    const auto gap = gap_at(spans, selection.row, selection.begin);
    if (!gap) return "";
    std::string html = heading(fmt::format("Bubble of {}", duration(gap->length())));
    html += "<p>" + escaped(gap_text(spans, *gap)) + "</p>";
    const std::vector<std::size_t> chain = wait_chain(spans, *gap);
    if (chain.empty()) return html;
    html += "<p><b>Back to its cause</b></p><ol>";
    for (const std::size_t span : chain) {
        html += "<li>" + link(spans, selection.run, span) +
                fmt::format(", {} to {}</li>", duration(spans.start[span] - spans.window_begin),
                            duration(spans.end[span] - spans.window_begin));
    }
    return html + "</ol>";
}

std::string areaHtml(const Document& document, const Selection& selection) {
    const SpanTable& spans = document.run.spans;
    if (selection.lastRow >= spans.rows.size()) return "";
    const AreaTotals totals = area_totals(spans, selection.row, selection.lastRow, selection.begin, selection.end);
    const Picoseconds length = selection.end - selection.begin;
    std::string rows;
    for (int kind = 0; kind < span_kind_count; ++kind) {
        const Picoseconds time = totals.time[static_cast<std::size_t>(kind)];
        if (time > 0) rows += row(std::string(to_string(static_cast<SpanKind>(kind))), duration(time));
    }
    const double whole = static_cast<double>(length) * std::max(1, totals.compute_rows);
    rows += row("bubble",
                fmt::format("{} ({})", duration(totals.bubble), percent(static_cast<double>(totals.bubble) / whole)));
    return heading(fmt::format("Area of {}", duration(length))) +
           fmt::format("<p>{} rows, {} spans; times are summed over the rows.</p>",
                       selection.lastRow - selection.row + 1, totals.spans) +
           table(rows);
}

}  // namespace

std::string escaped(const std::string& text) {
    std::string result;
    result.reserve(text.size());
    for (const char c : text) {
        switch (c) {
            case '<':
                result += "&lt;";
                break;
            case '>':
                result += "&gt;";
                break;
            case '&':
                result += "&amp;";
                break;
            case '"':
                result += "&quot;";
                break;
            default:
                result += c;
        }
    }
    return result;
}

std::optional<SpanPair> partnerOf(const Comparison& comparison, std::size_t run, std::size_t span) {
    const auto side = run == 0 ? &SpanPair::a : &SpanPair::b;
    const auto found = std::find_if(comparison.pairs.begin(), comparison.pairs.end(),
                                    [&](const SpanPair& pair) { return pair.*side == span; });
    return found == comparison.pairs.end() ? std::nullopt : std::optional(*found);
}

std::string overviewHtml(const Document& document) {
    std::string rows;
    for (int i = 0; i < figure_count; ++i) {
        const auto figure = static_cast<Figure>(i);
        const auto value = valueOf(document.run, figure);
        if (!value) continue;
        rows += row(std::string(titleOf(figure)),
                    figure == Figure::memory ? memoryText(document.run) : textOf(figure, *value));
    }
    std::string html = heading(document.name) + "<p>" + escaped(document.run.provenance) + "</p>" + table(rows);
    html += list(document.warnings, "Warnings");
    std::vector<std::string> notes;
    for (const std::string& note : document.run.notes) {
        const bool warned =
            std::find(document.warnings.begin(), document.warnings.end(), note) != document.warnings.end();
        if (!warned) notes.push_back(note);
    }
    return html + list(notes, "Assumed");
}

std::string inspectorHtml(const std::vector<const Document*>& shown, const Selection& selection,
                          const Comparison* comparison) {
    if (shown.empty()) return "<p>Nothing is open. Choose a model and a cluster at the left, or open a file.</p>";
    const std::size_t run = std::min(selection.run, shown.size() - 1);
    std::string html;
    switch (selection.run < shown.size() ? selection.kind : Selection::Kind::none) {
        case Selection::Kind::span:
            html = spanHtml(shown, selection, comparison);
            break;
        case Selection::Kind::gap:
            html = gapHtml(*shown[run], selection);
            break;
        case Selection::Kind::area:
            html = areaHtml(*shown[run], selection);
            break;
        case Selection::Kind::none:
            break;
    }
    if (!html.empty()) return html;
    for (const Document* document : shown) html += overviewHtml(*document);
    return html;
}

}  // namespace foreshard::gui
