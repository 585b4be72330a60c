#include "runtime/memory_pool.hpp"

#include <cmath>
#include <cstring>
#include <optional>

#include <gtest/gtest.h>

#include "runtime/cpu/cpu_device.hpp"

namespace foreshard::runtime {
namespace {

class Pools : public testing::Test {
protected:
    std::unique_ptr<Device> device_ = make_cpu_device(ElementType::fp64);
    MemoryPool pool_{*device_, 1 << 16};
};

TEST_F(Pools, TensorsLieInOneRange) {
    const Buffer a(pool_, MemoryKind::weights, 10, 10);
    const Buffer b(pool_, MemoryKind::weights, 10, 10);
    const std::ptrdiff_t distance = b.tensor().data - a.tensor().data;
    EXPECT_GE(distance, 800);
    EXPECT_LE(distance, 1280);
    EXPECT_EQ(pool_.use().ranges, 1);
    EXPECT_EQ(pool_.use().reserved, std::size_t{1} << 16);
    EXPECT_GE(pool_.use().most, 1600U);
}

/// The range is a plan's; what goes beyond it shows in the report and not in a failure.
TEST_F(Pools, WhatDoesNotFitGetsARangeOfItsOwn) {
    {
        const Buffer large(pool_, MemoryKind::weights, 1, 1 << 16);
        device_->fill(large.tensor(), 1.0);
        EXPECT_EQ(pool_.use().ranges, 2);
        EXPECT_GE(pool_.use().reserved, std::size_t{9} << 16);
    }
    const Buffer again(pool_, MemoryKind::weights, 1, 1 << 16);
    EXPECT_EQ(pool_.use().ranges, 2);
}

TEST_F(Pools, FreedMemoryIsUsedAgain) {
    const std::byte* place = nullptr;
    for (int i = 0; i < 3; ++i) {
        const Buffer a(pool_, MemoryKind::activations, 4, 4);
        EXPECT_TRUE(place == nullptr || place == a.tensor().data);
        place = a.tensor().data;
    }
}

double first_of(const std::byte* data) {
    double value = 0.0;
    std::memcpy(&value, data, sizeof value);
    return value;
}

#if defined(__SANITIZE_ADDRESS__)

using PoolsDeath = Pools;

TEST_F(PoolsDeath, AnEarlyAndALateUseEndTheProgram) {
    std::optional<Buffer> planned(std::in_place, pool_, MemoryKind::activations, 4, 4);
    const std::byte* later = planned->tensor().data + 4096;  // where nothing lies yet
    device_->fill(planned->tensor(), 1.0);
    EXPECT_EQ(first_of(planned->tensor().data), 1.0);
    EXPECT_DEATH(static_cast<void>(first_of(later)), "use-after-poison");
    const std::byte* place = planned->tensor().data;
    planned.reset();
    EXPECT_DEATH(static_cast<void>(first_of(place)), "use-after-poison");
}

TEST_F(PoolsDeath, AUseBeyondATensorEndsTheProgram) {
    const Buffer a(pool_, MemoryKind::activations, 1, 32);
    const Buffer b(pool_, MemoryKind::activations, 1, 32);
    EXPECT_DEATH(device_->fill({a.tensor().data, 1, 33, a.tensor().type}, 0.0), "use-after-poison");
}

#else

TEST_F(Pools, AnEarlyAndALateUseReadNaN) {
    std::optional<Buffer> planned(std::in_place, pool_, MemoryKind::activations, 4, 4);
    EXPECT_TRUE(std::isnan(first_of(planned->tensor().data + 4096)));  // where nothing lies yet
    EXPECT_TRUE(std::isnan(first_of(planned->tensor().data)));
    device_->fill(planned->tensor(), 1.0);
    const std::byte* place = planned->tensor().data;
    planned.reset();
    EXPECT_TRUE(std::isnan(first_of(place)));
}

#endif

}  // namespace
}  // namespace foreshard::runtime
