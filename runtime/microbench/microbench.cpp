#include "runtime/microbench/microbench.hpp"

#include "runtime/exchange.hpp"

namespace foreshard::runtime {

std::vector<BenchRow> run_microbench(Device& device, Transport& transport,
                                     const std::vector<Communicator>& communicators, const BenchSizes& sizes) {
    std::vector<BenchRow> rows;
    if (transport.rank() == 0) rows = bench_kernels(device, sizes);
    transport.barrier(control_channel, all_ranks(transport));
    for (BenchRow& row : bench_communication(device, transport, communicators, sizes)) rows.push_back(std::move(row));
    for (BenchRow& row : bench_overlap(device, transport, communicators, sizes)) rows.push_back(std::move(row));
    return rows;
}

}  // namespace foreshard::runtime
