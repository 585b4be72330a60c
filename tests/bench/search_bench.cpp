#include <benchmark/benchmark.h>

#include "sim/search/search.hpp"

/// Plans whose bounds are computed on one core, with nothing cut and nothing simulated: `plans_per_s`, set-up of the
/// space left out. `fit` of them may fit into memory, so that their step times are bounded too.
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

}  // namespace
}  // namespace foreshard
