#include "sim/validate/json_validation.hpp"

#include <fmt/format.h>

#include "sim/spec/json_reader.hpp"

namespace foreshard {

namespace {

OrderedJson errors_json(const ErrorSummary& s) {
    return {{"rows", s.rows},
            {"median_abs_pct", s.median_abs_pct},
            {"mean_abs_pct", s.mean_abs_pct},
            {"p90_abs_pct", s.p90_abs_pct},
            {"max_abs_pct", s.max_abs_pct},
            {"bias_pct", s.bias_pct}};
}

OrderedJson points_json(const ErrorSummary& s) {
    return {{"rows", s.rows},
            {"median_abs_points", s.median_abs_pct},
            {"mean_abs_points", s.mean_abs_pct},
            {"p90_abs_points", s.p90_abs_pct},
            {"max_abs_points", s.max_abs_pct},
            {"bias_points", s.bias_pct}};
}

OrderedJson summary_json(const ValidationSummary& summary) {
    OrderedJson memory = OrderedJson::object();
    for (const auto& [kind, errors] : summary.memory) memory[kind] = errors_json(errors);
    OrderedJson json = {{"step_time", errors_json(summary.step_time)},
                        {"memory", memory},
                        {"oom", {{"rows", summary.oom_rows}, {"correct", summary.oom_correct}}}};
    if (summary.bubble.rows > 0) json["bubble"] = points_json(summary.bubble);
    return json;
}

OrderedJson summaries_json(const std::map<std::string, ValidationSummary>& summaries) {
    OrderedJson json = OrderedJson::object();
    for (const auto& [name, summary] : summaries) json[name] = summary_json(summary);
    return json;
}

const char* status_name(ValidationRow::Status status) {
    switch (status) {
        case ValidationRow::Status::ok:
            return "ok";
        case ValidationRow::Status::calibration:
            return "calibration";
        case ValidationRow::Status::skipped:
            return "skipped";
        case ValidationRow::Status::infeasible:
            return "infeasible";
    }
    return "";
}

/// What only runs of foreshard itself have.
void add_own_run(const ValidationRow& row, OrderedJson& json) {
    if (row.comm.empty()) return;
    json["comm"] = row.comm;
    json["axis"] = row.axis;
    if (row.steps > 0) json["steps"] = row.steps;
    if (row.ranks.empty()) return;
    OrderedJson ranks = OrderedJson::array();
    for (const RankPeak& rank : row.ranks) {
        ranks.push_back({{"rank", rank.rank},
                         {"measured_memory_bytes", rank.measured},
                         {"predicted_memory_bytes", rank.predicted}});
    }
    json["ranks"] = std::move(ranks);
}

OrderedJson row_json(const ValidationRow& row) {
    OrderedJson measured = OrderedJson::object();
    OrderedJson predicted = OrderedJson::object();
    OrderedJson error = OrderedJson::object();
    const std::string memory = (row.memory_kind.empty() ? "unknown" : row.memory_kind) + "_memory_bytes";
    if (row.measured_step_s) measured["step_time_s"] = *row.measured_step_s;
    if (row.measured_p10_s) measured["step_time_p10_s"] = *row.measured_p10_s;
    if (row.measured_p90_s) measured["step_time_p90_s"] = *row.measured_p90_s;
    if (row.measured_bubble_ratio) measured["bubble_ratio"] = *row.measured_bubble_ratio;
    if (row.predicted_bubble_ratio) predicted["bubble_ratio"] = *row.predicted_bubble_ratio;
    if (row.measured_memory_bytes) measured[memory] = *row.measured_memory_bytes;
    if (row.measured_oom) measured["oom"] = *row.measured_oom;
    if (row.predicted_step_s) predicted["step_time_s"] = *row.predicted_step_s;
    if (row.predicted_memory_bytes) predicted[memory] = *row.predicted_memory_bytes;
    if (!row.predicted_verdict.empty()) predicted["memory_verdict"] = row.predicted_verdict;
    if (const auto step = row.step_error_pct()) error["step_time"] = *step;
    if (const auto bytes = row.memory_error_pct()) error["memory"] = *bytes;
    OrderedJson json = {{"id", row.id}, {"source", row.source}, {"status", status_name(row.status)}};
    if (!row.reason.empty()) json["reason"] = row.reason;
    if (row.doubted) json["doubted"] = true;
    json["measured"] = measured;
    json["predicted"] = predicted;
    json["error_pct"] = error;
    if (const auto points = row.bubble_error_points()) json["bubble_error_points"] = *points;
    add_own_run(row, json);
    if (!row.assumptions.empty()) json["assumptions"] = row.assumptions;
    return json;
}

}  // namespace

std::string validation_json(const Validation& validation) {
    OrderedJson rows = OrderedJson::array();
    for (const ValidationRow& row : validation.rows) rows.push_back(row_json(row));
    OrderedJson json = {{"schema", "foreshard.validation"}, {"schema_version", "1.1"}};
    json["summary"] = summary_json(validation.summary);
    json["with_doubted"] = summary_json(validation.with_doubted);
    json["by_source"] = summaries_json(validation.by_source);
    if (!validation.by_comm.empty()) json["by_comm"] = summaries_json(validation.by_comm);
    if (!validation.by_axis.empty()) json["by_axis"] = summaries_json(validation.by_axis);
    json["rows"] = rows;
    return json.dump(2) + "\n";
}

std::string record_json(const Validation& validation) {
    OrderedJson sources = OrderedJson::object();
    for (const auto& [source, summary] : validation.by_source) {
        if (summary.step_time.rows == 0) continue;
        // Two decimals: the record is read by people, and compared with a tolerance.
        const auto rounded = [](double value) { return std::stod(fmt::format("{:.2f}", value)); };
        sources[source] = {{"rows", summary.step_time.rows},
                           {"median_abs_pct", rounded(summary.step_time.median_abs_pct)},
                           {"p90_abs_pct", rounded(summary.step_time.p90_abs_pct)}};
    }
    return OrderedJson{{"schema", "foreshard.validation-record"}, {"schema_version", "1.0"}, {"sources", sources}}.dump(
               2) +
           "\n";
}

std::vector<std::string> regressions(const Validation& validation, const std::string& record_file, double points) {
    const Json record = read_json_file(record_file);
    JsonObject root(record, record_file);
    std::vector<std::string> worse;
    for (const auto& [source, recorded] : record.at("sources").items()) {
        const auto found = validation.by_source.find(source);
        const int rows = found != validation.by_source.end() ? found->second.step_time.rows : 0;
        if (rows < recorded.at("rows").get<int>()) {
            worse.push_back(
                fmt::format("{}: {} rows are predicted, {} were", source, rows, recorded.at("rows").get<int>()));
            if (rows == 0) continue;
        }
        const double before = recorded.at("median_abs_pct").get<double>();
        const double now = found->second.step_time.median_abs_pct;
        if (now > before + points) {
            worse.push_back(fmt::format("{}: the median error grew from {:.2f} % to {:.2f} %", source, before, now));
        }
    }
    return worse;
}

}  // namespace foreshard
