#include "runtime/environment.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>
#include <string_view>
#include <thread>

#include <fmt/format.h>
#include <unistd.h>

namespace foreshard::runtime {

namespace {

/// Value of the first line "key : value" of a file of the system; empty when there is none.
std::string system_value(const char* path, const std::string& key) {
    std::ifstream in(path);
    std::string line;
    while (std::getline(in, line)) {
        const std::size_t colon = line.find(':');
        if (!line.starts_with(key) || colon == std::string::npos) continue;
        const std::size_t value = line.find_first_not_of(" \t", colon + 1);
        return value == std::string::npos ? "" : line.substr(value);
    }
    return "";
}

double number_in(const std::string& text) {
    return text.empty() ? 0.0 : std::strtod(text.c_str(), nullptr);
}

}  // namespace

Environment this_environment() {
    Environment environment;
    std::array<char, 256> name{};
    if (gethostname(name.data(), name.size() - 1) == 0) environment.host = name.data();
    environment.processor = system_value("/proc/cpuinfo", "model name");
    environment.cores = static_cast<int>(std::thread::hardware_concurrency());
    environment.clock_ghz = number_in(system_value("/proc/cpuinfo", "cpu MHz")) / 1e3;
    environment.memory = static_cast<ByteCount>(number_in(system_value("/proc/meminfo", "MemTotal")) * 1024.0);
    environment.compiler = FORESHARD_COMPILER;
    environment.variables = recorded_variables(environ);
    return environment;
}

std::vector<std::pair<std::string, std::string>> recorded_variables(const char* const* entries) {
    constexpr std::array<std::string_view, 4> families = {"NCCL_", "CUDA_", "CUBLAS_", "OMP_"};
    constexpr std::array<std::string_view, 11> launch = {
        "RANK",         "WORLD_SIZE",   "LOCAL_RANK",    "MASTER_ADDR", "MASTER_PORT",         "SLURM_JOB_ID",
        "SLURM_NTASKS", "SLURM_PROCID", "SLURM_LOCALID", "PMI_RANK",    "OMPI_COMM_WORLD_RANK"};
    std::vector<std::pair<std::string, std::string>> variables;
    for (; entries != nullptr && *entries != nullptr; ++entries) {
        const std::string_view entry = *entries;
        const std::size_t equals = entry.find('=');
        if (equals == std::string_view::npos) continue;
        const std::string_view name = entry.substr(0, equals);
        const bool wanted =
            std::any_of(families.begin(), families.end(), [&](std::string_view f) { return name.starts_with(f); }) ||
            std::find(launch.begin(), launch.end(), name) != launch.end();
        if (wanted) variables.emplace_back(name, entry.substr(equals + 1));
    }
    std::sort(variables.begin(), variables.end());
    return variables;
}

/// The version is the first word with two dots or one between digits.
std::string driver_in(const std::string& line) {
    std::istringstream words(line);
    std::string word;
    while (words >> word) {
        const bool digits = word.find_first_not_of("0123456789.") == std::string::npos;
        if (digits && word.find('.') != std::string::npos) return word;
    }
    return "";
}

std::string driver_version() {
    std::ifstream in("/proc/driver/nvidia/version");
    std::string line;
    return std::getline(in, line) ? driver_in(line) : "";
}

ClusterSpec this_machine(const Environment& environment, int ranks) {
    constexpr double flops_per_cycle = 32.0;
    const double clock = environment.clock_ghz > 0.0 ? environment.clock_ghz : 2.0;
    const double peak = clock * 1e9 * flops_per_cycle;
    ClusterSpec cluster;
    cluster.id = "this-machine";
    cluster.name = fmt::format("This machine ({} cores)", environment.cores);
    DeviceSpec& device = cluster.device;
    device.id = "cpu-core";
    device.name = environment.processor.empty() ? "CPU core" : "Core of " + environment.processor;
    device.architecture = "cpu";
    for (const Precision precision : {Precision::fp32, Precision::tf32, Precision::fp16, Precision::bf16}) {
        device.peak[static_cast<std::size_t>(precision)] = FlopsPerSecond(peak);
    }
    device.memory_bandwidth = BytesPerSecond(1e10);
    device.usable_memory = std::max<ByteCount>(environment.memory / std::max(ranks, 1), 1);
    device.sm_count = 1;
    device.gemm_ratio = 0.7;
    device.attention_matmul_ratio = 0.3;
    device.flash_forward_ratio = 0.3;
    device.memory_ratio = 0.7;
    cluster.gpus_per_node = std::max(ranks, 1);
    cluster.gpus_per_nvlink_domain = cluster.gpus_per_node;
    cluster.nodes = 1;
    cluster.intra_node = {"memory", BytesPerSecond(5e9), Seconds(20e-6)};
    return cluster;
}

}  // namespace foreshard::runtime
