#include "sim/validate/scatter_plot.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

namespace foreshard {

namespace {

constexpr double picture_width = 720.0;
constexpr double picture_height = 720.0;
constexpr double left_margin = 76.0;
constexpr double right_margin = 16.0;
constexpr double top_margin = 40.0;
constexpr double bottom_margin = 108.0;

/// Colours of Okabe and Ito, lighter in the dark; CSS variables, so that one picture serves both.
constexpr const char* style = R"(<style>
.fs{--ink:#1b1b1f;--page:#ffffff;--grid:#d9d9de;--quiet:#6b6b73;--threads:#0072b2;--mpi:#d55e00;--other:#009e73}
@media (prefers-color-scheme:dark){.fs{--ink:#e8e8ec;--page:#17171a;--grid:#3a3a41;--quiet:#a0a0a8;--threads:#56b4e9;--mpi:#e69f00;--other:#2fc79a}}
.fs text{font:13px system-ui,sans-serif;fill:var(--ink)}
.fs .quiet{fill:var(--quiet)}
.fs .number{font-size:11px}
.fs .grid{stroke:var(--grid);stroke-width:1}
.fs .line{stroke:var(--ink);stroke-width:1.2}
.fs .wide{fill:var(--grid);opacity:.45}
.fs .narrow{fill:var(--quiet);opacity:.25}
.fs .page{fill:var(--page)}
.fs .threads{fill:var(--threads);stroke:var(--threads)}
.fs .mpi{fill:var(--mpi);stroke:var(--mpi)}
.fs .other{fill:var(--other);stroke:var(--other)}
.fs .calibration{fill:none;stroke-width:1.8}
</style>
)";

std::string escaped(const std::string& text) {
    std::string out;
    for (const char c : text) {
        if (c == '&') {
            out += "&amp;";
        } else if (c == '<') {
            out += "&lt;";
        } else if (c == '>') {
            out += "&gt;";
        } else if (c == '"') {
            out += "&quot;";
        } else {
            out += c;
        }
    }
    return out;
}

bool is_drawn(const ValidationRow& row) {
    return row.measured_step_s && row.predicted_step_s && *row.measured_step_s > 0.0 && *row.predicted_step_s > 0.0;
}

std::string colour_of(const ValidationRow& row) {
    return row.comm == "threads" || row.comm == "mpi" ? row.comm : "other";
}

std::string title_of(const ValidationRow& row, std::size_t number) {
    std::string text =
        fmt::format("{}. {} ({}): measured {:.4g} ms, predicted {:.4g} ms, {:+.1f} %", number, row.id, row.comm,
                    1e3 * *row.measured_step_s, 1e3 * *row.predicted_step_s, row.step_error_pct().value_or(0.0));
    if (row.status == ValidationRow::Status::calibration) text += "; calibrated on";
    return text;
}

/// Milliseconds to places on both axes, which have one range.
class Scale {
public:
    explicit Scale(const Validation& validation) {
        double least = 1e300;
        double most = 0.0;
        for (const ValidationRow& row : validation.rows) {
            if (!is_drawn(row)) continue;
            least = std::min({least, 1e3 * *row.measured_step_s, 1e3 * *row.predicted_step_s});
            most = std::max({most, 1e3 * *row.measured_step_s, 1e3 * *row.predicted_step_s});
        }
        if (most <= 0.0) return;
        low_ = std::log10(least / 1.25);
        high_ = std::log10(most * 1.25);
    }
    double x(double ms) const { return left_margin + share(ms) * (picture_width - left_margin - right_margin); }
    double y(double ms) const {
        return picture_height - bottom_margin - share(ms) * (picture_height - top_margin - bottom_margin);
    }
    double low() const { return std::pow(10.0, low_); }
    double high() const { return std::pow(10.0, high_); }

    /// 1, 2 and 5 times powers of ten.
    std::vector<double> ticks() const {
        constexpr std::array<double, 3> steps = {1.0, 2.0, 5.0};
        std::vector<double> all;
        for (int power = static_cast<int>(std::floor(low_)); power <= static_cast<int>(std::floor(high_)); ++power) {
            for (const double step : steps) {
                const double ms = step * std::pow(10.0, power);
                if (ms >= low() && ms <= high()) all.push_back(ms);
            }
        }
        return all;
    }

private:
    double share(double ms) const { return std::clamp((std::log10(ms) - low_) / (high_ - low_), 0.0, 1.0); }

    double low_ = 0.0;
    double high_ = 3.0;
};

/// What lies within `percent` of the measured time.
std::string band(const Scale& scale, double percent, const char* kind) {
    const double up = 1.0 + percent / 100.0;
    const double down = 1.0 - percent / 100.0;
    const double a = scale.low();
    const double b = scale.high();
    // Where a border leaves the square, along its edge.
    return fmt::format(
        "<polygon class=\"{}\" points=\"{:.1f},{:.1f} {:.1f},{:.1f} {:.1f},{:.1f} {:.1f},{:.1f} {:.1f},{:.1f} "
        "{:.1f},{:.1f}\"/>\n",
        kind, scale.x(a), scale.y(a), scale.x(a), scale.y(a * up), scale.x(b / up), scale.y(b), scale.x(b), scale.y(b),
        scale.x(b), scale.y(b * down), scale.x(a / down), scale.y(a));
}

std::string axes(const Scale& scale) {
    std::string text;
    const double base = picture_height - bottom_margin;
    for (const double ms : scale.ticks()) {
        const double x = scale.x(ms);
        const double y = scale.y(ms);
        text += fmt::format("<path class=\"grid\" d=\"M{:.1f} {}V{}M{} {:.1f}H{}\"/>\n", x, top_margin, base,
                            left_margin, y, picture_width - right_margin);
        text += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{:g}</text>\n", x, base + 18, ms);
        text +=
            fmt::format("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{:g}</text>\n", left_margin - 8, y + 4, ms);
    }
    text += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">measured step time, ms</text>\n",
                        (left_margin + picture_width - right_margin) / 2, base + 40);
    const double middle = (top_margin + base) / 2;
    text += fmt::format(
        "<text x=\"18\" y=\"{0}\" text-anchor=\"middle\" transform=\"rotate(-90 18 {0})\">predicted step time, "
        "ms</text>\n",
        middle);
    return text;
}

std::string point(const Scale& scale, const ValidationRow& row, std::size_t number) {
    const double x = scale.x(1e3 * *row.measured_step_s);
    const double y = scale.y(1e3 * *row.predicted_step_s);
    const bool fitted = row.status == ValidationRow::Status::calibration;
    // Numbers stand on both sides in turns, so that neighbours hide each other less.
    const bool above = number % 2 == 0;
    return fmt::format(
        "<g><title>{}</title><circle class=\"{}{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\"/><text class=\"number\" "
        "x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text></g>\n",
        escaped(title_of(row, number)), colour_of(row), fitted ? " calibration" : "", x, y, x + (above ? -7 : 7),
        y + (above ? -5 : 13), above ? "end" : "start", number);
}

std::string legend(const Validation& validation) {
    std::vector<std::string> comms;
    for (const ValidationRow& row : validation.rows) {
        const bool known = std::find(comms.begin(), comms.end(), row.comm) != comms.end();
        if (is_drawn(row) && !known) comms.push_back(row.comm);
    }
    std::string text;
    double x = left_margin;
    const double y = picture_height - 44;
    for (const std::string& comm : comms) {
        const std::string colour = comm == "threads" || comm == "mpi" ? comm : "other";
        text += fmt::format("<circle class=\"{}\" cx=\"{}\" cy=\"{}\" r=\"5\"/><text x=\"{}\" y=\"{}\">{}</text>\n",
                            colour, x + 5, y, x + 16, y + 4, escaped(comm));
        x += 100;
    }
    text += fmt::format(
        "<circle class=\"threads calibration\" cx=\"{}\" cy=\"{}\" r=\"5\"/><text x=\"{}\" y=\"{}\">calibrated "
        "on</text>\n",
        x + 5, y, x + 16, y + 4);
    const ErrorSummary& errors = validation.summary.step_time;
    return text + fmt::format(
                      "<text class=\"quiet\" x=\"{}\" y=\"{}\">Bands: 5 and 15 %. Errors of the {} plans not "
                      "calibrated on: median {:.1f} %, worst {:.1f} %.</text>\n",
                      left_margin, picture_height - 16, errors.rows, errors.median_abs_pct, errors.max_abs_pct);
}

std::string cell(const std::optional<double>& value, const char* format, double scale = 1.0) {
    return value ? fmt::format(fmt::runtime(format), *value * scale) : "";
}

std::string table_row(const ValidationRow& row, std::size_t number) {
    const bool fitted = row.status == ValidationRow::Status::calibration;
    std::string text = fmt::format(R"(<tr><td>{}</td><td class="name">{}</td><td class="name">{}</td>)", number,
                                   escaped(row.id), escaped(row.comm));
    if (!row.measured_step_s) return text + fmt::format("<td colspan=\"8\">{}</td></tr>\n", escaped(row.reason));
    for (const std::string& value :
         {cell(row.measured_step_s, "{:.1f}", 1e3), cell(row.predicted_step_s, "{:.1f}", 1e3),
          cell(row.step_error_pct(), "{:+.1f}"), cell(row.measured_bubble_ratio, "{:.1f}", 1e2),
          cell(row.predicted_bubble_ratio, "{:.1f}", 1e2), cell(row.bubble_error_points(), "{:+.1f}"),
          cell(row.memory_error_pct(), "{:+.2f}")}) {
        text += "<td>" + value + "</td>";
    }
    return text + fmt::format("<td class=\"name\">{}</td></tr>\n", fitted ? "calibrated on" : "");
}

constexpr const char* page_style = R"(<style>
body{font:14px system-ui,sans-serif;color:#1b1b1f;background:#fff;margin:24px;max-width:1200px}
svg{max-width:100%;height:auto}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}
th,td{padding:3px 10px;text-align:right;border-bottom:1px solid #d9d9de}
th.name,td.name{text-align:left}
@media (prefers-color-scheme:dark){body{color:#e8e8ec;background:#17171a}th,td{border-color:#3a3a41}}
</style>
)";

}  // namespace

std::string scatter_svg(const Validation& validation) {
    const Scale scale(validation);
    std::string text = fmt::format(
        "<svg class=\"fs\" xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
        "role=\"img\">\n<title>Predicted against measured step time</title>\n{2}",
        picture_width, picture_height, style);
    text += fmt::format("<rect class=\"page\" width=\"{}\" height=\"{}\"/>\n", picture_width, picture_height);
    text += fmt::format("<text x=\"{}\" y=\"24\">Step time, predicted against measured</text>\n", left_margin);
    text += band(scale, 15.0, "wide") + band(scale, 5.0, "narrow") + axes(scale);
    text += fmt::format("<path class=\"line\" d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\"/>\n", scale.x(scale.low()),
                        scale.y(scale.low()), scale.x(scale.high()), scale.y(scale.high()));
    for (std::size_t i = 0; i < validation.rows.size(); ++i) {
        if (is_drawn(validation.rows[i])) text += point(scale, validation.rows[i], i + 1);
    }
    return text + legend(validation) + "</svg>\n";
}

std::string scatter_html(const Validation& validation) {
    std::string text =
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"color-scheme\" "
        "content=\"light dark\">\n<title>foreshard verify</title>\n";
    text += page_style;
    text += "</head><body>\n<h1>Predicted against measured</h1>\n" + scatter_svg(validation);
    text +=
        "<table>\n<tr><th></th><th class=\"name\">plan</th><th class=\"name\">comm</th><th>step, ms<br>measured</th>"
        "<th>step, ms<br>predicted</th><th>error, %</th><th>bubble, %<br>measured</th><th>bubble, %<br>predicted</th>"
        "<th>error, points</th><th>memory<br>error, %</th><th class=\"name\"></th></tr>\n";
    for (std::size_t i = 0; i < validation.rows.size(); ++i) text += table_row(validation.rows[i], i + 1);
    return text + "</table>\n</body></html>\n";
}

}  // namespace foreshard
