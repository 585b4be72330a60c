#include "sim/result/span_subset.hpp"

#include <gtest/gtest.h>

#include "tests/support/runs.hpp"

namespace foreshard {
namespace {

TEST(SpanSubset, HoldsWhatWasAskedForInTheSameRows) {
    const SpanTable all = test::random_spans(7, 3, 200);
    std::vector<std::size_t> which;
    for (std::size_t i = 0; i < all.size(); i += 3) which.push_back(i);
    const SpanTable some = subset_of(all, which);
    ASSERT_EQ(some.size(), which.size());
    ASSERT_EQ(some.rows.size(), all.rows.size());
    for (std::size_t row = 0; row < some.rows.size(); ++row) {
        for (std::size_t i = some.rows[row].first; i < some.rows[row].last; ++i) {
            const std::size_t original = which[i];
            EXPECT_GE(original, all.rows[row].first);
            EXPECT_LT(original, all.rows[row].last);
            EXPECT_EQ(some.start[i], all.start[original]);
            EXPECT_EQ(some.end[i], all.end[original]);
            EXPECT_EQ(some.kind[i], all.kind[original]);
            EXPECT_EQ(some.microbatch[i], all.microbatch[original]);
        }
    }
    EXPECT_EQ(some.rows.back().last, some.size());
    EXPECT_EQ(subset_of(all, {}).size(), 0U);
}

}  // namespace
}  // namespace foreshard
