#include "sim/spec/json_settings.hpp"

#include <fmt/format.h>

#include "sim/spec/json_specs.hpp"

namespace foreshard {

namespace {

std::string value_text(const OrderedJson& value) {
    return value.is_string() ? value.get<std::string>() : value.dump();
}

/// Lists are one value, written without spaces.
void add_members(const OrderedJson& object, const std::string& prefix, std::vector<std::string>& lines) {
    for (const auto& [key, value] : object.items()) {
        if (value.is_object()) {
            add_members(value, prefix + key + ".", lines);
        } else {
            lines.push_back(fmt::format("{}{} {}", prefix, key, value_text(value)));
        }
    }
}

}  // namespace

std::vector<std::string> job_settings(const Job& job) {
    std::vector<std::string> lines = {fmt::format("model {}", job.model.id), fmt::format("cluster {}", job.cluster.id),
                                      fmt::format("gpus {}", job.gpus), fmt::format("software {}", job.software.id)};
    const OrderedJson json = to_json(job);
    add_members(json["batch"], "", lines);
    add_members(json["plan"], "", lines);
    if (job.schedule_file) lines.push_back(fmt::format("schedule_file {}", job.schedule_file->name));
    if (job.stage_times) lines.push_back(fmt::format("stage_times {}", json["stage_times"].dump()));
    for (const char* part : {"model", "cluster", "software"}) add_members(json[part], fmt::format("{}.", part), lines);
    return lines;
}

}  // namespace foreshard
