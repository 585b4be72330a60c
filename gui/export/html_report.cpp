#include "gui/export/html_report.hpp"

#include <QFile>

#include <fmt/format.h>

#include "gui/app/figures.hpp"
#include "gui/app/inspector_text.hpp"
#include "sim/error.hpp"
#include "sim/result/compare.hpp"
#include "sim/sim.hpp"
#include "sim/spec/request_text.hpp"

namespace foreshard::gui {

namespace {

constexpr const char* style =
    "body{font:15px/1.45 'DejaVu Sans',sans-serif;max-width:1640px;margin:2em auto;padding:0 1em;color:#1b1f24;"
    "background:#fff}table{border-collapse:collapse;margin:1em 0}td,th{border:1px solid #d8dce1;padding:.25em .7em;"
    "text-align:right}td:first-child,th:first-child{text-align:left}svg{max-width:100%;height:auto}"
    "code{background:#f2f2f2;padding:.1em .3em}h2{margin-top:2em}";

std::string figuresTable(const std::vector<const Document*>& shown) {
    std::string html = "<table><tr><th></th>";
    for (const Document* document : shown) html += "<th>" + escaped(document->name) + "</th>";
    html += "</tr>";
    for (int i = 0; i < figure_count; ++i) {
        const auto figure = static_cast<Figure>(i);
        html += "<tr><td>" + std::string(titleOf(figure)) + "</td>";
        const auto first = valueOf(shown.front()->run, figure);
        for (const Document* document : shown) {
            const auto value = valueOf(document->run, figure);
            std::string text = value ? textOf(figure, *value) : "";
            if (value && figure == Figure::memory) text = memoryText(document->run);
            if (value && first && document != shown.front())
                text += " (" + differenceText(figure, *first, *value) + ")";
            html += "<td>" + escaped(text) + "</td>";
        }
        html += "</tr>";
    }
    return html + "</table>";
}

std::string differencesTable(const std::vector<const Document*>& shown) {
    if (shown.size() < 2) return "";
    const std::vector<SettingDifference> settings = differing_settings(shown[0]->run, shown[1]->run);
    if (settings.empty()) return "<p>The first two runs have the same settings.</p>";
    std::string html = "<h2>What differs</h2><table><tr><th>setting</th><th>A</th><th>B</th></tr>";
    for (const SettingDifference& setting : settings) {
        html += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td></tr>", escaped(setting.name), escaped(setting.a),
                            escaped(setting.b));
    }
    return html + "</table>";
}

std::string notesOf(const Document& document) {
    std::string html = "<h2>" + escaped(document.name) + "</h2><p>" + escaped(document.run.provenance) + "</p>";
    if (document.request)
        html += "<p><code>foreshard simulate " + escaped(request_flags(*document.request)) + "</code></p>";
    for (const std::string& warning : document.warnings) html += "<p><b>Warning:</b> " + escaped(warning) + "</p>";
    html += "<ul>";
    for (const std::string& note : document.run.notes) html += "<li>" + escaped(note) + "</li>";
    return html + "</ul>";
}

}  // namespace

QString htmlReport(const std::vector<const Document*>& shown, const std::vector<Picture>& pictures) {
    std::string html =
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Foreshard report</title><style>";
    html += std::string(style) + "</style></head><body><h1>Foreshard report</h1>";
    if (!shown.empty()) html += figuresTable(shown) + differencesTable(shown);
    for (const Picture& picture : pictures) {
        html += "<h2>" + escaped(picture.title.toStdString()) + "</h2>" + svgText(picture).toStdString();
    }
    for (const Document* document : shown) html += notesOf(*document);
    html += fmt::format("<p><small>Made by foreshard-gui {}.</small></p></body></html>\n", version());
    return QString::fromStdString(html);
}

void writeHtmlReport(const QString& path, const std::vector<const Document*>& shown,
                     const std::vector<Picture>& pictures) {
    QFile file(path);
    const QByteArray text = htmlReport(shown, pictures).toUtf8();
    if (!file.open(QIODevice::WriteOnly) || file.write(text) != text.size()) {
        throw InputError(path.toStdString(), "", "cannot be written");
    }
}

}  // namespace foreshard::gui
