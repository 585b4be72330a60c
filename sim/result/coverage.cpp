#include "sim/result/coverage.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

namespace foreshard {

namespace {

constexpr std::uint8_t no_class = std::numeric_limits<std::uint8_t>::max();

SpanClass class_of_span(const SpanTable& spans, std::size_t span) {
    return {spans.kind[span], std::clamp<int>(spans.chunk[span], 0, most_shades - 1)};
}

}  // namespace

Coverage::Coverage(const SpanTable& spans) : spans_(&spans), class_of_(spans.size()) {
    rows_.reserve(spans.rows.size());
    for (const SpanRow& row : spans.rows) add_row(row);
}

void Coverage::add_row(const SpanRow& span_row) {
    Row row;
    std::array<std::uint8_t, std::size_t{span_kind_count} * most_shades> known{};
    known.fill(no_class);
    for (std::size_t span = span_row.first; span < span_row.last; ++span) {
        const SpanClass its = class_of_span(*spans_, span);
        std::uint8_t& number = known[static_cast<std::size_t>(its.kind) * most_shades + its.shade];
        if (number == no_class) {
            number = static_cast<std::uint8_t>(row.classes.size());
            row.classes.push_back(its);
        }
        class_of_[span] = number;
    }
    add_checkpoints(span_row, row);
    add_grid(span_row, row);
    rows_.push_back(std::move(row));
}

void Coverage::add_checkpoints(const SpanRow& span_row, Row& row) {
    const std::size_t count = span_row.last - span_row.first;
    std::vector<Picoseconds> sums(row.classes.size(), 0);
    row.checkpoints.reserve((count / block + 1) * row.classes.size());
    for (std::size_t i = 0; i < count; ++i) {
        if (i % block == 0) row.checkpoints.insert(row.checkpoints.end(), sums.begin(), sums.end());
        const std::size_t span = span_row.first + i;
        sums[class_of_[span]] += spans_->end[span] - spans_->start[span];
    }
    if (count % block == 0) row.checkpoints.insert(row.checkpoints.end(), sums.begin(), sums.end());
}

/// About eight spans in a cell on average: finding a span then touches a cache line or two.
void Coverage::add_grid(const SpanRow& span_row, Row& row) const {
    const std::size_t count = span_row.last - span_row.first;
    if (count == 0) return;
    row.begin = spans_->start[span_row.first];
    const auto length = static_cast<std::uint64_t>(spans_->start[span_row.last - 1] - row.begin) + 1;
    const std::uint64_t cell = std::max<std::uint64_t>(1, length / (count / 8 + 1));
    row.shift = static_cast<int>(std::bit_width(cell)) - 1;
    const auto cells = static_cast<std::size_t>(length >> row.shift) + 1;
    row.grid.reserve(cells + 1);
    std::size_t started = 0;
    for (std::size_t g = 0; g < cells; ++g) {
        const Picoseconds time = row.begin + (static_cast<Picoseconds>(g) << row.shift);
        while (started < count && spans_->start[span_row.first + started] <= time) ++started;
        row.grid.push_back(static_cast<std::uint32_t>(started));
    }
    row.grid.push_back(static_cast<std::uint32_t>(count));
}

/// Precondition: time >= row.begin.
std::size_t Coverage::grid_cell(const Row& row, Picoseconds time) const {
    return std::min(static_cast<std::size_t>((time - row.begin) >> row.shift), row.grid.size() - 2);
}

std::size_t Coverage::started(std::size_t number, Picoseconds time) const {
    const Row& row = rows_[number];
    if (row.grid.empty() || time < row.begin) return 0;
    const std::size_t cell = grid_cell(row, time);
    const auto first = spans_->start.begin() + static_cast<std::ptrdiff_t>(spans_->rows[number].first);
    const auto found = std::upper_bound(first + row.grid[cell], first + row.grid[cell + 1], time);
    return static_cast<std::size_t>(found - first);
}

/// Two passes over the edges, so that the memory which the second needs is on its way while the first searches.
void CoverageReader::find_started(std::size_t number, std::span<const Picoseconds> edges) {
    const Coverage::Row& row = coverage_.rows_[number];
    const SpanTable& spans = *coverage_.spans_;
    const std::size_t first = spans.rows[number].first;
    columns_.started.resize(edges.size());
    for (std::size_t i = 0; i < edges.size(); ++i) {
        const bool before = row.grid.empty() || edges[i] < row.begin;
        const std::uint32_t guess = before ? 0 : row.grid[coverage_.grid_cell(row, edges[i])];
        columns_.started[i] = guess;
        __builtin_prefetch(spans.start.data() + first + guess);
        __builtin_prefetch(spans.end.data() + first + guess);
        __builtin_prefetch(row.checkpoints.data() + guess / Coverage::block * row.classes.size());
    }
    for (std::size_t i = 0; i < edges.size(); ++i) {
        columns_.started[i] = static_cast<std::uint32_t>(coverage_.started(number, edges[i]));
    }
}

/// Sums at `time`, before which `count` spans start, from the last checkpoint.
void CoverageReader::jump(std::size_t number, std::size_t count, Picoseconds time) {
    const Coverage::Row& row = coverage_.rows_[number];
    const std::size_t base = count / Coverage::block;
    const auto checkpoint = row.checkpoints.begin() + static_cast<std::ptrdiff_t>(base * row.classes.size());
    std::copy_n(checkpoint, row.classes.size(), sums_.begin());
    const SpanTable& spans = *coverage_.spans_;
    const std::size_t first = spans.rows[number].first;
    for (std::size_t i = base * Coverage::block; i < count; ++i) {
        const std::size_t span = first + i;
        sums_[coverage_.class_of_[span]] += spans.end[span] - spans.start[span];
    }
    if (count == 0) return;
    const std::size_t last = first + count - 1;
    if (spans.end[last] > time) sums_[coverage_.class_of_[last]] -= spans.end[last] - time;
}

/// Adds what lies in [begin, end) of the spans from the one that runs at `begin` to the last that starts before `end`.
void CoverageReader::walk(std::size_t number, std::size_t from, std::size_t to, Picoseconds begin, Picoseconds end) {
    const SpanTable& spans = *coverage_.spans_;
    const std::size_t first = spans.rows[number].first;
    for (std::size_t i = from == 0 ? 0 : from - 1; i < to; ++i) {
        const Picoseconds start = std::max(spans.start[first + i], begin);
        const Picoseconds stop = std::min(spans.end[first + i], end);
        if (stop > start) sums_[coverage_.class_of_[first + i]] += stop - start;
    }
}

const Columns& CoverageReader::read(std::size_t number, std::span<const Picoseconds> edges) {
    const std::size_t classes = coverage_.rows_[number].classes.size();
    columns_.classes = classes;
    sums_.assign(classes, 0);
    find_started(number, edges);
    if (edges.empty()) return columns_;
    columns_.time.resize((edges.size() - 1) * classes);
    if (classes == 0) return columns_;
    jump(number, columns_.started[0], edges[0]);
    for (std::size_t i = 1; i < edges.size(); ++i) {
        before_ = sums_;
        const std::size_t from = columns_.started[i - 1];
        const std::size_t to = columns_.started[i];
        if (to - from <= Coverage::block) {
            walk(number, from, to, edges[i - 1], edges[i]);
        } else {
            jump(number, to, edges[i]);
        }
        for (std::size_t k = 0; k < classes; ++k) columns_.time[(i - 1) * classes + k] = sums_[k] - before_[k];
    }
    return columns_;
}

std::vector<Picoseconds> column_edges(Picoseconds begin, Picoseconds end, int columns) {
    std::vector<Picoseconds> edges(static_cast<std::size_t>(columns) + 1);
    const Picoseconds length = end - begin;
    const Picoseconds whole = length / columns;
    const Picoseconds rest = length % columns;
    for (int i = 0; i <= columns; ++i) edges[static_cast<std::size_t>(i)] = begin + whole * i + rest * i / columns;
    return edges;
}

std::vector<Picoseconds> covered_times(const Coverage& coverage, std::size_t row, Picoseconds begin, Picoseconds end) {
    const std::array<Picoseconds, 2> edges = {begin, end};
    return CoverageReader(coverage).read(row, edges).time;
}

}  // namespace foreshard
