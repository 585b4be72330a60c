#pragma once

#include "runtime/mpi_requests.hpp"

namespace foreshard::runtime {

/// Transport over MPI's point-to-point calls. Before data moves, all members exchange what they call and how much they
/// bring: a mismatch is named on every side, and the moment when the last member arrived is known. Reductions add in
/// the order of ranks, bit for bit as the transport of threads does.
class MpiTransport final : public Transport {
public:
    MpiTransport(int rank, int size, std::chrono::duration<double> timeout)
        : rank_(rank), size_(size), timeout_(timeout), alarm_(rank) {}

    int rank() const override { return rank_; }
    int size() const override { return size_; }
    Met send(Channel channel, int peer, std::span<const std::byte> data) override;
    Met receive(Channel channel, int peer, std::span<std::byte> data) override;
    Met all_reduce(Channel channel, std::span<const int> group, Elements data, Reduction reduction) override;
    Met all_gather(Channel channel, std::span<const int> group, std::span<const std::byte> mine, Elements all) override;
    Met reduce_scatter(Channel channel, std::span<const int> group, Elements all, Elements mine) override;
    Met broadcast(Channel channel, std::span<const int> group, int root, Elements data) override;
    Met barrier(Channel channel, std::span<const int> group) override;
    void abort(const std::string& reason) override { alarm_.raise(reason); }
    std::string waits() { return alarm_.waits(); }
    void check() { alarm_.check(); }

private:
    /// What a member tells the others.
    struct Header {
        std::int32_t kind = 0;  ///< of call; agreed
        std::int32_t type = 0;
        std::int64_t bytes = 0;  ///< agreed, but for all-gathers, where it is the member's part; of broadcasts the root
        std::int64_t total = 0;  ///< agreed
    };
    struct Greeting {
        Met met;
        std::vector<Header> headers;  ///< per member of the group
    };

    Greeting greet(Channel channel, std::span<const int> group, const Header& mine);
    Met greet_peer(int peer, int out_tag, int in_tag, const Header& mine, const std::string& what);
    void refuse(const Header& mine, int peer, const Header& theirs, const std::string& what);
    void exchange_parts(Channel channel, std::span<const int> group, std::span<const std::byte> mine,
                        std::span<std::byte> all, std::span<const std::size_t> sizes);
    void sum_parts(Channel channel, std::span<const int> group, Elements all, std::span<std::byte> mine,
                   Reduction reduction);
    std::size_t place_in(std::span<const int> group) const;

    int rank_;
    int size_;
    std::chrono::duration<double> timeout_;
    MpiAlarm alarm_;
};

}  // namespace foreshard::runtime
