#include <benchmark/benchmark.h>

#include "sim/search/search.hpp"

/// Plans whose bounds are computed on one core, with nothing cut and nothing simulated: `plans_per_s`, set-up of the
/// space left out. `fit` of them may fit into memory, so that their step times are bounded too. And whole searches.
namespace foreshard {
namespace {

SearchRequest on_one_core(const char* model, const char* cluster, int gpus, std::int64_t gbs) {
    SearchRequest request;
    request.base.model = model;
    request.base.cluster = cluster;
    request.base.gpus = gpus;
    request.base.gbs = gbs;
    request.exhaustive = true;
    request.threads = 1;
    return request;
}

void bound_all(benchmark::State& state, const SearchRequest& request) {
    double plans = 0.0;
    double fit = 0.0;
    double seconds = 0.0;
    for (auto step : state) {
        const SearchOutcome bounds = bound_plans(request);
        plans += static_cast<double>(bounds.evaluated);
        const auto memory = bounds.infeasible.find("memory");
        fit += static_cast<double>(bounds.evaluated - (memory == bounds.infeasible.end() ? 0 : memory->second));
        seconds += bounds.estimate_elapsed_s;
    }
    state.counters["plans"] = benchmark::Counter(plans, benchmark::Counter::kAvgIterations);
    state.counters["fit"] = benchmark::Counter(fit, benchmark::Counter::kAvgIterations);
    state.counters["plans_per_s"] = plans / seconds;
}

/// What Calculon's llm-optimal-execution loops over (calculon/llm/optimal_execution.py), as far as our axes have it:
/// tensor parallel sizes that divide the heads, pipelines and chunks that divide the layers, every micro-batch, full,
/// selective and no recomputation, sharded optimizer or not, all-reduce or reduce-scatter and all-gather. Four uneven
/// splits of 35 come with the list of chunks. Not here: its choices of a network per axis, of messages between stages,
/// of gathering again and of overlap.
SearchRequest calculons_space(std::int64_t gbs, bool overlap) {
    SearchRequest request = on_one_core("gpt3-175b", "dgx-a100-80g", 512, gbs);
    request.base.software = "megatron-2022";
    request.base.overlap_grad_reduce = overlap;
    request.constraints = {{"tp", "1,2,4,8,16,32"},
                           {"pp", "1,2,4,8,16,32"},
                           {"cp", "1"},
                           {"vpp", "1,2,3,4,6,8,12,16,24,48"},
                           {"mbs", "1..1536"},
                           {"schedule", "none,1f1b,interleaved-1f1b"},
                           {"recompute", "none,selective,full"},
                           {"zero", "0,1"},
                           {"sp", "on,off"},
                           {"balance", "off"}};
    return request;
}

void find_best(benchmark::State& state, SearchRequest request, int threads) {
    request.exhaustive = false;
    request.threads = threads;
    SearchOutcome result;
    for (auto step : state) result = search(request);
    state.counters["evaluated"] = static_cast<double>(result.evaluated);
    state.counters["refined"] = static_cast<double>(result.refined);
    state.counters["simulated"] = static_cast<double>(result.simulated);
}

void calculons_space_batch_64(benchmark::State& state) {
    bound_all(state, calculons_space(64, false));
}
BENCHMARK(calculons_space_batch_64)->Unit(benchmark::kMillisecond);

void calculons_space_batch_1536(benchmark::State& state) {
    bound_all(state, calculons_space(1536, false));
}
BENCHMARK(calculons_space_batch_1536)->Unit(benchmark::kMillisecond);

void calculons_space_overlapped(benchmark::State& state) {
    bound_all(state, calculons_space(64, true));
}
BENCHMARK(calculons_space_overlapped)->Unit(benchmark::kMillisecond);

void calculons_space_to_optimum(benchmark::State& state) {
    find_best(state, calculons_space(64, state.range(0) != 0), 1);
}
BENCHMARK(calculons_space_to_optimum)->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

void gpt3_175b_on_512(benchmark::State& state) {
    bound_all(state, on_one_core("gpt3-175b", "dgx-a100-80g", 512, 64));
}
BENCHMARK(gpt3_175b_on_512)->Unit(benchmark::kMillisecond);

void gpt3_175b_on_512_large_batch(benchmark::State& state) {
    bound_all(state, on_one_core("gpt3-175b", "dgx-a100-80g", 512, 1536));
}
BENCHMARK(gpt3_175b_on_512_large_batch)->Unit(benchmark::kMillisecond);

void llama3_405b_on_16384(benchmark::State& state) {
    bound_all(state, on_one_core("llama3-405b", "dgx-h100", 16384, 2048));
}
BENCHMARK(llama3_405b_on_16384)->Unit(benchmark::kMillisecond);

void llama3_405b_on_16384_to_optimum(benchmark::State& state) {
    find_best(state, on_one_core("llama3-405b", "dgx-h100", 16384, 2048), 2);
}
BENCHMARK(llama3_405b_on_16384_to_optimum)->Unit(benchmark::kMillisecond);

void llama3_8b_on_8_in_the_full_space(benchmark::State& state) {
    SearchRequest request = on_one_core("llama3-8b", "dgx-h100", 8, 32);
    request.space = SpaceKind::full;
    request.max_gap_ratio = 0.001;
    find_best(state, request, 2);
}
BENCHMARK(llama3_8b_on_8_in_the_full_space)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace foreshard
