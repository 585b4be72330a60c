#include "sim/fit/kernel_csv.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <initializer_list>
#include <optional>
#include <set>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/error.hpp"
#include "sim/spec/text_file.hpp"

namespace foreshard {

namespace {

constexpr std::size_t measured_file_limit_bytes = std::size_t{64} << 20;
constexpr double micro_to_tera = 1e6;  ///< FLOPs per microsecond in a TFLOP/s

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    while (true) {
        const std::size_t end = text.find(separator);
        std::string_view part = text.substr(0, end);
        while (!part.empty() && (part.back() == '\r' || part.back() == ' ')) part.remove_suffix(1);
        while (!part.empty() && part.front() == ' ') part.remove_prefix(1);
        parts.push_back(part);
        if (end == std::string_view::npos) return parts;
        text.remove_prefix(end + 1);
    }
}

/// A CSV file of numbers.
class NumberTable {
public:
    explicit NumberTable(const std::string& path)
        : path_(path), text_(read_text_file(path, measured_file_limit_bytes)) {
        int line = 0;
        for (const std::string_view row : split(text_, '\n')) {
            ++line;
            if (row.empty()) continue;
            if (row.front() == '#') {
                comment_ += (comment_.empty() ? "" : " ") + std::string(row.substr(row.find_first_not_of("# ")));
            } else if (names_.empty()) {
                names_ = split(row, ',');
            } else {
                add_row(row, line);
            }
        }
    }

    std::size_t rows() const { return names_.empty() ? 0 : values_.size() / names_.size(); }

    /// @throws InputError when the number is not positive
    double at(std::size_t row, std::size_t column) const {
        const double value = values_[row * names_.size() + column];
        if (std::isfinite(value) && value > 0.0) return value;
        throw InputError(path_, fmt::format("line {}", lines_[row]),
                         fmt::format("{} {} must be greater than 0", names_[column], value));
    }

    std::optional<std::size_t> find(std::string_view name) const {
        const auto found = std::find(names_.begin(), names_.end(), name);
        if (found == names_.end()) return std::nullopt;
        return static_cast<std::size_t>(found - names_.begin());
    }

    std::size_t column(std::string_view name) const {
        const std::optional<std::size_t> found = find(name);
        if (found) return *found;
        throw InputError(path_, "", fmt::format("needs a column '{}'; it has: {}", name, fmt::join(names_, ", ")));
    }

    std::string source() const { return comment_.empty() ? path_.substr(path_.rfind('/') + 1) : comment_; }

private:
    void add_row(std::string_view row, int line) {
        const std::vector<std::string_view> cells = split(row, ',');
        if (cells.size() != names_.size()) {
            throw InputError(path_, fmt::format("line {}", line),
                             fmt::format("has {} cells, the header has {}", cells.size(), names_.size()));
        }
        for (const std::string_view cell : cells) values_.push_back(number(cell, line));
        lines_.push_back(line);
    }

    double number(std::string_view cell, int line) const {
        double value = 0.0;
        const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
        if (error == std::errc() && end == cell.data() + cell.size()) return value;
        throw InputError(path_, fmt::format("line {}", line), fmt::format("'{}' must be a number", cell));
    }

    std::string path_;
    std::string text_;
    std::string comment_;
    std::vector<std::string_view> names_;
    std::vector<double> values_;
    std::vector<int> lines_;  ///< of the rows, for messages
};

/// The rate of a row, from its time where there is one.
class Rate {
public:
    Rate(const NumberTable& table, std::string_view rate_column) : table_(table), time_(table.find("time_us")) {
        if (!time_) rate_ = table.column(rate_column);
    }
    double tflops(std::size_t row, double flops) const {
        return time_ ? flops / table_.at(row, *time_) / micro_to_tera : table_.at(row, rate_);
    }

private:
    const NumberTable& table_;
    std::optional<std::size_t> time_;
    std::size_t rate_ = 0;
};

/// Training runs large products, so those count more: A100's are then within 1.4 % at the median instead of 2.8 %.
constexpr double large_from = 512.0;
constexpr double large_weight = 4.0;
constexpr double least_rows = 16.0;
constexpr double least_sequence = 64.0;

bool has_columns(const std::vector<std::string_view>& names, std::initializer_list<std::string_view> wanted) {
    return std::all_of(wanted.begin(), wanted.end(), [&](std::string_view name) {
        return std::find(names.begin(), names.end(), name) != names.end();
    });
}

}  // namespace

KernelCsv kernel_csv_kind(const std::string& path) {
    const std::string text = read_text_file(path, measured_file_limit_bytes);
    for (std::string_view rest = text; !rest.empty();) {
        const std::size_t end = std::min(rest.find('\n'), rest.size());
        const std::string_view line = rest.substr(0, end);
        rest.remove_prefix(std::min(end + 1, rest.size()));
        if (line.empty() || line == "\r" || line.front() == '#') continue;
        const std::vector<std::string_view> names = split(line, ',');
        if (has_columns(names, {"m", "n", "k"})) return KernelCsv::gemm;
        if (has_columns(names, {"batch", "seq", "heads", "head_dim"})) return KernelCsv::attention;
        break;
    }
    return KernelCsv::none;
}

KernelMeasurements read_gemm_csv(const std::string& path) {
    const NumberTable table(path);
    const std::size_t columns[3] = {table.column("m"), table.column("n"), table.column("k")};
    const Rate rate(table, "tflops");
    std::set<double> heights;
    for (std::size_t row = 0; row < table.rows(); ++row) heights.insert(table.at(row, columns[0]));
    heights.erase(heights.begin(), heights.lower_bound(least_rows));
    KernelMeasurements out{table.source(), {}};
    for (std::size_t row = 0; row < table.rows(); ++row) {
        RatePoint point;
        for (std::size_t axis = 0; axis < 3; ++axis) point.at[axis] = table.at(row, columns[axis]);
        const bool probe = heights.contains(point.at[0] - 1.0);
        if (point.at[0] < least_rows || probe) continue;
        point.tflops = rate.tflops(row, 2.0 * point.at[0] * point.at[1] * point.at[2]);
        const bool large = *std::min_element(point.at.begin(), point.at.end()) >= large_from;
        point.weight = large ? large_weight : 1.0;
        out.points.push_back(point);
    }
    return out;
}

KernelMeasurements read_attention_csv(const std::string& path) {
    const NumberTable table(path);
    const std::size_t batch = table.column("batch");
    const std::size_t heads = table.column("heads");
    const std::size_t sequence = table.column("seq");
    const std::size_t head_dim = table.column("head_dim");
    const Rate rate(table, "tflops_causal");
    KernelMeasurements out{table.source(), {}};
    for (std::size_t row = 0; row < table.rows(); ++row) {
        const double s = table.at(row, sequence);
        if (s < least_sequence) continue;
        const double products = table.at(row, batch) * table.at(row, heads);
        const double d = table.at(row, head_dim);
        out.points.push_back({{s, products, d}, rate.tflops(row, 2.0 * products * s * s * d), 1.0});
    }
    return out;
}

}  // namespace foreshard
