#include "runtime/program/json_bench.hpp"

#include "runtime/program/json_environment.hpp"
#include "sim/spec/json_specs.hpp"

namespace foreshard::runtime {

namespace {

OrderedJson row_json(const BenchRow& row) {
    OrderedJson json = {{"group", row.group}, {"op", row.op}};
    if (!row.channel.empty()) json["channel"] = row.channel;
    for (const auto& [key, value] : row.shape) json[key] = value;
    if (!row.members.empty()) json["ranks"] = row.members;
    if (row.flops > 0.0) json["flops"] = row.flops;
    if (row.bytes > 0.0) json["bytes"] = row.bytes;
    json["time_us"] = {{"samples", row.time.samples},
                       {"median", row.time.median_us},
                       {"min", row.time.min_us},
                       {"p90", row.time.p90_us}};
    return json;
}

}  // namespace

std::string microbench_json(const RunOptions& options, const Environment& environment, const ClusterSpec& cluster,
                            int ranks, const std::vector<BenchRow>& rows) {
    OrderedJson json = {{"schema", "foreshard.microbench"}, {"schema_version", "1.0"}};
    json["command"] = options.command;
    json["backend"] = to_string(options.backend);
    json["comm"] = to_string(options.comm);
    json["dtype"] = dtype_name(options);
    json["ranks"] = ranks;
    json["environment"] = environment_json(environment);
    json["cluster"] = to_json(cluster);
    OrderedJson results = OrderedJson::array();
    for (const BenchRow& row : rows) results.push_back(row_json(row));
    json["results"] = std::move(results);
    return json.dump(2) + "\n";
}

}  // namespace foreshard::runtime
