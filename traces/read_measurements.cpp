#include "traces/read_measurements.hpp"

#include <fmt/format.h>

#include "sim/error.hpp"
#include "sim/spec/text_file.hpp"
#include "traces/measurement_readers.hpp"

namespace foreshard {

namespace {

constexpr std::size_t measurements_limit_bytes = std::size_t{256} << 20;

void read_json(const std::string& file, const std::string& text, Measurements& into) {
    const Json document = parse_json(text, file, measurements_limit_bytes);
    const std::string schema = document.is_object() ? document.value("schema", std::string()) : std::string();
    if (is_nccl_tests_json(document)) {
        into.inputs.push_back({.file = file, .kind = "nccl-tests"});
        return read_nccl_tests_json(document, file, into);
    }
    into.inputs.push_back({.file = file, .kind = schema});
    if (schema == "foreshard.microbench") return read_microbench(document, file, into);
    if (schema == "foreshard.report") return read_measured_report(document, file, into);
    throw UnreadableFile(file, "/schema",
                         fmt::format("'{}' holds no measured times; wanted: foreshard.microbench (foreshard-run "
                                     "--calibrate), or foreshard.report of foreshard-run",
                                     schema));
}

}  // namespace

std::string reason_against_time(double time_us) {
    constexpr double longest_us = 1e12;
    if (!(time_us > 0.0)) return "a time must be positive";
    return time_us < longest_us ? "" : "a time of more than eleven days";
}

void reject_value(Measurements& into, int row, const std::string& what, double time_us, const std::string& reason) {
    into.rejected.push_back({into.inputs.back().file, row, what, time_us, 0.0, reason});
}

void agree_on(const std::string& file, const std::string& key, std::string& known, const std::string& found) {
    if (known.empty() || found.empty() || known == found) {
        if (known.empty()) known = found;
        return;
    }
    throw InputError(
        file, "", fmt::format("{} is {}, but an input before it has {}: calibrate each by itself", key, found, known));
}

void read_measurements(const std::string& file, Measurements& into) {
    const std::string text = read_text_file(file, measurements_limit_bytes);
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    if (first != std::string::npos && text[first] == '{') return read_json(file, text, into);
    if (is_nccl_tests_text(text)) {
        into.inputs.push_back({.file = file, .kind = "nccl-tests"});
        return read_nccl_tests_text(text, file, into);
    }
    throw UnreadableFile(
        file, "",
        "holds no measured times: it is neither JSON nor a table of nccl-tests (with a line that names "
        "the columns size, time, algbw, busbw)");
}

}  // namespace foreshard
