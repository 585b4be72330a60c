#include "sim/result/coverage.hpp"

#include <algorithm>
#include <map>
#include <random>

#include <gtest/gtest.h>

namespace foreshard {
namespace {

/// A row of spans with gaps, of random kinds, chunks and lengths; every twentieth is a thousand times longer.
SpanTable random_spans(unsigned seed, int rows, int spans_per_row) {
    std::mt19937 random(seed);
    SpanTable spans;
    spans.ranks.push_back({0, 0, -1, "PP0"});
    for (int r = 0; r < rows; ++r) {
        Picoseconds time = static_cast<Picoseconds>(random() % 1000);
        const std::size_t first = spans.size();
        for (int i = 0; i < spans_per_row; ++i) {
            time += random() % 3 == 0 ? 0 : static_cast<Picoseconds>(random() % 500);
            spans.start.push_back(time);
            time += static_cast<Picoseconds>(random() % 1000) * (random() % 20 == 0 ? 1000 : 1);
            spans.end.push_back(time);
            spans.kind.push_back(static_cast<SpanKind>(random() % span_kind_count));
            spans.chunk.push_back(static_cast<std::int16_t>(static_cast<int>(random() % 8) - 1));
        }
        spans.rows.push_back({0, SpanLane::compute, r, first, spans.size(), ""});
        spans.finish = std::max(spans.finish, time);
    }
    return spans;
}

using ClassKey = std::pair<SpanKind, int>;

/// By definition: every span against the interval.
std::map<ClassKey, Picoseconds> exact_times(const SpanTable& spans, std::size_t row, Picoseconds begin,
                                            Picoseconds end) {
    std::map<ClassKey, Picoseconds> times;
    for (std::size_t i = spans.rows[row].first; i < spans.rows[row].last; ++i) {
        const Picoseconds overlap = std::min(end, spans.end[i]) - std::max(begin, spans.start[i]);
        if (overlap > 0) times[{spans.kind[i], std::clamp<int>(spans.chunk[i], 0, most_shades - 1)}] += overlap;
    }
    return times;
}

std::map<ClassKey, Picoseconds> times_of(const Coverage& coverage, std::size_t row, const Picoseconds* column) {
    std::map<ClassKey, Picoseconds> times;
    for (const SpanClass& its : coverage.classes(row)) {
        if (*column != 0) times[{its.kind, its.shade}] = *column;
        ++column;
    }
    return times;
}

class RandomCoverage : public testing::TestWithParam<unsigned> {};

// Zooms from the whole table, where a column has dozens of spans, down to columns of a picosecond.
TEST_P(RandomCoverage, EveryColumnHasTheExactTimesOfItsSpans) {
    const SpanTable spans = random_spans(GetParam(), 3, 400);
    const Coverage coverage(spans);
    CoverageReader reader(coverage);
    std::mt19937 random(GetParam() + 1000);
    for (int zoom = 0; zoom < 12; ++zoom) {
        const Picoseconds length = std::max<Picoseconds>(40, spans.finish >> (2 * zoom));
        const Picoseconds begin = static_cast<Picoseconds>(random() % static_cast<unsigned>(spans.finish)) - length / 2;
        const std::vector<Picoseconds> edges = column_edges(begin, begin + length, 37);
        for (std::size_t row = 0; row < spans.rows.size(); ++row) {
            const Columns& columns = reader.read(row, edges);
            ASSERT_EQ(columns.size(), 37U);
            for (std::size_t i = 0; i < columns.size(); ++i) {
                ASSERT_EQ(times_of(coverage, row, columns.time.data() + i * columns.classes),
                          exact_times(spans, row, edges[i], edges[i + 1]))
                    << "zoom " << zoom << " row " << row << " column " << i;
            }
        }
    }
}

TEST_P(RandomCoverage, ColumnsSumToTheWholeWindow) {
    const SpanTable spans = random_spans(GetParam(), 2, 3000);
    const Coverage coverage(spans);
    for (const int width : {1, 7, 640, 1920, 5000}) {
        const std::vector<Picoseconds> edges = column_edges(spans.finish / 7, spans.finish, width);
        for (std::size_t row = 0; row < spans.rows.size(); ++row) {
            CoverageReader reader(coverage);
            const Columns& columns = reader.read(row, edges);
            std::vector<Picoseconds> sums(columns.classes, 0);
            for (std::size_t i = 0; i < columns.time.size(); ++i) sums[i % columns.classes] += columns.time[i];
            EXPECT_EQ(times_of(coverage, row, sums.data()), exact_times(spans, row, edges.front(), edges.back()));
            EXPECT_EQ(sums, covered_times(coverage, row, edges.front(), edges.back()));
        }
    }
}

TEST_P(RandomCoverage, StartedCountsSpansThatStartAtOrBefore) {
    const SpanTable spans = random_spans(GetParam(), 2, 200);
    const Coverage coverage(spans);
    std::mt19937 random(GetParam());
    for (int i = 0; i < 500; ++i) {
        const std::size_t row = random() % 2;
        const SpanRow& its = spans.rows[row];
        // Half of the times are starts, where an off-by-one would show.
        const Picoseconds time = i % 2 == 0 ? spans.start[its.first + random() % 200]
                                            : static_cast<Picoseconds>(random() % static_cast<unsigned>(spans.finish));
        const auto first = spans.start.begin() + static_cast<std::ptrdiff_t>(its.first);
        EXPECT_EQ(coverage.started(row, time),
                  std::count_if(first, first + 200, [&](Picoseconds s) { return s <= time; }));
    }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomCoverage, testing::Range(0U, 12U));

TEST(Coverage, OfAnEmptyRowIsNothing) {
    SpanTable spans;
    spans.rows.push_back({});
    const Coverage coverage(spans);
    CoverageReader reader(coverage);
    const Columns& columns = reader.read(0, column_edges(0, 100, 10));
    EXPECT_EQ(columns.size(), 10U);
    EXPECT_EQ(columns.classes, 0U);
    EXPECT_EQ(coverage.started(0, 50), 0U);
}

TEST(Coverage, EdgesOfLongRunsDoNotOverflow) {
    const Picoseconds day = 86'400LL * 1'000'000'000'000LL;
    const std::vector<Picoseconds> edges = column_edges(day, 3 * day, 3840);
    EXPECT_EQ(edges.front(), day);
    EXPECT_EQ(edges.back(), 3 * day);
    EXPECT_TRUE(std::is_sorted(edges.begin(), edges.end()));
}

}  // namespace
}  // namespace foreshard
