#include <cmath>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/bf16.hpp"
#include "runtime/cuda/bodies/flash.hpp"
#include "runtime/cuda/bodies/loss.hpp"
#include "runtime/cuda/emulate.hpp"
#include "runtime/cuda/grouped_tokens.hpp"
#include "runtime/random.hpp"

/// Index maps, tiles, reductions and the recurrence of the softmax, each against what it stands for.
namespace foreshard::runtime::cuda {
namespace {

/// Every element of a packed matrix belongs to one head; every (query, key) that is seen lies in one tile of those that
/// kernels walk.
TEST(Heads, CoverThePackedMatrixOnce) {
    const Heads heads{2, 5, 6, 3, 4, true};
    std::vector<int> seen(static_cast<std::size_t>(heads.sequences * heads.seq * heads.width()));
    const auto mark = [&](std::int64_t first) {
        for (std::int64_t token = 0; token < heads.seq; ++token) {
            for (std::int64_t c = 0; c < heads.dim; ++c) {
                ++seen[static_cast<std::size_t>(first + token * heads.width() + c)];
            }
        }
    };
    for (std::int64_t sequence = 0; sequence < heads.sequences; ++sequence) {
        for (std::int64_t head = 0; head < heads.heads; ++head) mark(heads.query(sequence, head));
        for (std::int64_t kv = 0; kv < heads.kv_heads; ++kv) {
            mark(heads.key(sequence, kv));
            mark(heads.value(sequence, kv));
        }
    }
    EXPECT_THAT(seen, testing::Each(1));
    EXPECT_EQ(heads.kv_head(0), 0);
    EXPECT_EQ(heads.kv_head(1), 0);
    EXPECT_EQ(heads.kv_head(5), 2);
}

TEST(Heads, TilesReachEveryKeyThatIsSeen) {
    for (const bool causal : {false, true}) {
        for (const std::int64_t seq : {1, 15, 16, 17, 50}) {
            const Heads heads{1, seq, 1, 1, 2, causal};
            for (std::int64_t query = 0; query < seq; ++query) {
                for (std::int64_t key = 0; key < seq; ++key) {
                    const std::int64_t query_tile = query / flash_tile * flash_tile;
                    const std::int64_t key_tile = key / flash_tile * flash_tile;
                    const bool by_queries = key_tile < heads.keys_end(query_tile + flash_tile);
                    const bool by_keys = query_tile >= heads.first_query(key_tile) / flash_tile * flash_tile;
                    const bool wanted = !causal || key <= query;
                    EXPECT_EQ(heads.sees(query, key), wanted);
                    EXPECT_TRUE(!wanted || (by_queries && by_keys)) << query << " " << key << " of " << seq;
                }
            }
            EXPECT_FALSE(heads.sees(seq, 0));
            EXPECT_FALSE(heads.sees(seq - 1, seq));
        }
    }
}

TEST(OnlineSoftmax, GivesTheSoftmaxOfAllScores) {
    const std::vector<double> scores = {-3.0, 900.0, 2.0, 899.0, 905.5, -1e4, 905.0};
    OnlineSoftmax<double> online;
    double weighted = 0.0;  // sum of weight x index
    for (std::size_t i = 0; i < scores.size(); ++i) {
        weighted *= online.raise(scores[i]);
        online.sum += online.weight(scores[i]);
        weighted += online.weight(scores[i]) * static_cast<double>(i);
    }
    double sum = 0.0;
    double expected = 0.0;
    for (std::size_t i = 0; i < scores.size(); ++i) {
        sum += std::exp(scores[i] - 905.5);
        expected += std::exp(scores[i] - 905.5) * static_cast<double>(i);
    }
    EXPECT_NEAR(weighted / online.sum, expected / sum, 1e-14);
    EXPECT_NEAR(online.log_sum(), 905.5 + std::log(sum), 1e-12);
}

struct SumAndMost {
    const double* values;
    std::int64_t count;
    double* result;  ///< two per block
    template <class Sync>
    void operator()(const Block<Sync>& block, std::byte* memory) const {
        auto* shared = reinterpret_cast<double*>(memory);
        double sum = 0.0;
        double most = values[0];
        for (std::int64_t i = block.thread; i < count; i += block.threads) {
            sum += values[i];
            most = Larger()(most, values[i]);
        }
        const double all = reduce(block, sum, shared, Plus());
        const double largest = reduce(block, most, shared, Larger());
        if (block.thread + 1 != block.threads) return;  // every thread has the result
        result[2 * block.index] = all;
        result[2 * block.index + 1] = largest;
    }
};

TEST(Reduction, GivesEveryThreadTheSumAndTheLargest) {
    std::vector<double> values(101);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::floor(1000.0 * random_unit(3, i));
    for (const int threads : {1, 2, 8}) {
        std::vector<double> result(6, std::nan(""));
        emulated_threads = threads;
        launch_blocks(nullptr, "", SumAndMost{values.data(), 101, result.data()}, 3, 8 * sizeof(double));
        for (std::size_t block = 0; block < 3; ++block) {
            EXPECT_EQ(result[2 * block], std::accumulate(values.begin(), values.end(), 0.0)) << threads;
            EXPECT_EQ(result[2 * block + 1], *std::max_element(values.begin(), values.end())) << threads;
        }
    }
    emulated_threads = 1;
}

struct ColumnCheck {
    const double* values;
    std::int64_t rows;
    std::int64_t columns;
    double* sums;
    template <class Sync>
    void operator()(const Block<Sync>& block, std::byte* memory) const {
        column_sums(
            block, rows, columns, reinterpret_cast<double*>(memory),
            [this](std::int64_t row, std::int64_t column) { return values[row * columns + column]; },
            [this](std::int64_t column, double sum) { sums[column] += sum; });
    }
};

/// With more threads than columns of a block, rows are shared out as on a GPU.
TEST(ColumnSums, AddEveryColumnOnce) {
    const std::int64_t rows = 13;
    const std::int64_t columns = 70;
    std::vector<double> values(static_cast<std::size_t>(rows * columns));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::floor(1000.0 * random_unit(4, i));
    for (const int threads : {1, 4, 64}) {
        std::vector<double> sums(static_cast<std::size_t>(columns), 1.0);
        emulated_threads = threads;
        launch_blocks(nullptr, "", ColumnCheck{values.data(), rows, columns, sums.data()},
                      parts(columns, summed_columns), 64 * sizeof(double));
        for (std::int64_t c = 0; c < columns; ++c) {
            double expected = 1.0;
            for (std::int64_t r = 0; r < rows; ++r) expected += values[static_cast<std::size_t>(r * columns + c)];
            EXPECT_EQ(sums[static_cast<std::size_t>(c)], expected) << threads << " threads, column " << c;
        }
    }
    emulated_threads = 1;
}

TEST(Vocabulary, KnowsItsTokens) {
    const Vocabulary part{100, 3};
    EXPECT_EQ(part.column(99), -1);
    EXPECT_EQ(part.column(100), 0);
    EXPECT_EQ(part.column(102), 2);
    EXPECT_EQ(part.column(103), -1) << "padding, or another rank's";
    EXPECT_EQ(part.column(-1), -1) << "not learnt";
    EXPECT_EQ((Vocabulary{0, 3}.column(-1)), -1);
}

TEST(GroupedTokens, AreThoseOfTheTableInTheirOrder) {
    const std::vector<std::int32_t> ids = {12, 10, 9, 12, 14, 10, 12};
    const TokenGroups groups = group_tokens(ids, 10, 4);
    ASSERT_EQ(groups.groups, 2);
    EXPECT_THAT(groups.array, testing::ElementsAre(0, 2, /* bounds */ 0, 2, 5, /* tokens */ 1, 5, 0, 3, 6));
    EXPECT_EQ(groups.bounds_at(), 2);
    EXPECT_EQ(groups.tokens_at(), 5);
    EXPECT_EQ(group_tokens(ids, 20, 4).groups, 0);
}

TEST(Bf16, RoundsToNearestEven) {
    EXPECT_EQ(static_cast<float>(Bf16(1.0F)), 1.0F);
    EXPECT_EQ(static_cast<float>(Bf16(1.00390625F)), 1.0F) << "a tie goes to the even one";
    EXPECT_EQ(static_cast<float>(Bf16(1.01171875F)), 1.015625F) << "up, too";
    EXPECT_EQ(static_cast<float>(Bf16(1.0040F)), 1.0078125F);
    EXPECT_EQ(static_cast<float>(Bf16(-3.4e38F)), -INFINITY) << "beyond the largest";
    EXPECT_TRUE(std::isnan(static_cast<float>(Bf16(NAN))));
    EXPECT_EQ(static_cast<float>(Bf16(INFINITY)), INFINITY);
}

}  // namespace
}  // namespace foreshard::runtime::cuda
