#include <algorithm>
#include <cmath>
#include <functional>

#include <fmt/format.h>

#include "sim/spec/catalogue.hpp"
#include "sim/spec/json_specs.hpp"
#include "sim/spec/json_text.hpp"

/// foreshard.kernels: rate tables as arrays, written a row of numbers a line.
namespace foreshard {

namespace {

/// A table of its own key names: three axes, and the rates.
struct TableKeys {
    std::array<const char*, 3> axes;
    const char* rates = "tflops";
};
constexpr TableKeys gemm_keys = {{"m", "n", "k"}};
constexpr TableKeys attention_keys = {{"seq", "batch_heads", "head_dim"}};

std::vector<double> read_positive(JsonObject& object, const char* key) {
    const Json& value = object.at(key);
    const bool numbers =
        value.is_array() && !value.empty() &&
        std::all_of(value.begin(), value.end(), [](const Json& n) { return n.is_number() && n.get<double>() > 0.0; });
    if (!numbers) object.fail(key, "must be an array of numbers greater than 0");
    return value.get<std::vector<double>>();
}

RateTable read_table(JsonObject object, const TableKeys& keys) {
    RateTable table;
    for (std::size_t axis = 0; axis < 3; ++axis) {
        std::vector<double>& line = table.axes[axis];
        line = read_positive(object, keys.axes[axis]);
        const bool ascending = std::adjacent_find(line.begin(), line.end(), std::greater_equal<>()) == line.end();
        if (!ascending) object.fail(keys.axes[axis], "must be in ascending order");
    }
    table.tflops = read_positive(object, keys.rates);
    if (table.tflops.size() != table.nodes()) {
        object.fail(keys.rates, fmt::format("has {} numbers, but {} x {} x {} are needed", table.tflops.size(),
                                            table.axes[0].size(), table.axes[1].size(), table.axes[2].size()));
    }
    object.finish();
    return table;
}

FitResidual read_residual(JsonObject object) {
    FitResidual residual;
    residual.points = object.required<int>("points", Range::not_negative);
    residual.median_abs_pct = object.required<double>("median_abs_pct", Range::not_negative);
    residual.p90_abs_pct = object.required<double>("p90_abs_pct", Range::not_negative);
    residual.bias_pct = object.required<double>("bias_pct");
    object.finish();
    return residual;
}

std::vector<std::pair<std::string, std::string>> read_sources(JsonObject& root) {
    const Json& value = root.at("sources");
    std::vector<std::pair<std::string, std::string>> sources;
    for (const auto& item : value.items()) {
        if (!item.value().is_string()) root.fail("sources", "must hold texts");
        sources.emplace_back(item.key(), item.value().get<std::string>());
    }
    return sources;
}

double two_decimals(double value) {
    return std::round(value * 100.0) / 100.0;
}

OrderedJson to_json(const RateTable& table, const TableKeys& keys) {
    OrderedJson out;
    for (std::size_t axis = 0; axis < 3; ++axis) out[keys.axes[axis]] = table.axes[axis];
    out[keys.rates] = table.tflops;
    return out;
}

OrderedJson to_json(const FitResidual& residual) {
    return {{"points", residual.points},
            {"median_abs_pct", two_decimals(residual.median_abs_pct)},
            {"p90_abs_pct", two_decimals(residual.p90_abs_pct)},
            {"bias_pct", two_decimals(residual.bias_pct)}};
}

}  // namespace

KernelTable read_kernels(const Json& value, const std::string& source, const std::string& path) {
    JsonObject root = open_document(value, "foreshard.kernels", source, path);
    KernelTable table;
    table.id = root.required<std::string>("id");
    table.name = root.optional<std::string>("name").value_or(table.id);
    table.device = root.required<std::string>("device");
    table.peak_tflops = root.required<double>("peak_tflops", Range::positive);
    table.gemm = read_table(root.object("gemm"), gemm_keys);
    const bool attention = root.has("attention");
    if (attention) table.attention = read_table(root.object("attention"), attention_keys);
    JsonObject residual = root.object("residual");
    table.gemm_residual = read_residual(residual.object("gemm"));
    if (attention) table.attention_residual = read_residual(residual.object("attention"));
    residual.finish();
    table.sources = read_sources(root);
    root.finish();
    return table;
}

OrderedJson to_json(const KernelTable& table) {
    OrderedJson out = {{"schema", "foreshard.kernels"},
                       {"schema_version", "1.0"},
                       {"id", table.id},
                       {"name", table.name},
                       {"device", table.device},
                       {"peak_tflops", in_unit(table.peak_tflops, 1.0)}};
    out["gemm"] = to_json(table.gemm, gemm_keys);
    if (!table.attention.tflops.empty()) out["attention"] = to_json(table.attention, attention_keys);
    out["residual"] = {{"gemm", to_json(table.gemm_residual)}};
    if (!table.attention.tflops.empty()) out["residual"]["attention"] = to_json(table.attention_residual);
    out["sources"] = OrderedJson::object();
    for (const auto& [key, text] : table.sources) out["sources"][key] = text;
    return out;
}

std::string kernels_text(const KernelTable& table) {
    return wrapped_text(to_json(table));
}

}  // namespace foreshard
