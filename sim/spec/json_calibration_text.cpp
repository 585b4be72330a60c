#include "sim/prefixes.hpp"
#include "sim/spec/json_specs.hpp"
#include "sim/spec/json_text.hpp"

/// foreshard.calibration, as it is written.
namespace foreshard {

namespace {

void add_points(const std::vector<OpLaw::Point>& points, const char* amount, OrderedJson& out) {
    OrderedJson amounts = OrderedJson::array();
    OrderedJson times = OrderedJson::array();
    for (const OpLaw::Point& point : points) {
        amounts.push_back(point.amount);
        times.push_back(in_unit(point.time.value, micro));
    }
    out[amount] = amounts;
    out["time_us"] = times;
}

OrderedJson to_json(const OpLaw& law) {
    OrderedJson out = {{"op", law.op}, {"base_us", in_unit(law.base.value, micro)}};
    if (law.flops_rate.value > 0.0) out["GFLOP_per_s"] = in_unit(law.flops_rate.value, giga);
    if (law.bytes_rate.value > 0.0) out["GB_per_s"] = in_unit(law.bytes_rate.value, giga);
    out["least_amount"] = law.least_amount;
    out["most_amount"] = law.most_amount;
    if (law.table.empty()) return out;
    OrderedJson table = OrderedJson::object();
    add_points(law.table, "amount", table);
    out["table"] = table;
    return out;
}

OrderedJson to_json(const CommTable& table) {
    OrderedJson out = {{"collective", to_string(table.kind)}, {"ranks", table.ranks}};
    add_points(table.points, "message_bytes", out);
    return out;
}

OrderedJson to_json(const MeasuredMachine& machine) {
    OrderedJson out = OrderedJson::object();
    if (!machine.processor.empty()) out["processor"] = machine.processor;
    if (machine.cores > 0) out["cores"] = machine.cores;
    if (!machine.gpu.empty()) out["gpu"] = machine.gpu;
    if (!machine.backend.empty()) out["backend"] = machine.backend;
    if (!machine.comm.empty()) out["comm"] = machine.comm;
    if (!machine.dtype.empty()) out["dtype"] = machine.dtype;
    if (!machine.software.empty()) out["software"] = machine.software;
    return out;
}

OrderedJson to_json(const MeasuredDevice& device) {
    OrderedJson out = OrderedJson::object();
    if (device.launch) out["launch_us"] = in_unit(device.launch->value, micro);
    if (device.memory_bandwidth) out["memory_bandwidth_GB_per_s"] = in_unit(device.memory_bandwidth->value, giga);
    if (device.gemm_rate) out["gemm_tflops"] = in_unit(device.gemm_rate->value, tera);
    return out;
}

OrderedJson to_json(const SharedHost& host) {
    return {{"ranks", host.ranks}, {"compute_ratio", host.compute_ratio}, {"memory_ratio", host.memory_ratio}};
}

OrderedJson to_json(const CalibrationResidual& group) {
    OrderedJson sizes = OrderedJson::array();
    for (const CalibrationResidual::Size& size : group.sizes) {
        sizes.push_back({{"from", size.from},
                         {"to", size.to},
                         {"points", size.points},
                         {"median_abs_pct", size.median_abs_pct},
                         {"bias_pct", size.bias_pct}});
    }
    OrderedJson json = {
        {"group", group.group}, {"amount", group.amount}, {"points", group.points}, {"rejected", group.rejected}};
    if (group.r2) json["r2"] = *group.r2;
    json["median_abs_pct"] = group.median_abs_pct;
    json["p90_abs_pct"] = group.p90_abs_pct;
    json["bias_pct"] = group.bias_pct;
    json["sizes"] = std::move(sizes);
    return json;
}

OrderedJson to_json(const CalibrationBand& band) {
    return {
        {"group", band.group}, {"points", band.points}, {"p10_ratio", band.p10_ratio}, {"p90_ratio", band.p90_ratio}};
}

OrderedJson to_json(const RejectedPoint& point) {
    OrderedJson out = {{"input", point.input}, {"row", point.row}, {"what", point.what}, {"time_us", point.time_us}};
    if (point.expected_us > 0.0) out["expected_us"] = point.expected_us;
    out["reason"] = point.reason;
    return out;
}

OrderedJson to_json(const CalibrationInput& input) {
    return {{"file", input.file}, {"kind", input.kind}, {"sha256", input.sha256}, {"rows", input.rows}};
}

template <class T>
OrderedJson list_json(const std::vector<T>& list) {
    OrderedJson out = OrderedJson::array();
    for (const T& entry : list) out.push_back(to_json(entry));
    return out;
}

void write_rest(const Calibration& calibration, OrderedJson& out) {
    if (calibration.messages) {
        out["messages"] = {{"base_us", in_unit(calibration.messages->base.value, micro)},
                           {"bandwidth_GB_per_s", in_unit(calibration.messages->bandwidth.value, giga)}};
    }
    if (calibration.optimizer) {
        out["optimizer"] = {{"base_us", in_unit(calibration.optimizer->base.value, micro)},
                            {"parameters_per_s", calibration.optimizer->parameters_per_second}};
    }
    if (calibration.pass_overhead) out["pass_overhead_us"] = in_unit(calibration.pass_overhead->value, micro);
    if (calibration.step_overhead) out["step_overhead_us"] = in_unit(calibration.step_overhead->value, micro);
    if (calibration.wakeup) out["wakeup_us"] = in_unit(calibration.wakeup->value, micro);
    OrderedJson concurrency = OrderedJson::object();
    if (!calibration.shared_host.empty()) concurrency["shared_host"] = list_json(calibration.shared_host);
    if (calibration.rank_wait_ratio) concurrency["rank_wait_ratio"] = *calibration.rank_wait_ratio;
    if (const auto& law = calibration.rank_lead) {
        concurrency["rank_lead"] = {
            {"after_us", in_unit(law->after.value, micro)}, {"ratio", law->ratio}, {"exponent", law->exponent}};
    }
    if (calibration.transport_ratio) concurrency["transport_ratio"] = *calibration.transport_ratio;
    if (calibration.overlap_contention_ratio) {
        concurrency["overlap_contention_ratio"] = *calibration.overlap_contention_ratio;
    }
    if (!concurrency.empty()) out["concurrency"] = concurrency;
}

}  // namespace

OrderedJson to_json(const Calibration& calibration) {
    OrderedJson out = {{"schema", "foreshard.calibration"},
                       {"schema_version", "1.0"},
                       {"id", calibration.id},
                       {"name", calibration.name},
                       {"tool_version", calibration.tool_version},
                       {"machine", to_json(calibration.machine)}};
    if (calibration.cluster) out["cluster"] = to_json(*calibration.cluster);
    const OrderedJson device = to_json(calibration.device);
    if (!device.empty()) out["device"] = device;
    if (!calibration.ops.empty()) out["ops"] = list_json(calibration.ops);
    if (calibration.kernels) out["kernels"] = to_json(*calibration.kernels);
    if (!calibration.collectives.empty()) out["collectives"] = list_json(calibration.collectives);
    if (!calibration.comm_tables.empty()) out["communication_tables"] = list_json(calibration.comm_tables);
    write_rest(calibration, out);
    out["residuals"] = list_json(calibration.residuals);
    OrderedJson uncertainty = {{"groups", list_json(calibration.bands)}};
    if (calibration.step_band) uncertainty["step"] = to_json(*calibration.step_band);
    out["uncertainty"] = uncertainty;
    out["rejected"] = list_json(calibration.rejected);
    out["inputs"] = list_json(calibration.inputs);
    return out;
}

std::string calibration_text(const Calibration& calibration) {
    return wrapped_text(to_json(calibration));
}

}  // namespace foreshard
