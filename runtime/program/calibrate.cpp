#include "runtime/program/calibrate.hpp"

#include <fmt/format.h>

#include "runtime/cpu/cpu_device.hpp"
#include "runtime/threads_transport.hpp"
#include "sim/error.hpp"

namespace foreshard::runtime {

std::vector<BenchRow> calibrate(const Plan& plan, const RunOptions& options, Processes& processes) {
    const BenchSizes sizes = bench_sizes(plan.job, *options.calibrate);
    const std::vector<Communicator> communicators = communicators_of(plan.job, plan.graph, plan.ranks);
    const bool on_gpu = options.backend == Backend::cuda;
    const auto bench_rank = [&](Transport& transport) {
        const std::unique_ptr<Device> device =
            on_gpu ? bench_gpu(gpu_request(options, processes.gpu())) : make_cpu_device(options.type);
        return run_microbench(*device, transport, communicators, sizes);
    };
    if (processes.several()) {
        Transport& transport = processes.group().transport;
        if (transport.size() == plan.ranks.count()) return bench_rank(transport);
        throw InputError("the job", "",
                         fmt::format("{} processes, but the plan has {} ranks", transport.size(), plan.ranks.count()));
    }
    const auto timeout = std::chrono::duration<double>(options.timeout_s);
    ThreadsWorld world(plan.ranks.count(), timeout, on_gpu ? gpu_carrier() : Carrier{});
    std::vector<BenchRow> rows;
    run_ranks(world, plan.ranks.count(), [&](Transport& transport) {
        std::vector<BenchRow> mine = bench_rank(transport);
        if (transport.rank() == 0) rows = std::move(mine);
    });
    return rows;
}

}  // namespace foreshard::runtime
