#include "runtime/threads_transport.hpp"

#include <atomic>
#include <numeric>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace foreshard::runtime {
namespace {

using testing::HasSubstr;

constexpr Channel dp_channel{Axis::dp, Lane::dp};
constexpr Channel forward_channel{Axis::pp, Lane::send_forward};

std::vector<int> everyone(const Transport& transport) {
    std::vector<int> group(static_cast<std::size_t>(transport.size()));
    std::iota(group.begin(), group.end(), 0);
    return group;
}

std::span<std::byte> bytes_of(std::vector<double>& values) {
    return std::as_writable_bytes(std::span(values));
}

/// Element i of rank r is a number with a different rounding for every order of additions.
std::vector<double> values_of(int rank, int count) {
    std::vector<double> values;
    for (int i = 0; i < count; ++i) values.push_back(1.0 / (3.0 + rank * 7.0 + i));
    return values;
}

double sum_in_rank_order(int ranks, int element) {
    double sum = values_of(0, element + 1).back();
    for (int r = 1; r < ranks; ++r) sum += values_of(r, element + 1).back();
    return sum;
}

std::string failure_of(int ranks, const std::function<void(Transport&)>& work, double timeout_s = 60.0) {
    ThreadsWorld world(ranks, std::chrono::duration<double>(timeout_s));
    try {
        run_ranks(world, ranks, work);
    } catch (const TransportError& error) {
        return error.what();
    }
    return "";
}

TEST(ThreadsTransport, AllReduceAddsInTheOrderOfRanks) {
    for (const int ranks : {1, 2, 3, 5, 8}) {
        ThreadsWorld world(ranks);
        run_ranks(world, ranks, [&](Transport& transport) {
            std::vector<double> values = values_of(transport.rank(), 11);
            transport.all_reduce(dp_channel, everyone(transport), {bytes_of(values), ElementType::fp64},
                                 Reduction::sum);
            for (int i = 0; i < 11; ++i) EXPECT_EQ(values[static_cast<std::size_t>(i)], sum_in_rank_order(ranks, i));
        });
    }
}

TEST(ThreadsTransport, AllReduceFindsTheMaximum) {
    ThreadsWorld world(3);
    run_ranks(world, 3, [&](Transport& transport) {
        std::vector<double> values = {-1.0 * transport.rank(), 2.0 * transport.rank()};
        transport.all_reduce(dp_channel, everyone(transport), {bytes_of(values), ElementType::fp64}, Reduction::max);
        EXPECT_THAT(values, testing::ElementsAre(0.0, 4.0));
    });
}

TEST(ThreadsTransport, ReduceScatterThenAllGatherIsAnAllReduce) {
    constexpr int count = 13;  // does not divide
    for (const int ranks : {1, 2, 4, 5}) {
        ThreadsWorld world(ranks);
        run_ranks(world, ranks, [&](Transport& transport) {
            std::vector<double> values = values_of(transport.rank(), count);
            const std::span<std::byte> all = bytes_of(values);
            const Range mine = shard_of(count, ranks, transport.rank());
            const std::span<std::byte> part =
                all.subspan(static_cast<std::size_t>(mine.begin) * 8, static_cast<std::size_t>(mine.size()) * 8);
            transport.reduce_scatter(dp_channel, everyone(transport), {all, ElementType::fp64},
                                     {part, ElementType::fp64});
            transport.all_gather(dp_channel, everyone(transport), part, {all, ElementType::fp64});
            for (int i = 0; i < count; ++i) {
                EXPECT_EQ(values[static_cast<std::size_t>(i)], sum_in_rank_order(ranks, i));
            }
        });
    }
}

TEST(ThreadsTransport, ABroadcastGivesWhatItsRootHas) {
    ThreadsWorld world(3);
    run_ranks(world, 3, [&](Transport& transport) {
        for (int root = 0; root < 3; ++root) {
            std::vector<double> values = values_of(transport.rank(), 5);
            transport.broadcast(dp_channel, everyone(transport), root, {bytes_of(values), ElementType::fp64});
            EXPECT_EQ(values, values_of(root, 5));
        }
    });
}

TEST(ThreadsTransport, NamesBroadcastsOfDifferentRoots) {
    const std::string failure = failure_of(2, [](Transport& transport) {
        std::vector<double> values(2);
        transport.broadcast(dp_channel, everyone(transport), transport.rank(), {bytes_of(values), ElementType::fp64});
    });
    EXPECT_THAT(failure, HasSubstr("broadcast"));
}

TEST(ThreadsTransport, MessagesOfAPairKeepTheirOrder) {
    ThreadsWorld world(2);
    run_ranks(world, 2, [&](Transport& transport) {
        for (int i = 0; i < 100; ++i) {
            std::vector<double> value = {transport.rank() == 0 ? 1.0 * i : -1.0};
            if (transport.rank() == 0) {
                transport.send(forward_channel, 1, bytes_of(value));
            } else {
                transport.receive(forward_channel, 0, bytes_of(value));
            }
            EXPECT_EQ(value.front(), 1.0 * i);
        }
    });
}

TEST(ThreadsTransport, TellsWaitingFromTransfer) {
    ThreadsWorld world(2);
    std::vector<Clock::time_point> called(2);
    std::vector<Clock::time_point> met(2);
    run_ranks(world, 2, [&](Transport& transport) {
        const auto rank = static_cast<std::size_t>(transport.rank());
        if (rank == 1) std::this_thread::sleep_for(std::chrono::milliseconds(20));
        called[rank] = Clock::now();
        met[rank] = transport.barrier(dp_channel, everyone(transport)).at;
    });
    EXPECT_EQ(met[0], met[1]);
    EXPECT_GE(met[0], called[1]);
    EXPECT_GE(called[1] - called[0], std::chrono::milliseconds(15));
}

TEST(ThreadsTransport, NamesBothSidesOfAWrongMessageSize) {
    const std::string failure = failure_of(2, [](Transport& transport) {
        std::vector<double> values(transport.rank() == 0 ? 4 : 3);
        if (transport.rank() == 0) {
            transport.send(forward_channel, 1, bytes_of(values));
        } else {
            transport.receive(forward_channel, 0, bytes_of(values));
        }
    });
    EXPECT_THAT(failure, HasSubstr("rank 0 sends message of 32 bytes, but rank 1 expects message of 24 bytes"));
}

TEST(ThreadsTransport, NamesDifferentCollectives) {
    const std::string failure = failure_of(2, [](Transport& transport) {
        std::vector<double> values(2);
        const Elements elements{bytes_of(values), ElementType::fp64};
        if (transport.rank() == 0) {
            transport.all_reduce(dp_channel, everyone(transport), elements, Reduction::sum);
        } else {
            transport.barrier(dp_channel, everyone(transport));
        }
    });
    EXPECT_THAT(failure, HasSubstr("rank 0 calls all-reduce of 16 bytes, but rank 1 calls barrier of 0 bytes"));
}

TEST(ThreadsTransport, FindsARingOfWaitsAtOnce) {
    const auto start = Clock::now();
    const std::string failure = failure_of(3, [](Transport& transport) {
        std::vector<double> value(1);
        transport.receive(forward_channel, (transport.rank() + 1) % 3, bytes_of(value));
    });
    EXPECT_THAT(failure, HasSubstr("deadlock"));
    for (int r = 0; r < 3; ++r) {
        EXPECT_THAT(failure, HasSubstr("rank " + std::to_string(r) + " waits for rank " + std::to_string((r + 1) % 3)));
    }
    EXPECT_LT(Clock::now() - start, std::chrono::seconds(30));
}

TEST(ThreadsTransport, FindsThatAPeerIsGone) {
    const std::string failure = failure_of(2, [](Transport& transport) {
        std::vector<double> value(1);
        if (transport.rank() == 1) transport.receive(forward_channel, 0, bytes_of(value));
    });
    EXPECT_THAT(failure, HasSubstr("rank 1 waits for rank 0"));
}

TEST(ThreadsTransport, ARankThatThrowsEndsTheOthers) {
    const std::string failure = failure_of(3, [](Transport& transport) {
        if (transport.rank() == 2) throw std::runtime_error("no memory");
        transport.barrier(dp_channel, everyone(transport));
    });
    EXPECT_EQ(failure, "no memory");
}

TEST(ThreadsTransport, EndsAtTheTimeoutWhenARankIsStuckElsewhere) {
    const std::string failure = failure_of(
        2,
        [](Transport& transport) {
            if (transport.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(500));
            transport.barrier(dp_channel, everyone(transport));
        },
        0.05);
    EXPECT_THAT(failure, HasSubstr("nothing came within 0.05 s"));
    EXPECT_THAT(failure, HasSubstr("rank 0 waits for rank 1"));
    EXPECT_THAT(failure, HasSubstr("rank 1 is at work"));
}

/// Ranks that share a GPU: another one does the work, once for all members; what ranks tell each other stays on the
/// host.
TEST(Carrier, GetsTheQueuesOfAllMembersOnTheThreadOfTheLast) {
    std::atomic<int> carried = 0;
    static thread_local int queue = 0;
    Carrier carrier;
    carrier.queue = [] { return static_cast<void*>(&queue); };
    carrier.carry = [&](std::vector<MemberCall>& calls) {
        ++carried;
        EXPECT_EQ(calls.size(), 3U);
        std::set<void*> queues;
        for (const MemberCall& call : calls) queues.insert(call.queue);
        EXPECT_EQ(queues.size(), 3U);
        EXPECT_TRUE(queues.contains(&queue)) << "the calling thread is a member";
        carry_on_host(calls);
    };
    ThreadsWorld world(3, std::chrono::seconds(60), carrier);
    run_ranks(world, 3, [&](Transport& transport) {
        std::vector<double> values = {1.0 + transport.rank()};
        transport.all_reduce(dp_channel, everyone(transport), {bytes_of(values), ElementType::fp64}, Reduction::sum);
        EXPECT_EQ(values.front(), 6.0);
        transport.all_reduce(control_channel, everyone(transport), {bytes_of(values), ElementType::fp64},
                             Reduction::max);
    });
    EXPECT_EQ(carried, 1);
}

TEST(Carrier, ItsFailureEndsTheJobWithItsWords) {
    Carrier carrier;
    carrier.carry = [](std::vector<MemberCall>& /*calls*/) { throw std::runtime_error("cudaMemcpyAsync failed"); };
    ThreadsWorld world(2, std::chrono::seconds(60), carrier);
    try {
        run_ranks(world, 2, [&](Transport& transport) {
            std::vector<double> values = {1.0};
            transport.all_reduce(dp_channel, everyone(transport), {bytes_of(values), ElementType::fp64},
                                 Reduction::sum);
        });
        FAIL() << "must end";
    } catch (const TransportError& error) {
        EXPECT_THAT(error.what(), testing::AllOf(HasSubstr("all-reduce on dp"), HasSubstr("cudaMemcpyAsync failed")));
    }
}

}  // namespace
}  // namespace foreshard::runtime
