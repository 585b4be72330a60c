#include "runtime/microbench/microbench.hpp"

#include "runtime/exchange.hpp"

namespace foreshard::runtime {

namespace {

enum class Kernels : std::uint8_t { go_on, done };

/// All ranks hear from rank 0 how far it is.
Kernels hear(Transport& transport, Kernels mine) {
    const std::vector<std::vector<std::byte>> told = tell_all(transport, std::as_bytes(std::span(&mine, 1)));
    return static_cast<Kernels>(told.front().front());
}

/// On rank 0. The others hear of every row, so that none takes the long wait for a rank that is lost.
std::vector<BenchRow> bench_kernels_once(Device& device, Transport& transport, const BenchSizes& sizes) {
    std::vector<BenchRow> rows;
    if (transport.rank() == 0) {
        rows = bench_kernels(device, sizes, [&] { hear(transport, Kernels::go_on); });
        hear(transport, Kernels::done);
        return rows;
    }
    while (hear(transport, Kernels::done) == Kernels::go_on) continue;
    return rows;
}

}  // namespace

std::vector<BenchRow> run_microbench(Device& device, Transport& transport,
                                     const std::vector<Communicator>& communicators, const BenchSizes& sizes) {
    std::vector<BenchRow> rows = bench_kernels_once(device, transport, sizes);
    transport.barrier(control_channel, all_ranks(transport));
    for (BenchRow& row : bench_communication(device, transport, communicators, sizes)) rows.push_back(std::move(row));
    for (BenchRow& row : bench_overlap(device, transport, communicators, sizes)) rows.push_back(std::move(row));
    return rows;
}

}  // namespace foreshard::runtime
