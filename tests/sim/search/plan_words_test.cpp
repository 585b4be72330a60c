#include "sim/search/plan_words.hpp"

#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

#include "sim/search/text_search.hpp"

namespace foreshard {
namespace {

JobRequest recomputing(const char* how, std::optional<std::string> method, std::optional<int> layers) {
    JobRequest plan;
    plan.recompute = how;
    plan.recompute_method = std::move(method);
    plan.recompute_num_layers = layers;
    return plan;
}

TEST(PlanWords, SayWhichLayersAreRecomputed) {
    EXPECT_EQ(recompute_words(JobRequest{}), "none");
    EXPECT_EQ(recompute_words(recomputing("selective", {}, {})), "selective");
    EXPECT_EQ(recompute_words(recomputing("full", {}, {})), "full");
    EXPECT_EQ(recompute_words(recomputing("full", "block", 4)), "block 4");
    EXPECT_EQ(recompute_words(recomputing("full", "uniform", 2)), "groups 2");
}

/// An axis with one value is no news of a plan.
TEST(PlanWords, SayOnlyWherePlansDiffer) {
    JobRequest a;
    a.precision = "bf16";
    a.overlap_grad_reduce = true;
    a.offload_activation_layers = 0;
    JobRequest b = a;
    b.overlap_grad_reduce = false;
    b.offload_activation_layers = 3;
    const std::vector<std::string> axes = varied_axes({&a, &b});
    EXPECT_EQ(axes, (std::vector<std::string>{"overlap_grad_reduce", "offload_activation_layers"}));
    EXPECT_EQ(axis_words(a, axes), "overlap_grad_reduce");
    EXPECT_EQ(axis_words(b, axes), "offload 3 layers");
    EXPECT_TRUE(varied_axes({&a, &a}).empty());
    EXPECT_TRUE(varied_axes({}).empty());
}

TEST(PlanWords, ThinAFrontAndKeepItsEnds) {
    for (const std::size_t size : {0U, 1U, 15U, 16U, 17U, 100U}) {
        std::vector<std::size_t> front(size);
        std::iota(front.begin(), front.end(), 7U);
        const std::vector<std::size_t> some = thinned_front(front, 16);
        ASSERT_EQ(some.size(), std::min<std::size_t>(size, 16));
        if (size == 0) continue;
        EXPECT_EQ(some.front(), front.front());
        EXPECT_EQ(some.back(), front.back());
        for (std::size_t i = 1; i < some.size(); ++i) EXPECT_LT(some[i - 1], some[i]);
    }
    EXPECT_EQ(front_title("front", 16, 40), "\nfront (16 of 40; --json and --csv have all)\n");
    EXPECT_EQ(front_title("front", 3, 3), "\nfront\n");
}

}  // namespace
}  // namespace foreshard
