#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <sstream>

#include <fmt/format.h>

#include "sim/error.hpp"
#include "traces/measurement_readers.hpp"
#include "traces/nccl_table.hpp"

/// Tables that nccl-tests print (src/common.cu, util.cu; all versions): '#' lines with ranks and columns, a row a size.
namespace foreshard {

namespace {

using Words = std::vector<std::string>;

Words words_of(const std::string& line) {
    std::istringstream in(line);
    Words words;
    std::string word;
    while (in >> word) words.push_back(word);
    return words;
}

bool is_whole(const std::string& word) {
    return !word.empty() && std::all_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::optional<double> number_in(const std::string& word) {
    double value = 0.0;
    const char* end = word.data() + word.size();
    const auto [stop, error] = std::from_chars(word.data(), end, value);
    if (error != std::errc() || stop != end || !std::isfinite(value)) return std::nullopt;
    return value;
}

/// What launchers put before each line: mpirun --tag-output "[1,0]<stdout>:", srun -l "0: ".
std::string without_tag(const std::string& line) {
    const std::size_t tag = line.find(">:");
    if (!line.empty() && line[0] == '[' && tag != std::string::npos && tag < 40) return line.substr(tag + 2);
    const std::size_t colon = line.find(": ");
    if (colon != std::string::npos && is_whole(line.substr(line[0] == ' ' ? line.find_first_not_of(' ') : 0, colon))) {
        return line.substr(colon + 2);
    }
    return line;
}

/// Places of columns, counted from the row's end, since older versions leave redop and root out of rows.
struct Columns {
    std::size_t times = 0;    ///< columns from the first "time" on
    std::size_t second = 0;   ///< from the second one on; 0: there is none
    std::size_t leading = 0;  ///< columns before
    std::optional<std::size_t> redop;
};

std::optional<Columns> columns_of(const Words& words) {
    const auto time = std::find(words.begin(), words.end(), "time");
    const bool sizes = std::any_of(words.begin(), words.end(),
                                   [](const std::string& word) { return word == "size" || word == "bytes"; });
    if (time == words.end() || !sizes) return std::nullopt;
    Columns columns;
    columns.times = static_cast<std::size_t>(words.end() - time);
    const auto second = std::find(time + 1, words.end(), "time");
    columns.second = static_cast<std::size_t>(words.end() - second);
    columns.leading = static_cast<std::size_t>(time - words.begin());
    const auto redop =
        std::find_if(words.begin(), time, [](const std::string& w) { return w == "redop" || w == "op"; });
    if (redop != time) columns.redop = static_cast<std::size_t>(redop - words.begin());
    return columns;
}

class NcclTextReader {
public:
    NcclTextReader(const std::string& text, const std::string& file, Measurements& into)
        : in_(text), file_(file), into_(into) {}

    void read();

private:
    void take_comment(const Words& words, const std::string& line);
    void take_row(Words words);
    void close_table();
    std::optional<NcclRow> row_of(const Words& words, std::size_t first) const;

    std::istringstream in_;
    const std::string& file_;
    Measurements& into_;
    NcclTable table_;
    std::optional<Columns> columns_;
    std::string command_;  ///< last line that mentions a program of nccl-tests
    int line_ = 0;
    int rows_ = 0;
};

/// The number of a triple time, algbw, busbw, #wrong that starts at a place.
std::optional<NcclRow> NcclTextReader::row_of(const Words& words, std::size_t first) const {
    NcclRow row;
    row.row = line_;
    const auto time = number_in(words[first]);
    const auto algbw = number_in(words[first + 1]);
    const auto busbw = number_in(words[first + 2]);
    const auto bytes = number_in(words.front());
    if (!time || !algbw || !busbw || !bytes) return std::nullopt;
    row.bytes = *bytes;
    row.time_us = *time;
    row.algbw = *algbw;
    row.busbw = *busbw;
    // "N/A": not checked. Before the number of wrong values there was the largest error, which is no fault.
    const std::string& wrong = words[first + 3];
    if (is_whole(wrong)) row.wrong = *number_in(wrong);
    if (columns_->redop && *columns_->redop < first) row.redop = words[*columns_->redop];
    return row;
}

void NcclTextReader::take_row(Words words) {
    constexpr std::size_t triple = 4;
    // Behind the columns there may be the time of day.
    while (!words.empty() && words.back().find(':') != std::string::npos) words.pop_back();
    const bool dated =
        words.size() > columns_->leading + columns_->times && words.back().find('-') != std::string::npos;
    if (dated) words.pop_back();
    const std::size_t least = columns_->times + 2;
    std::optional<NcclRow> row;
    if (words.size() >= least && words.size() <= columns_->leading + columns_->times) {
        row = row_of(words, words.size() - columns_->times);
        if (!row && columns_->second >= triple) row = row_of(words, words.size() - columns_->second);
    }
    if (row) {
        table_.rows.push_back(*row);
    } else {
        reject_value(into_, line_, "nccl-tests", 0.0, "the line does not have the columns of its table");
    }
    ++rows_;
}

void NcclTextReader::close_table() {
    if (table_.test.empty()) table_.test = command_;
    add_nccl_table(table_, file_, into_);
    table_ = {};
    columns_.reset();
}

void NcclTextReader::take_comment(const Words& words, const std::string& line) {
    const auto said = [&](const char* text) { return line.find(text) != std::string::npos; };
    if (said("nThread") || said("Collective test starting:")) {
        if (!table_.rows.empty()) close_table();
        if (said("Collective test starting:")) table_.test = words.back();
        return;
    }
    if (words.size() > 1 && words[0] == "Rank" && is_whole(words[1])) {
        if (!table_.rows.empty()) close_table();
        ++table_.ranks;
        const auto on = std::find(words.begin(), words.end(), "on");
        if (on != words.end() && on + 1 != words.end()) table_.hosts.insert(*(on + 1));
        return;
    }
    if (const auto found = columns_of(words)) columns_ = found;
}

void NcclTextReader::read() {
    std::string line;
    while (std::getline(in_, line)) {
        ++line_;
        line = without_tag(line);
        const std::size_t first = line.find_first_not_of(" \t\r");
        if (first == std::string::npos) continue;
        if (line[first] == '#') {
            const std::string rest = line.substr(first + 1);
            take_comment(words_of(rest), rest);
            continue;
        }
        Words words = words_of(line);
        if (line.find("_perf") != std::string::npos) command_ = line;
        if (!is_whole(words.front())) continue;  // what others log
        if (!columns_) {
            throw InputError(file_, fmt::format("line {}", line_),
                             "a row of numbers before the line that names columns");
        }
        take_row(std::move(words));
    }
    close_table();
    into_.inputs.back().rows = rows_;
    if (rows_ == 0) throw InputError(file_, "", "holds no table of nccl-tests: no row with a size and times");
}

}  // namespace

bool is_nccl_tests_text(const std::string& text) {
    return text.find("busbw") != std::string::npos && text.find('#') != std::string::npos;
}

void read_nccl_tests_text(const std::string& text, const std::string& file, Measurements& into) {
    NcclTextReader(text, file, into).read();
}

}  // namespace foreshard
