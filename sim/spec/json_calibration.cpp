#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "sim/prefixes.hpp"
#include "sim/spec/catalogue.hpp"
#include "sim/spec/json_specs.hpp"
#include "sim/spec/json_text.hpp"

/// foreshard.calibration.
namespace foreshard {

namespace {

std::vector<double> read_curve(JsonObject& object, const std::string& key) {
    const Json& value = object.at(key);
    const bool positive =
        value.is_array() && value.size() >= 2 &&
        std::all_of(value.begin(), value.end(), [](const Json& n) { return n.is_number() && n.get<double>() > 0.0; });
    if (!positive) object.fail(key, "must be an array of two or more numbers greater than 0");
    return value.get<std::vector<double>>();
}

std::vector<OpLaw::Point> read_points(JsonObject& object, const std::string& amount) {
    const std::vector<double> amounts = read_curve(object, amount);
    const std::vector<double> times = read_curve(object, "time_us");
    const bool ascending = std::adjacent_find(amounts.begin(), amounts.end(), std::greater_equal<>()) == amounts.end();
    if (!ascending) object.fail(amount, "must be in ascending order");
    if (times.size() != amounts.size()) {
        object.fail("time_us", fmt::format("has {} numbers, but {} has {}", times.size(), amount, amounts.size()));
    }
    if (!std::is_sorted(times.begin(), times.end())) object.fail("time_us", "must not fall as the amount grows");
    object.finish();
    std::vector<OpLaw::Point> table(amounts.size());
    for (std::size_t i = 0; i < table.size(); ++i) table[i] = {amounts[i], Seconds(times[i] * micro)};
    return table;
}

CommTable read_comm_table(JsonObject object) {
    CommTable table;
    table.kind = object.one_of("collective", collective_names());
    table.ranks = object.required<int>("ranks", Range::positive);
    table.points = read_points(object, "message_bytes");
    return table;
}

std::vector<CommTable> read_comm_tables(JsonObject& root) {
    std::vector<CommTable> tables;
    if (!root.has("communication_tables")) return tables;
    for (const JsonObject& entry : root.objects("communication_tables")) {
        const CommTable table = read_comm_table(entry);
        const bool twice = std::any_of(tables.begin(), tables.end(), [&](const CommTable& known) {
            return known.kind == table.kind && known.ranks == table.ranks;
        });
        if (twice) {
            root.fail("communication_tables",
                      fmt::format("has two tables for {} of {} ranks", to_string(table.kind), table.ranks));
        }
        tables.push_back(table);
    }
    return tables;
}

RankLeadLaw read_rank_lead(JsonObject object) {
    RankLeadLaw law;
    law.after = Seconds(object.required<double>("after_us", Range::positive) * micro);
    law.ratio = object.required<double>("ratio", Range::not_negative);
    law.exponent = object.required<double>("exponent", Range::ratio);
    object.finish();
    return law;
}

OpLaw read_law(JsonObject object) {
    OpLaw law;
    law.op = object.required<std::string>("op");
    law.base = Seconds(object.required<double>("base_us", Range::not_negative) * micro);
    const auto flops = object.optional<double>("GFLOP_per_s", Range::positive);
    const auto bytes = object.optional<double>("GB_per_s", Range::positive);
    law.flops_rate = FlopsPerSecond(flops.value_or(0.0) * giga);
    law.bytes_rate = BytesPerSecond(bytes.value_or(0.0) * giga);
    if (!flops && !bytes && !(law.base > Seconds(0.0)))
        object.fail("base_us", "must be positive where no rate is given");
    law.least_amount = object.required<double>("least_amount", Range::not_negative);
    law.most_amount = object.required<double>("most_amount", Range::not_negative);
    if (law.most_amount < law.least_amount) object.fail("most_amount", "must not be below least_amount");
    if (auto table = object.optional_object("table")) {
        if (flops.has_value() == bytes.has_value()) object.fail("table", "needs one rate, of its amount");
        law.table = read_points(*table, "amount");
    }
    object.finish();
    return law;
}

std::vector<OpLaw> read_laws(JsonObject& root) {
    std::vector<OpLaw> laws;
    if (!root.has("ops")) return laws;
    for (const JsonObject& entry : root.objects("ops")) laws.push_back(read_law(entry));
    std::sort(laws.begin(), laws.end(), [](const OpLaw& a, const OpLaw& b) { return a.op < b.op; });
    const auto twice =
        std::adjacent_find(laws.begin(), laws.end(), [](const OpLaw& a, const OpLaw& b) { return a.op == b.op; });
    if (twice != laws.end()) root.fail("ops", fmt::format("has two laws for '{}'", twice->op));
    return laws;
}

MeasuredMachine read_machine(JsonObject object) {
    MeasuredMachine machine;
    machine.processor = object.optional<std::string>("processor").value_or("");
    machine.cores = object.optional<int>("cores", Range::not_negative).value_or(0);
    machine.gpu = object.optional<std::string>("gpu").value_or("");
    machine.backend = object.optional<std::string>("backend").value_or("");
    machine.comm = object.optional<std::string>("comm").value_or("");
    machine.dtype = object.optional<std::string>("dtype").value_or("");
    if (!machine.dtype.empty() && machine.dtype != "fp64" && !parse_precision(machine.dtype)) {
        object.fail("dtype", fmt::format("'{}' is no number format; valid: fp64, fp32, tf32, fp16, bf16, fp8, mxfp8, "
                                         "nvfp4",
                                         machine.dtype));
    }
    machine.software = object.optional<std::string>("software").value_or("");
    object.finish();
    return machine;
}

MeasuredDevice read_measured_device(JsonObject object) {
    MeasuredDevice device;
    if (const auto value = object.optional<double>("launch_us", Range::not_negative))
        device.launch = Seconds(*value * micro);
    if (const auto value = object.optional<double>("memory_bandwidth_GB_per_s", Range::positive)) {
        device.memory_bandwidth = BytesPerSecond(*value * giga);
    }
    if (const auto value = object.optional<double>("gemm_tflops", Range::positive)) {
        device.gemm_rate = FlopsPerSecond(*value * tera);
    }
    object.finish();
    return device;
}

MessageLaw read_messages(JsonObject object) {
    MessageLaw law;
    law.base = Seconds(object.required<double>("base_us", Range::not_negative) * micro);
    law.bandwidth = BytesPerSecond(object.required<double>("bandwidth_GB_per_s", Range::positive) * giga);
    object.finish();
    return law;
}

OptimizerLaw read_optimizer(JsonObject object) {
    OptimizerLaw law;
    law.base = Seconds(object.required<double>("base_us", Range::not_negative) * micro);
    law.parameters_per_second = object.required<double>("parameters_per_s", Range::positive);
    object.finish();
    return law;
}

SharedHost read_shared_host(JsonObject object) {
    SharedHost host;
    host.ranks = object.required<int>("ranks", Range::positive);
    host.compute_ratio = object.required<double>("compute_ratio", Range::positive);
    host.memory_ratio = object.required<double>("memory_ratio", Range::positive);
    object.finish();
    return host;
}

CalibrationResidual read_group(JsonObject object) {
    CalibrationResidual group;
    group.group = object.required<std::string>("group");
    group.amount = object.required<std::string>("amount");
    group.points = object.required<int>("points", Range::not_negative);
    group.rejected = object.required<int>("rejected", Range::not_negative);
    group.r2 = object.optional<double>("r2");
    group.median_abs_pct = object.required<double>("median_abs_pct", Range::not_negative);
    group.p90_abs_pct = object.required<double>("p90_abs_pct", Range::not_negative);
    group.bias_pct = object.required<double>("bias_pct");
    for (JsonObject size : object.objects("sizes")) {
        group.sizes.push_back(
            {size.required<double>("from", Range::not_negative), size.required<double>("to", Range::not_negative),
             size.required<int>("points", Range::not_negative),
             size.required<double>("median_abs_pct", Range::not_negative), size.required<double>("bias_pct")});
        size.finish();
    }
    object.finish();
    return group;
}

CalibrationBand read_band(JsonObject object) {
    CalibrationBand band;
    band.group = object.required<std::string>("group");
    band.points = object.required<int>("points", Range::not_negative);
    band.p10_ratio = object.required<double>("p10_ratio", Range::positive);
    band.p90_ratio = object.required<double>("p90_ratio", Range::positive);
    if (band.p90_ratio < band.p10_ratio) object.fail("p90_ratio", "must not be below p10_ratio");
    object.finish();
    return band;
}

RejectedPoint read_rejected(JsonObject object) {
    RejectedPoint point;
    point.input = object.required<std::string>("input");
    point.row = object.required<int>("row", Range::not_negative);
    point.what = object.required<std::string>("what");
    point.time_us = object.optional<double>("time_us").value_or(0.0);
    point.expected_us = object.optional<double>("expected_us").value_or(0.0);
    point.reason = object.required<std::string>("reason");
    object.finish();
    return point;
}

CalibrationInput read_input(JsonObject object) {
    CalibrationInput input;
    input.file = object.required<std::string>("file");
    input.kind = object.required<std::string>("kind");
    input.sha256 = object.required<std::string>("sha256");
    input.rows = object.required<int>("rows", Range::not_negative);
    object.finish();
    return input;
}

/// An array that may be left out.
template <class T, class Read>
std::vector<T> read_list(JsonObject& root, const std::string& key, Read read) {
    std::vector<T> list;
    root.ignore(key);
    if (!root.has(key)) return list;
    for (const JsonObject& entry : root.objects(key)) list.push_back(read(entry));
    return list;
}

void read_hosts(JsonObject& root, Calibration& calibration) {
    auto object = root.optional_object("concurrency");
    if (!object) return;
    calibration.shared_host = read_list<SharedHost>(*object, "shared_host", read_shared_host);
    const auto& hosts = calibration.shared_host;
    const bool ascending = std::adjacent_find(hosts.begin(), hosts.end(), [](const auto& a, const auto& b) {
                               return a.ranks >= b.ranks;
                           }) == hosts.end();
    if (!ascending) object->fail("shared_host", "must be ascending by ranks");
    calibration.rank_wait_ratio = object->optional<double>("rank_wait_ratio", Range::not_negative);
    if (auto lead = object->optional_object("rank_lead")) calibration.rank_lead = read_rank_lead(*lead);
    calibration.transport_ratio = object->optional<double>("transport_ratio", Range::positive);
    calibration.overlap_contention_ratio = object->optional<double>("overlap_contention_ratio", Range::ratio);
    object->finish();
}

/// Laws of everything between and beside ops.
void read_rest(JsonObject& root, Calibration& calibration) {
    if (auto object = root.optional_object("messages")) calibration.messages = read_messages(*object);
    if (auto object = root.optional_object("optimizer")) calibration.optimizer = read_optimizer(*object);
    if (const auto value = root.optional<double>("pass_overhead_us", Range::not_negative)) {
        calibration.pass_overhead = Seconds(*value * micro);
    }
    if (const auto value = root.optional<double>("step_overhead_us", Range::not_negative)) {
        calibration.step_overhead = Seconds(*value * micro);
    }
    if (const auto value = root.optional<double>("wakeup_us", Range::not_negative)) {
        calibration.wakeup = Seconds(*value * micro);
    }
    read_hosts(root, calibration);
}

void read_quality(JsonObject& root, Calibration& calibration) {
    calibration.residuals = read_list<CalibrationResidual>(root, "residuals", read_group);
    if (auto object = root.optional_object("uncertainty")) {
        calibration.bands = read_list<CalibrationBand>(*object, "groups", read_band);
        if (auto step = object->optional_object("step")) calibration.step_band = read_band(*step);
        object->finish();
    }
    calibration.rejected = read_list<RejectedPoint>(root, "rejected", read_rejected);
    calibration.inputs = read_list<CalibrationInput>(root, "inputs", read_input);
}

}  // namespace

Calibration read_calibration(const Json& value, const std::string& source, const std::string& path) {
    JsonObject root = open_document(value, "foreshard.calibration", source, path);
    Calibration calibration;
    calibration.id = root.required<std::string>("id");
    calibration.name = root.optional<std::string>("name").value_or(calibration.id);
    calibration.tool_version = root.optional<std::string>("tool_version").value_or("");
    calibration.machine = read_machine(root.object("machine"));
    if (root.has("cluster")) calibration.cluster = read_cluster(root.at("cluster"), source, root.path_of("cluster"));
    if (auto object = root.optional_object("device")) calibration.device = read_measured_device(*object);
    calibration.ops = read_laws(root);
    if (root.has("kernels")) calibration.kernels = read_kernels(root.at("kernels"), source, root.path_of("kernels"));
    calibration.collectives = read_list<CollectiveFit>(root, "collectives", read_collective_fit);
    calibration.comm_tables = read_comm_tables(root);
    read_rest(root, calibration);
    read_quality(root, calibration);
    root.ignore("sources");
    for (const char* key : {"cluster", "kernels", "ops", "communication_tables"}) root.ignore(key);
    root.finish();
    return calibration;
}

}  // namespace foreshard
