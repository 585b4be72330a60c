#include <cmath>
#include <numeric>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "runtime/exchange.hpp"
#include "runtime/mpi_session.hpp"

/// A rank of an MPI job that tries every call of the transport; started by mpirun. Exits with 1 when a result is wrong.
namespace foreshard::runtime {
namespace {

constexpr Channel dp_channel{Axis::dp, Lane::dp};
constexpr Channel forward_channel{Axis::pp, Lane::send_forward};

int faults = 0;

void expect(bool right, const char* what, int rank) {
    if (right) return;
    ++faults;
    fmt::print(stderr, "rank {}: {}\n", rank, what);
}

std::span<std::byte> bytes_of(std::vector<double>& values) {
    return std::as_writable_bytes(std::span(values));
}

/// Numbers whose sum has a different rounding in every order.
std::vector<double> values_of(int rank, int count) {
    std::vector<double> values(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) values[static_cast<std::size_t>(i)] = 1.0 / (3.0 + rank * 7.0 + i);
    return values;
}

std::vector<double> sum_in_rank_order(int ranks, int count) {
    std::vector<double> sum = values_of(0, count);
    for (int r = 1; r < ranks; ++r) {
        const std::vector<double> values = values_of(r, count);
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += values[i];
    }
    return sum;
}

void try_collectives(Transport& transport) {
    const std::vector<int> group = all_ranks(transport);
    const int rank = transport.rank();
    for (const int count : {1, 13, 1000}) {
        const std::vector<double> sum = sum_in_rank_order(transport.size(), count);
        std::vector<double> values = values_of(rank, count);
        transport.all_reduce(dp_channel, group, {bytes_of(values), ElementType::fp64}, Reduction::sum);
        expect(values == sum, "all-reduce", rank);

        values = values_of(rank, count);
        const Range part = shard_of(count, transport.size(), rank);
        const std::span<std::byte> mine = bytes_of(values).subspan(static_cast<std::size_t>(part.begin) * 8,
                                                                   static_cast<std::size_t>(part.size()) * 8);
        transport.reduce_scatter(dp_channel, group, {bytes_of(values), ElementType::fp64}, {mine, ElementType::fp64});
        transport.all_gather(dp_channel, group, mine, {bytes_of(values), ElementType::fp64});
        expect(values == sum, "reduce-scatter and all-gather", rank);
    }
    for (int root = 0; root < transport.size(); ++root) {
        std::vector<double> values = values_of(rank, 13);
        transport.broadcast(dp_channel, group, root, {bytes_of(values), ElementType::fp64});
        expect(values == values_of(root, 13), "broadcast", rank);
    }
    std::vector<double> largest = {1.0 * rank};
    transport.all_reduce(dp_channel, group, {bytes_of(largest), ElementType::fp64}, Reduction::max);
    expect(largest.front() == transport.size() - 1.0, "maximum", rank);
}

/// Both directions of a ring at a time, each on a thread of its own.
void try_messages(Transport& transport) {
    const int rank = transport.rank();
    const int size = transport.size();
    const auto ring = [&](Lane lane, int step) {
        const int next = (rank + step + size) % size;
        const int previous = (rank - step + size) % size;
        const Channel channel{Axis::pp, lane};
        std::jthread sender([&] {
            for (int i = 0; i < 50; ++i) {
                std::vector<double> value = {1000.0 * rank + i};
                transport.send(channel, next, bytes_of(value));
            }
        });
        for (int i = 0; i < 50; ++i) {
            std::vector<double> value = {-1.0};
            transport.receive(channel, previous, bytes_of(value));
            expect(value.front() == 1000.0 * previous + i, "order of messages", rank);
        }
    };
    std::jthread backward([&] { ring(Lane::send_backward, -1); });
    ring(Lane::send_forward, 1);
}

void try_mismatch(Transport& transport) {
    const int rank = transport.rank();
    if (rank > 1) return;
    std::vector<double> values(rank == 0 ? 4 : 3);
    std::string what;
    try {
        if (rank == 0) {
            transport.send(forward_channel, 1, bytes_of(values));
        } else {
            transport.receive(forward_channel, 0, bytes_of(values));
        }
    } catch (const TransportError& error) {
        what = error.what();
    }
    expect(what.find("32 bytes") != std::string::npos && what.find("24 bytes") != std::string::npos,
           "a wrong size is named on both sides", rank);
}

}  // namespace
}  // namespace foreshard::runtime

int main() {
    using namespace foreshard::runtime;
    MpiSession session(std::chrono::duration<double>(20.0));
    Transport& transport = session.transport();
    const ClockOffset clock = session.measure_clock();
    // One machine has one clock.
    expect(std::chrono::abs(clock.ahead) <= clock.residual + std::chrono::milliseconds(1), "clock", transport.rank());
    try_collectives(transport);
    try_messages(transport);
    transport.barrier(control_channel, all_ranks(transport));
    try_mismatch(transport);
    // Nothing can be said after a mismatch: what is left in flight belongs to the call that failed.
    if (faults > 0) session.kill(1);
    return 0;
}
