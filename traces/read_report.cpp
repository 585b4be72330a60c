#include "traces/read_report.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "sim/spec/json_settings.hpp"
#include "sim/spec/json_specs.hpp"
#include "traces/json_figures.hpp"

namespace foreshard {

namespace {

/// Above it sums of times would leave the range of picoseconds.
constexpr double longest_ms = 1e9;

Picoseconds read_time(JsonObject& object, const std::string& key) {
    const double ms = object.optional<double>(key, Range::not_negative).value_or(0.0);
    if (ms > longest_ms) object.fail(key, fmt::format("{} ms is more than eleven days", ms));
    return std::llround(ms * 1e9);
}

RankAccount read_account(JsonObject object) {
    RankAccount account{};
    for (int i = 0; i < account_count; ++i) {
        account[static_cast<std::size_t>(i)] = read_time(object, std::string(to_string(static_cast<Account>(i))));
    }
    return account;
}

RankMemory read_memory(JsonObject object) {
    const auto bytes = [&](const char* key) {
        return object.optional<std::int64_t>(key, Range::not_negative).value_or(0);
    };
    RankMemory memory;
    memory.states.weights = bytes("weights");
    memory.states.gradients = bytes("gradients");
    memory.states.optimizer = bytes("optimizer");
    memory.states.moments = bytes("moments");
    memory.activations = bytes("activations");
    memory.buffers = bytes("buffers");
    memory.gathered = bytes("gathered");
    memory.runtime = bytes("runtime");
    memory.peak = bytes("peak");
    memory.reserved = bytes("reserved");
    memory.device = bytes("device");
    return memory;
}

void read_peak(JsonObject object, RankMemory& memory) {
    memory.peak_time = read_time(object, "time_ms");
    if (!object.has("live")) return;
    for (JsonObject& set : object.objects("live")) {
        memory.live.push_back({set.optional<int>("stage").value_or(0), set.optional<int>("microbatches").value_or(0),
                               set.optional<std::int64_t>("bytes").value_or(0)});
    }
}

std::vector<int> read_stages(JsonObject& object) {
    std::vector<int> stages;
    if (!object.has("stages")) return stages;
    const Json& list = object.at("stages");
    if (!list.is_array()) object.fail("stages", "must be a list of stages");
    for (const Json& stage : list) {
        if (!stage.is_number_integer()) object.fail("stages", "every stage must be a whole number");
        stages.push_back(stage.get<int>());
    }
    return stages;
}

RankReport read_rank(JsonObject& object, int index) {
    RankReport rank;
    rank.rank = index;
    rank.pp_rank = object.optional<int>("pp_rank", Range::not_negative).value_or(index);
    rank.replica = object.optional<int>("dp_rank", Range::not_negative).value_or(-1);
    rank.ranks_represented = object.optional<int>("ranks_represented", Range::positive).value_or(1);
    rank.stages = read_stages(object);
    rank.layers = object.optional<int>("layers", Range::not_negative).value_or(0);
    rank.account = read_account(object.object("time_ms"));
    if (auto memory = object.optional_object("memory_bytes")) rank.memory = read_memory(*memory);
    if (auto peak = object.optional_object("memory_peak")) read_peak(*peak, rank.memory);
    return rank;
}

void read_texts(JsonObject& object, const std::string& key, std::vector<std::string>& into) {
    if (!object.has(key)) return;
    const Json& list = object.at(key);
    if (!list.is_array()) object.fail(key, "must be a list of texts");
    for (const Json& text : list) {
        if (!text.is_string()) object.fail(key, "must be a list of texts");
        into.push_back(text.get<std::string>());
    }
}

/// Measured times do not sum exactly: what lacks is idle time that nobody named.
void fill_up(RankReport& rank, Picoseconds step, const JsonObject& object, std::vector<std::string>& notes) {
    const Picoseconds sum = std::accumulate(rank.account.begin(), rank.account.end(), Picoseconds{0});
    if (sum == step) return;
    Picoseconds& bubble = rank.account[static_cast<std::size_t>(Account::bubble)];
    bubble += step - sum;
    if (bubble < 0) {
        object.fail("time_ms", fmt::format("the times sum to {} ms, more than the step of {} ms", to_milliseconds(sum),
                                           to_milliseconds(step)));
    }
    notes.push_back(
        fmt::format("pp rank {}: its times sum to {:.3f} ms, the step takes {:.3f} ms; the difference is "
                    "counted as bubble",
                    rank.pp_rank, to_milliseconds(sum), to_milliseconds(step)));
}

/// Without starts and ends they are durations only, which make no timeline.
std::vector<MeasuredTask> read_tasks(JsonObject measured) {
    std::vector<MeasuredTask> tasks;
    if (!measured.has("tasks")) return tasks;
    for (JsonObject& object : measured.objects("tasks")) {
        if (!object.has("start_ms")) return {};
        MeasuredTask& task = tasks.emplace_back();
        task.pp_rank = object.required<int>("pp_rank", Range::not_negative);
        task.stream = object.required<std::string>("stream");
        task.task = object.required<std::string>("task");
        task.step = object.required<int>("step", Range::not_negative);
        task.start = read_time(object, "start_ms");
        task.end = read_time(object, "end_ms");
        if (task.end < task.start) object.fail("end_ms", "is before start_ms");
    }
    return tasks;
}

ReadReport read(const Json& json, const std::string& name) {
    JsonObject root = open_document(json, "foreshard.report", name);
    ReadReport report;
    report.name = name;
    if (auto provenance = root.optional_object("provenance")) {
        report.tool_version = provenance->optional<std::string>("tool_version").value_or("");
        read_texts(*provenance, "warnings", report.notes);
        read_texts(*provenance, "assumptions", report.notes);
    }
    report.job = read_job_request(root.at("job"), name + " /job");
    JsonObject summary = root.object("summary");
    const Picoseconds step = read_time(summary, "step_time_ms");
    summary.required<double>("step_time_ms", Range::positive);
    report.figures = figures_of(root.at("summary"));
    if (root.has("measured")) {
        report.source = RunSource::measured;
        report.tasks = read_tasks(root.object("measured"));
        report.figures.merge(figures_of(root.at("measured"), "measured."));
    }
    for (JsonObject& object : root.objects("ranks")) {
        report.ranks.push_back(read_rank(object, static_cast<int>(report.ranks.size())));
        fill_up(report.ranks.back(), step, object, report.notes);
    }
    return report;
}

SpanRank place_of(const RankReport& rank) {
    const std::string replica = rank.replica >= 0 ? fmt::format(" dp {}", rank.replica) : "";
    return {rank.rank, rank.pp_rank, rank.replica, fmt::format("PP{}{}", rank.pp_rank, replica)};
}

}  // namespace

ReadReport parse_report(const std::string& name, const std::string& text) {
    return read(parse_json(text, name), name);
}

ReadReport read_report(const std::string& path) {
    return read(read_json_file(path), path);
}

Run run_of(const ReadReport& report) {
    Run run;
    run.name = report.name;
    run.source = report.source;
    run.step_time = std::llround(report.figures.at("step_time_ms") * 1e9);
    run.figures = report.figures;
    for (const RankReport& rank : report.ranks) {
        run.spans.ranks.push_back(place_of(rank));
        run.accounts.push_back(rank.account);
        run.memory.push_back(rank.memory);
    }
    const auto capacity = report.figures.find("memory_capacity_bytes");
    if (capacity != report.figures.end() && std::abs(capacity->second) < 9e18) {
        run.memory_capacity = static_cast<ByteCount>(capacity->second);
    }
    const Job job = resolve(report.job);
    run.settings = job_settings(job);
    run.notes = report.notes;
    run.provenance = fmt::format("{}: {} report of foreshard {}", report.name, to_string(report.source),
                                 report.tool_version.empty() ? "?" : report.tool_version);
    return run;
}

std::vector<std::string> mismatches(const ReadReport& report, const std::map<std::string, double>& simulated) {
    std::vector<std::string> lines;
    if (report.source == RunSource::measured) return lines;
    for (const auto& [key, value] : report.figures) {
        const auto found = simulated.find(key);
        if (found == simulated.end()) continue;
        const double scale = std::max(std::abs(value), std::abs(found->second));
        if (std::abs(value - found->second) <= 1e-9 * scale) continue;
        lines.push_back(fmt::format("{} is {} in the report, {} when simulated now", key, value, found->second));
    }
    return lines;
}

}  // namespace foreshard
