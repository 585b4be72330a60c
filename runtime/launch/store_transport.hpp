#pragma once

#include <map>
#include <mutex>
#include <thread>

#include "runtime/launch/store.hpp"

/// Transport of processes that have nothing but a store in common. All data passes through rank 0's process: meant for
/// what ranks tell each other beside a fast transport, and for plans on processors without MPI.
namespace foreshard::runtime {

/// Reductions add in the order of ranks, bit for bit as the transport of threads does. Of a call it is not known when
/// the last member arrived: Met is when the data is there.
class StoreTransport final : public Transport {
public:
    StoreTransport(Store store, int rank, int size, std::chrono::duration<double> timeout);

    int rank() const override { return rank_; }
    int size() const override { return size_; }
    Met send(Channel channel, int peer, std::span<const std::byte> data) override;
    Met receive(Channel channel, int peer, std::span<std::byte> data) override;
    Met all_reduce(Channel channel, std::span<const int> group, Elements data, Reduction reduction) override;
    Met all_gather(Channel channel, std::span<const int> group, std::span<const std::byte> mine, Elements all) override;
    Met reduce_scatter(Channel channel, std::span<const int> group, Elements all, Elements mine) override;
    Met broadcast(Channel channel, std::span<const int> group, int root, Elements data) override;
    Met barrier(Channel channel, std::span<const int> group) override;
    void abort(const std::string& reason) override { store_.fail(rank_, reason); }

    /// What threads of this rank wait for, empty for nothing.
    std::string waits();

private:
    enum class Kind : std::int32_t { message, all_reduce, all_gather, reduce_scatter, broadcast, barrier };
    /// What a member says of its call; all members' must be equal.
    struct Header {
        Kind kind = Kind::barrier;
        std::int32_t type = 0;
        std::int32_t reduction = 0;
        std::int32_t root = 0;  ///< of a broadcast
        std::int64_t total = 0;
        bool operator==(const Header&) const = default;
    };
    using Parts = std::vector<std::vector<std::byte>>;
    using Combine = std::function<std::vector<std::byte>(Parts& parts)>;

    std::string next_key(const std::string& line);
    std::vector<std::byte> await(const std::string& key, const std::string& what);
    std::vector<std::byte> exchange(Channel channel, std::span<const int> group, const Header& mine,
                                    std::span<const std::byte> data, const Combine& combine);
    std::vector<std::byte> collect(const std::string& key, std::span<const int> group, const Header& mine,
                                   std::span<const std::byte> data, const Combine& combine, const std::string& what);
    std::span<const std::byte> body_of(const Header& mine, int peer, std::span<const std::byte> came,
                                       const std::string& what);
    void check(const Header& mine, int peer, const Header& theirs, const std::string& what);

    Store store_;
    int rank_;
    int size_;
    std::chrono::duration<double> timeout_;
    std::mutex mutex_;
    std::map<std::string, std::int64_t> calls_made_;  ///< per line: between whom and on which channel
    std::map<std::thread::id, std::string> waits_;
};

}  // namespace foreshard::runtime
