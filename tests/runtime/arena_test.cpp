#include "runtime/arena.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace foreshard::runtime {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::size_t offset_of(Arena& arena, std::size_t bytes) {
    const auto placed = arena.allocate(bytes);
    EXPECT_TRUE(placed);
    return placed ? placed->offset : 0;
}

TEST(Arena, AlignsOffsetsAndSizes) {
    Arena arena(1000, 64);
    EXPECT_EQ(arena.capacity(), 960U);
    EXPECT_EQ(offset_of(arena, 1), 0U);
    EXPECT_EQ(offset_of(arena, 65), 64U);
    EXPECT_EQ(offset_of(arena, 0), 192U);
    EXPECT_EQ(offset_of(arena, 8), 256U);
    EXPECT_EQ(arena.used(), 320U);
}

TEST(Arena, TakesTheSmallestBlockWithRoom) {
    Arena arena(4096, 64);
    const std::size_t large = offset_of(arena, 512);
    offset_of(arena, 64);
    const std::size_t small = offset_of(arena, 256);
    offset_of(arena, 64);
    const std::size_t equal = offset_of(arena, 256);
    offset_of(arena, 64);
    for (const std::size_t hole : {large, equal, small}) arena.free(hole);
    EXPECT_EQ(offset_of(arena, 200), small);
    EXPECT_EQ(offset_of(arena, 200), equal);
    EXPECT_EQ(offset_of(arena, 200), large);
}

TEST(Arena, JoinsFreeNeighbours) {
    Arena arena(256, 64);
    for (const std::size_t place : {0U, 64U, 128U, 192U}) EXPECT_EQ(offset_of(arena, 64), place);
    EXPECT_FALSE(arena.allocate(1));
    arena.free(0);
    arena.free(128);
    EXPECT_EQ(arena.free_blocks(), 2U);
    EXPECT_FALSE(arena.allocate(128));
    arena.free(64);
    EXPECT_EQ(arena.free_blocks(), 1U);
    EXPECT_EQ(offset_of(arena, 192), 0U);
}

TEST(Arena, SaysWhenNothingHasRoom) {
    Arena arena(256, 64);
    EXPECT_FALSE(arena.allocate(257));
    const std::size_t all = offset_of(arena, 256);
    EXPECT_EQ(arena.largest_free(), 0U);
    EXPECT_FALSE(arena.allocate(0));
    arena.free(all);
    EXPECT_THROW(arena.free(all), std::logic_error);
    EXPECT_EQ(arena.used(), 0U);
    EXPECT_EQ(arena.most_used(), 256U);
    EXPECT_FALSE(Arena(0).allocate(1));
}

/// Memory that was never used has nobody to wait for; nor has who used it last.
TEST(Arena, RemembersTheQueuesThatUsedABlockLast) {
    Arena arena(192, 64);
    EXPECT_THAT(arena.allocate(64, 1)->await, IsEmpty());
    EXPECT_THAT(arena.allocate(64, 2)->await, IsEmpty());
    arena.free(0, 1);
    EXPECT_THAT(arena.allocate(64, 1)->await, IsEmpty());
    arena.free(0, 1);
    EXPECT_THAT(arena.allocate(64, 2)->await, ElementsAre(1));
    arena.free(0, 3);
    arena.free(64, 2);
    EXPECT_THAT(arena.allocate(128, 4)->await, ElementsAre(2, 3));
    arena.free(0, 4);
    EXPECT_THAT(arena.allocate(128, 5)->await, ElementsAre(2, 3, 4)) << "what was cut off remembers 2 and 3";
    arena.free(0, 5);
    for (const int queue : {2, 3, 4}) arena.settle(queue);
    EXPECT_THAT(arena.allocate(128, 1)->await, ElementsAre(5));
}

/// Bytes one by one: which are taken, and by which queue each was used last.
class NaiveArena {
public:
    explicit NaiveArena(std::size_t bytes) : last_(bytes, none), taken_(bytes, 0) {}

    /// Free stretch that best fit must take, or `capacity` when there is none.
    std::size_t best(std::size_t bytes) const {
        std::size_t best = taken_.size();
        std::size_t best_size = taken_.size() + 1;
        for (std::size_t first = 0; first < taken_.size();) {
            std::size_t last = first;
            while (last < taken_.size() && taken_[last] == taken_[first]) ++last;
            if (taken_[first] == 0 && last - first >= bytes && last - first < best_size) {
                best = first;
                best_size = last - first;
            }
            first = last;
        }
        return best;
    }
    void take(std::size_t offset, std::size_t bytes) { mark(offset, bytes, 1); }
    void free(std::size_t offset, std::size_t bytes, int queue) {
        mark(offset, bytes, 0);
        std::fill_n(last_.begin() + static_cast<std::ptrdiff_t>(offset), bytes, queue);
    }
    bool used_by(int queue, std::size_t offset, std::size_t bytes) const {
        const auto first = last_.begin() + static_cast<std::ptrdiff_t>(offset);
        return std::find(first, first + static_cast<std::ptrdiff_t>(bytes), queue) !=
               first + static_cast<std::ptrdiff_t>(bytes);
    }
    std::size_t used() const { return static_cast<std::size_t>(std::count(taken_.begin(), taken_.end(), 1)); }

private:
    static constexpr int none = -1;
    void mark(std::size_t offset, std::size_t bytes, char taken) {
        std::fill_n(taken_.begin() + static_cast<std::ptrdiff_t>(offset), bytes, taken);
    }
    std::vector<int> last_;
    std::vector<char> taken_;
};

TEST(Arena, DoesWhatANaiveOneDoes) {
    constexpr std::size_t capacity = 2048;
    constexpr int queues = 3;
    for (unsigned seed = 1; seed <= 20; ++seed) {
        std::mt19937 random(seed);
        Arena arena(capacity, 16);
        NaiveArena naive(capacity);
        std::map<std::size_t, std::size_t> blocks;
        for (int i = 0; i < 400; ++i) {
            const auto queue = static_cast<int>(random() % queues);
            if (!blocks.empty() && random() % 2 == 0) {
                const auto block = std::next(blocks.begin(), static_cast<std::ptrdiff_t>(random() % blocks.size()));
                arena.free(block->first, queue);
                naive.free(block->first, block->second, queue);
                blocks.erase(block);
                continue;
            }
            const std::size_t bytes = random() % 300;
            const std::size_t rounded = (std::max<std::size_t>(bytes, 1) + 15) / 16 * 16;
            const auto placed = arena.allocate(bytes, queue);
            ASSERT_EQ(placed ? placed->offset : capacity, naive.best(rounded));
            if (!placed) continue;
            for (int other = 0; other < queues; ++other) {
                const bool named = std::count(placed->await.begin(), placed->await.end(), other) > 0;
                const bool must = other != queue && naive.used_by(other, placed->offset, rounded);
                EXPECT_TRUE(named || !must) << other;
            }
            naive.take(placed->offset, rounded);
            blocks[placed->offset] = rounded;
            ASSERT_EQ(arena.used(), naive.used());
        }
    }
}

}  // namespace
}  // namespace foreshard::runtime
