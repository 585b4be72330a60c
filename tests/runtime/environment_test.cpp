#include "runtime/environment.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace foreshard::runtime {
namespace {

using testing::ElementsAre;
using testing::Pair;

TEST(Environment, KeepsVariablesThatChangeARun) {
    const char* const entries[] = {"NCCL_DEBUG=INFO", "HOME=/root", "CUDA_VISIBLE_DEVICES=0,1", "RANK=3",
                                   "NCCLX=1",         "broken",     "NCCL_SOCKET_IFNAME=",      nullptr};
    EXPECT_THAT(recorded_variables(entries),
                ElementsAre(Pair("CUDA_VISIBLE_DEVICES", "0,1"), Pair("NCCL_DEBUG", "INFO"),
                            Pair("NCCL_SOCKET_IFNAME", ""), Pair("RANK", "3")));
    EXPECT_TRUE(recorded_variables(nullptr).empty());
}

TEST(Environment, FindsTheDriverInBothOfItsForms) {
    EXPECT_EQ(driver_in("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu Oct 19 18:56:32 UTC 2023"),
              "535.129.03");
    EXPECT_EQ(driver_in("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build"),
              "580.65.06");
    EXPECT_EQ(driver_in("no version here"), "");
}

}  // namespace
}  // namespace foreshard::runtime
