#include <filesystem>
#include <fstream>

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <fmt/os.h>
#include <sys/resource.h>

#include "traces/read_trace.hpp"

/// Opening traces of PyTorch's profiler.
namespace foreshard {
namespace {

constexpr const char* names[] = {"ampere_bf16_s16816gemm_bf16_128x256_ldg8_f2f_stages_64x3_tn",
                                 "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>>",
                                 "void flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits>",
                                 "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"};

/// As Kineto writes it: half of the events are kernels on 4 streams inside passes, half are CPU operators.
std::filesystem::path write_kineto(std::int64_t events) {
    const auto path = std::filesystem::temp_directory_path() / fmt::format("foreshard_bench_{}.json", events);
    auto out = fmt::output_file(path.string());
    out.print(
        "{{\"schemaVersion\": 1,\n\"distributedInfo\": {{\"backend\": \"nccl\", \"rank\": 0, \"world_size\": 8}},\n"
        "\"traceEvents\": [\n");
    for (std::int64_t i = 0; i < events / 2; ++i) {
        const double ts = 1753700000000000.0 + 12.5 * static_cast<double>(i);
        out.print(
            "  {{\n    \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::addmm\", \"pid\": 4711, \"tid\": 4711,\n"
            "    \"ts\": {:.3f}, \"dur\": 8.125,\n    \"args\": {{\n      \"External id\": {},\"Record function id\": "
            "0, "
            "\"Ev Idx\": {}\n    }}\n  }},\n",
            ts, i, i);
        if (i % 500 == 0) {
            out.print(
                "  {{\"ph\": \"X\", \"cat\": \"gpu_user_annotation\", \"name\": \"PP:{}F{}\", \"pid\": 0, \"tid\": 7, "
                "\"ts\": {:.3f}, \"dur\": 6000.5, \"args\": {{\"External id\": {}}}}},\n",
                i / 500 % 2, i / 1000, ts, i);
        }
        out.print(
            "  {{\n    \"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"{}\", \"pid\": 0, \"tid\": {},\n"
            "    \"ts\": {:.3f}, \"dur\": 10.048,\n    \"args\": {{\n      \"External id\": {},\n"
            "      \"queued\": 0, \"device\": 0, \"context\": 1,\n      \"stream\": {}, \"correlation\": {},\n"
            "      \"registers per thread\": 168,\n      \"shared memory\": 98304,\n"
            "      \"blocks per SM\": 1.5,\n      \"warps per SM\": 12,\n      \"grid\": [64, 3, 1],\n"
            "      \"block\": [256, 1, 1],\n      \"est. achieved occupancy %\": 19\n    }}\n  }},\n",
            names[i % 4], 7 + i % 4, ts, i, 7 + i % 4, i);
    }
    out.print(
        "  {{\"ph\": \"i\", \"name\": \"end\", \"ts\": 1753700000000000.0, \"pid\": \"Spans\", \"tid\": 0}}\n]}}\n");
    out.close();
    return path;
}

/// Peak memory of the process so far, MiB.
double peak_mib() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_maxrss) / 1024.0;
}

void open_kineto(benchmark::State& state) {
    const std::filesystem::path path = write_kineto(state.range(0));
    for (auto _ : state) benchmark::DoNotOptimize(read_trace(path.string()));
    state.counters["file_MiB"] = static_cast<double>(std::filesystem::file_size(path)) / 1048576.0;
    state.counters["process_peak_MiB"] = peak_mib();
    state.counters["events_per_s"] =
        benchmark::Counter(static_cast<double>(state.range(0)), benchmark::Counter::kIsIterationInvariantRate);
    std::filesystem::remove(path);
}
BENCHMARK(open_kineto)->Arg(100'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace foreshard
