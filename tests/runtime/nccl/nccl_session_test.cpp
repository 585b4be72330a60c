#include "runtime/nccl_session.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/cuda/cuda_device.hpp"
#include "runtime/memory_pool.hpp"
#include "runtime/threads_transport.hpp"
#include "sim/error.hpp"

namespace foreshard::runtime {
namespace {

constexpr Channel dp_channel{Axis::dp, Lane::dp};

class Nccl : public testing::Test {
protected:
    void SetUp() override {
        if (const std::string missing = cuda::missing_gpu(); !missing.empty()) GTEST_SKIP() << missing;
    }
};

/// Without a GPU too: the session says what is missing, and does not crash.
TEST(NcclWithoutGpu, SaysThatThereIsNone) {
    if (cuda::missing_gpu().empty()) GTEST_SKIP() << "there is a GPU";
    ThreadsWorld world(1, std::chrono::seconds(10));
    const NcclGround ground{world.rank(0), 0, [] {}, std::chrono::seconds(10)};
    try {
        const NcclSession session(ground, {});
        FAIL() << "must be refused";
    } catch (const InputError& error) {
        EXPECT_THAT(error.what(), testing::HasSubstr(cuda::missing_gpu()));
    }
}

/// A communicator of one rank: initialisation, queue, watchdog and end.
TEST_F(Nccl, OneRankGathersItsOwn) {
    ThreadsWorld world(1, std::chrono::seconds(60));
    world.room().expect(1);
    const WaitingRoom::Guest guest(world.room(), 0);
    const NcclGround ground{world.rank(0), 0, [] {}, std::chrono::seconds(60)};
    NcclSession session(ground, {});
    EXPECT_THAT(session.library(), testing::StartsWith("NCCL 2."));
    cuda::CudaDevice device({});
    MemoryPool pool(device, std::size_t{1} << 20, Poison::off);
    const Buffer mine(pool, MemoryKind::weights, 1, 100);
    const Buffer all(pool, MemoryKind::weights, 1, 100);
    device.fill(mine.tensor(), 3.0);
    device.fill(all.tensor(), -1.0);
    const std::vector<int> group = {0};
    session.transport().all_gather(dp_channel, group, mine.span(), {all.span(), ElementType::fp32});
    session.transport().all_reduce(dp_channel, group, {all.span(), ElementType::fp32}, Reduction::sum);
    EXPECT_EQ(device.load(all.tensor()), std::vector<double>(100, 3.0));
}

/// Two ranks of one process on one GPU: NCCL before 2.30.3 refuses it, and that is told before it is tried.
TEST_F(Nccl, TwoRanksOnAGpuAreRefusedByOldLibraries) {
    ThreadsWorld world(2, std::chrono::seconds(60));
    std::string told;
    try {
        run_ranks(world, 2, [&](Transport& transport) {
            const NcclGround ground{transport, 0, [] {}, std::chrono::seconds(60)};
            const NcclSession session(ground, {});
        });
    } catch (const std::exception& error) {
        told = error.what();
    }
    EXPECT_THAT(told, testing::AnyOf(testing::IsEmpty(), testing::HasSubstr("ranks 0 and 1")));
}

}  // namespace
}  // namespace foreshard::runtime
