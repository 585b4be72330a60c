#include <benchmark/benchmark.h>

#include "sim/cost/calibrated.hpp"
#include "sim/cost/link_network.hpp"
#include "sim/engine/fluid.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/sim.hpp"
#include "sim/spec/catalogue.hpp"
#include "sim/spec/job_request.hpp"

/// Speed of the main job: the demo plan end to end, and lowering plus simulation as the number of tasks grows.
namespace foreshard {
namespace {

void demo_plan(benchmark::State& state) {
    const Job job = resolve(load_job_request("gpt3-175b-selene-64"));
    for (auto _ : state) benchmark::DoNotOptimize(evaluate(job).report.summary.step_time_ms);
}
BENCHMARK(demo_plan)->Unit(benchmark::kMillisecond);

Job large_job(int p, int m) {
    JobRequest request;
    request.model = "megatron-1t";
    request.cluster = "selene";
    request.software = "megatron-2022";
    request.num_layers = 2 * p;
    request.tp = 8;
    request.pp = p;
    request.gpus = 8 * p;
    request.gbs = m;
    request.precision = "fp16";
    return resolve(request);
}

void lower_and_simulate(benchmark::State& state) {
    const Job job = large_job(static_cast<int>(state.range(0)), static_cast<int>(state.range(1)));
    const CalibratedCost cost(job.cluster.device, job.software, job.plan.precision);
    const LinkNetwork network(job.cluster, job.software);
    std::size_t tasks = 0;
    for (auto _ : state) {
        const TaskGraph graph = lower(job, make_schedule(job));
        const Timeline timeline = simulate(graph, durations(job, graph, cost, network));
        benchmark::DoNotOptimize(timeline.makespan);
        tasks = graph.tasks.size();
    }
    state.counters["tasks"] = static_cast<double>(tasks);
    state.counters["tasks_per_s"] =
        benchmark::Counter(static_cast<double>(tasks), benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(lower_and_simulate)
    ->Args({4, 64})
    ->Args({16, 64})
    ->Args({16, 256})
    ->Args({64, 256})
    ->Args({64, 1024})
    ->Args({64, 4096})
    ->Unit(benchmark::kMillisecond);

/// 8 pipeline ranks, 64 micro-batches, data-parallel replicas that overlap their reductions: with every replica by
/// itself, so that both paths play the same tasks.
Job replicated_job(int replicas, const char* contention) {
    JobRequest request;
    request.model = "llama3-8b";
    request.cluster = "dgx-h100";
    request.software = "megatron-core-te";
    request.tp = 1;
    request.pp = 8;
    request.dp = replicas;
    request.gbs = 64 * replicas;
    request.use_distributed_optimizer = true;
    request.overlap_grad_reduce = true;
    request.no_symmetry = true;
    request.contention = contention;
    return resolve(request);
}

/// The engine alone; the first argument is the number of replicas, the second 0 off, 1 links, 2 full.
void play(benchmark::State& state) {
    static constexpr const char* names[] = {"off", "links", "full"};
    const Evaluation e = evaluate(replicated_job(static_cast<int>(state.range(0)), names[state.range(1)]));
    const DeviceSharing device{state.range(1) == 2, e.job.cluster.device.sm_count};
    for (auto _ : state) {
        const Timeline timeline = state.range(1) == 0 ? simulate(e.graph, e.durations)
                                                      : simulate_fluid(e.graph, e.durations, e.flows, device);
        benchmark::DoNotOptimize(timeline.makespan);
    }
    const auto tasks = static_cast<double>(e.graph.tasks.size());
    state.counters["tasks"] = tasks;
    state.counters["tasks_per_s"] = benchmark::Counter(tasks, benchmark::Counter::kIsIterationInvariantRate);
    state.SetLabel(names[state.range(1)]);
}
BENCHMARK(play)->ArgsProduct({{1, 8, 64}, {0, 1, 2}})->Unit(benchmark::kMillisecond);

/// A plan of 1,024 ranks, each simulated, with full contention, from schedule to report.
void thousand_ranks(benchmark::State& state) {
    const Job job = replicated_job(128, "full");
    for (auto _ : state) benchmark::DoNotOptimize(evaluate(job).report.summary.step_time_ms);
}
BENCHMARK(thousand_ranks)->Unit(benchmark::kMillisecond)->Iterations(1);

void evaluate_large(benchmark::State& state) {
    const Job job = large_job(64, 1024);
    for (auto _ : state) benchmark::DoNotOptimize(evaluate(job).report.summary.step_time_ms);
}
BENCHMARK(evaluate_large)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace foreshard
