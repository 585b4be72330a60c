#include "runtime/exchange.hpp"

#include <numeric>

namespace foreshard::runtime {

std::vector<int> all_ranks(const Transport& transport) {
    std::vector<int> ranks(static_cast<std::size_t>(transport.size()));
    std::iota(ranks.begin(), ranks.end(), 0);
    return ranks;
}

std::vector<std::vector<std::byte>> tell_all(Transport& transport, std::span<const std::byte> mine) {
    const std::vector<int> ranks = all_ranks(transport);
    const std::uint64_t size = mine.size();
    std::vector<std::uint64_t> sizes(ranks.size());
    transport.all_gather(control_channel, ranks, std::as_bytes(std::span(&size, 1)),
                         {std::as_writable_bytes(std::span(sizes))});
    std::vector<std::byte> all(std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0}));
    transport.all_gather(control_channel, ranks, mine, {all});
    std::vector<std::vector<std::byte>> told;
    told.reserve(ranks.size());
    auto from = all.begin();
    for (const std::uint64_t bytes : sizes) {
        told.emplace_back(from, from + static_cast<std::ptrdiff_t>(bytes));
        from += static_cast<std::ptrdiff_t>(bytes);
    }
    return told;
}

}  // namespace foreshard::runtime
