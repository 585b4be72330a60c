#include "runtime/program/json_environment.hpp"

namespace foreshard::runtime {

namespace {

OrderedJson gpu_json(const GpuInfo& gpu) {
    OrderedJson json = {{"name", gpu.name}, {"memory_bytes", gpu.memory}};
    if (!gpu.driver.empty()) json["driver"] = gpu.driver;
    if (!gpu.cuda.empty()) json["cuda"] = gpu.cuda;
    if (gpu.clock_ghz > 0.0) json["max_clock_GHz"] = gpu.clock_ghz;
    if (gpu.memory_clock_ghz > 0.0) json["max_memory_clock_GHz"] = gpu.memory_clock_ghz;
    return json;
}

}  // namespace

OrderedJson environment_json(const Environment& environment) {
    OrderedJson json = {{"host", environment.host},
                        {"processor", environment.processor},
                        {"cores", environment.cores},
                        {"memory_bytes", environment.memory},
                        {"compiler", environment.compiler}};
    if (!environment.mpi.empty()) json["mpi"] = environment.mpi;
    if (!environment.nccl.empty()) json["nccl"] = environment.nccl;
    if (environment.gpu) json["gpu"] = gpu_json(*environment.gpu);
    if (!environment.launcher.empty()) json["launcher"] = environment.launcher;
    OrderedJson variables = OrderedJson::object();
    for (const auto& [name, value] : environment.variables) variables[name] = value;
    if (!variables.empty()) json["variables"] = std::move(variables);
    return json;
}

}  // namespace foreshard::runtime
