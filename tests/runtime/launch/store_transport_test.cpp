#include "runtime/launch/store_transport.hpp"

#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/exchange.hpp"
#include "runtime/launch/store_server.hpp"
#include "runtime/launch/tcp_store.hpp"

namespace foreshard::runtime {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;

constexpr Channel dp_channel{Axis::dp, Lane::dp};
constexpr Channel forward_channel{Axis::pp, Lane::send_forward};

std::span<std::byte> bytes_of(std::vector<double>& values) {
    return std::as_writable_bytes(std::span(values));
}

/// Every rank in a thread with a client of its own. Failures by rank, empty for none.
std::vector<std::string> run(int ranks, const std::function<void(StoreTransport&)>& work,
                             std::chrono::duration<double> timeout = 20s) {
    const StoreServer server(0, "run");
    std::vector<std::string> failures(static_cast<std::size_t>(ranks));
    std::vector<std::thread> threads;
    threads.reserve(static_cast<std::size_t>(ranks));
    for (int rank = 0; rank < ranks; ++rank) {
        threads.emplace_back([&, rank] {
            TcpStore store({"localhost", server.port(), "run", rank}, 20s);
            StoreTransport transport(store.store(), rank, ranks, timeout);
            try {
                work(transport);
            } catch (const TransportError& error) {
                failures[static_cast<std::size_t>(rank)] = error.what();
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    return failures;
}

double value_of(int rank, int i) {
    return 1.0 / (3.0 + rank * 7.0 + i);
}

TEST(StoreTransport, CollectivesAddInTheOrderOfRanks) {
    constexpr int ranks = 3;
    constexpr int count = 11;  // does not divide
    const auto failures = run(ranks, [](StoreTransport& transport) {
        const std::vector<int> group = all_ranks(transport);
        std::vector<double> values;
        values.reserve(count);
        for (int i = 0; i < count; ++i) values.push_back(value_of(transport.rank(), i));
        std::vector<double> scattered = values;
        transport.all_reduce(dp_channel, group, {bytes_of(values), ElementType::fp64}, Reduction::sum);
        const Range part = shard_of(count, ranks, transport.rank());
        const std::span<std::byte> mine = bytes_of(scattered).subspan(static_cast<std::size_t>(part.begin) * 8,
                                                                      static_cast<std::size_t>(part.size()) * 8);
        transport.reduce_scatter(dp_channel, group, {bytes_of(scattered), ElementType::fp64},
                                 {mine, ElementType::fp64});
        transport.all_gather(dp_channel, group, mine, {bytes_of(scattered), ElementType::fp64});
        for (int i = 0; i < count; ++i) {
            const double sum = value_of(0, i) + value_of(1, i) + value_of(2, i);
            EXPECT_EQ(values[static_cast<std::size_t>(i)], sum);
            EXPECT_EQ(scattered[static_cast<std::size_t>(i)], sum);
        }
        std::vector<double> largest = {1.0 * transport.rank()};
        transport.all_reduce(dp_channel, group, {bytes_of(largest), ElementType::fp64}, Reduction::max);
        EXPECT_EQ(largest.front(), 2.0);
        transport.barrier(dp_channel, group);
        std::string name(static_cast<std::size_t>(transport.rank()), 'r');
        const auto told = tell_all(transport, std::as_bytes(std::span(name)));
        for (std::size_t r = 0; r < told.size(); ++r) EXPECT_EQ(told[r].size(), r);
    });
    EXPECT_THAT(failures, testing::Each(""));
}

TEST(StoreTransport, ABroadcastGivesWhatItsRootHas) {
    const auto failures = run(3, [](StoreTransport& transport) {
        for (int root = 0; root < 3; ++root) {
            std::vector<double> values = {value_of(transport.rank(), 0), value_of(transport.rank(), 1)};
            transport.broadcast(dp_channel, all_ranks(transport), root, {bytes_of(values), ElementType::fp64});
            EXPECT_EQ(values, std::vector<double>({value_of(root, 0), value_of(root, 1)}));
        }
    });
    EXPECT_THAT(failures, testing::Each(""));
}

TEST(StoreTransport, MessagesOfAPairKeepTheirOrder) {
    const auto failures = run(2, [](StoreTransport& transport) {
        for (int i = 0; i < 20; ++i) {
            std::vector<double> value = {transport.rank() == 0 ? 1.0 * i : -1.0};
            if (transport.rank() == 0) {
                transport.send(forward_channel, 1, bytes_of(value));
            } else {
                transport.receive(forward_channel, 0, bytes_of(value));
                EXPECT_EQ(value.front(), 1.0 * i);
            }
        }
    });
    EXPECT_THAT(failures, testing::Each(""));
}

TEST(StoreTransport, CallsThatDoNotFitAreNamed) {
    const auto sizes = run(2, [](StoreTransport& transport) {
        std::vector<double> values(transport.rank() == 0 ? 4 : 5);
        transport.all_reduce(dp_channel, std::vector<int>{0, 1}, {bytes_of(values), ElementType::fp64}, Reduction::sum);
    });
    EXPECT_THAT(sizes[0], AllOf(HasSubstr("32 bytes"), HasSubstr("40 bytes"), HasSubstr("rank 1")));
    EXPECT_EQ(sizes[0], sizes[1]);
    const auto messages = run(2, [](StoreTransport& transport) {
        std::vector<double> values(transport.rank() == 0 ? 2 : 1);
        if (transport.rank() == 0) {
            transport.send(forward_channel, 1, bytes_of(values));
        } else {
            transport.receive(forward_channel, 0, bytes_of(values));
        }
    });
    EXPECT_THAT(messages[0], AllOf(HasSubstr("8 bytes"), HasSubstr("16 bytes")));
    EXPECT_EQ(messages[0], messages[1]);
}

/// A value that is shorter than it says must not be read beyond its end.
TEST(StoreTransport, AMessageThatWasCutIsRefused) {
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{7}, std::size_t{24}}) {
        const StoreServer server(0, "run");
        TcpStore store({"localhost", server.port(), "run", 1}, 5s);
        struct {
            std::int32_t kind_to_unused[4] = {};
            std::int64_t total = 16;
        } header;
        const auto head = std::as_bytes(std::span(&header, 1)).first(bytes);
        store.store().set(fmt::format("{}.{}.1-to-0.0", to_string(Axis::pp), to_string(Lane::send_forward)), head, 1);
        StoreTransport transport(store.store(), 0, 2, 5s);
        std::vector<double> values(2);
        try {
            transport.receive(forward_channel, 1, bytes_of(values));
            FAIL() << "was not refused";
        } catch (const TransportError& error) {
            EXPECT_THAT(error.what(), AllOf(HasSubstr("rank 1"), HasSubstr("cut")));
        }
    }
}

TEST(StoreTransport, TheTimeoutSaysWhoIsAwaited) {
    const auto failures = run(
        2,
        [](StoreTransport& transport) {
            if (transport.rank() == 0) return;
            std::vector<double> values(3);
            transport.receive(forward_channel, 0, bytes_of(values));
        },
        0.2s);
    EXPECT_EQ(failures[0], "");
    EXPECT_THAT(failures[1], AllOf(HasSubstr("rank 1 waited for rank 0"), HasSubstr("24 bytes")));
}

}  // namespace
}  // namespace foreshard::runtime
