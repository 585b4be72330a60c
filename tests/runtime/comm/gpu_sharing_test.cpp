#include "runtime/comm/gpu_sharing.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/error.hpp"

namespace foreshard::runtime {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(GpuSharing, TheSameNumberOnAnotherHostIsAnotherGpu) {
    EXPECT_EQ(gpu_sharing({{"a", "1"}, {"a", "2"}, {"b", "1"}}, 22809), GpuSharing::none);
}

TEST(GpuSharing, OldLibrariesRefuseAndNewOnesAreTold) {
    const std::vector<GpuPlace> two = {{"a", "x1"}, {"a", "x2"}, {"a", "x1"}};
    try {
        gpu_sharing(two, 22809);
        FAIL() << "must be refused";
    } catch (const InputError& error) {
        EXPECT_THAT(error.what(), AllOf(HasSubstr("ranks 0 and 2"), HasSubstr("x1"), HasSubstr("2.28.9"),
                                        HasSubstr("--comm virtual")));
    }
    EXPECT_THROW(gpu_sharing(two, 23002), InputError);
    EXPECT_EQ(gpu_sharing(two, 23003), GpuSharing::shared);
}

TEST(GpuSharing, LocalRanksTakeGpusInOrder) {
    EXPECT_EQ(gpu_of_local_rank(3, 8, false, ""), 3);
    EXPECT_EQ(gpu_of_local_rank(3, 2, true, ""), 1);
    try {
        gpu_of_local_rank(3, 2, false, "0,1");
        FAIL() << "must be refused";
    } catch (const InputError& error) {
        EXPECT_THAT(error.what(), AllOf(HasSubstr("3"), HasSubstr("2 GPUs"), HasSubstr("CUDA_VISIBLE_DEVICES=0,1")));
    }
    EXPECT_THROW(gpu_of_local_rank(0, 0, true, ""), InputError);
}

}  // namespace
}  // namespace foreshard::runtime
