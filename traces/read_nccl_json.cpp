#include "sim/error.hpp"
#include "traces/measurement_readers.hpp"
#include "traces/nccl_table.hpp"

/// What nccl-tests -J write (file versions 1 to 3): numbers may be the text "nan", booleans are texts, half of a row
/// may be null.
namespace foreshard {

namespace {

double number_or_zero(const Json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_number() ? found->get<double>() : 0.0;
}

std::string text_or_empty(const Json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

const Json* half_of(const Json& result) {
    for (const char* half : {"out_of_place", "in_place"}) {
        const auto found = result.find(half);
        if (found != result.end() && found->is_object()) return &*found;
    }
    return nullptr;
}

NcclRow row_of(const Json& result, const Json& half, int index) {
    NcclRow row;
    row.row = index;
    row.bytes = number_or_zero(result, "size");
    row.redop = text_or_empty(result, "redop");
    row.time_us = number_or_zero(half, half.contains("time") ? "time" : "cpu_time");
    row.algbw = number_or_zero(half, "alg_bw");
    row.busbw = number_or_zero(half, "bus_bw");
    row.wrong = number_or_zero(half, "nwrong");
    return row;
}

std::string words_of(const Json& document) {
    std::string words;
    const auto args = document.find("args");
    if (args == document.end() || !args->is_array() || args->empty() || !args->front().is_string()) return words;
    return args->front().get<std::string>();
}

}  // namespace

bool is_nccl_tests_json(const Json& document) {
    return document.is_object() && document.contains("results") && document.contains("config") &&
           (document.contains("nccl_version") || document.contains("args"));
}

void read_nccl_tests_json(const Json& document, const std::string& file, Measurements& into) {
    JsonObject root(document, file);
    JsonObject config = root.object("config");
    NcclTable table{.test = words_of(document)};
    if (config.has("devices")) {
        for (JsonObject device : config.objects("devices")) {
            ++table.ranks;
            table.hosts.insert(device.optional<std::string>("hostname").value_or(""));
        }
    }
    const Json& results = root.at("results");
    if (!results.is_array() || results.empty()) root.fail("results", "must be an array of measured sizes");
    int index = 0;
    for (const Json& result : results) {
        const Json* half = result.is_object() ? half_of(result) : nullptr;
        if (half != nullptr) {
            table.rows.push_back(row_of(result, *half, index));
        } else {
            reject_value(into, index, "nccl-tests", 0.0, "has neither out_of_place nor in_place times");
        }
        ++index;
    }
    into.inputs.back().rows = index;
    add_nccl_table(table, file, into);
}

}  // namespace foreshard
