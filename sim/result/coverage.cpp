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

/// Column after column over all spans in it.
void CoverageReader::walk(std::size_t number, std::span<const Picoseconds> edges) {
    const SpanRow& row = coverage_.spans_->rows[number];
    const std::size_t count = row.last - row.first;
    const Picoseconds* start = coverage_.spans_->start.data() + row.first;
    const Picoseconds* end = coverage_.spans_->end.data() + row.first;
    const std::uint8_t* its_class = coverage_.class_of_.data() + row.first;
    std::size_t next = coverage_.started(number, edges[0]);
    columns_.started[0] = static_cast<std::uint32_t>(next);
    for (std::size_t i = 1; i < edges.size(); ++i) {
        Picoseconds* column = columns_.time.data() + (i - 1) * columns_.classes;
        // The span that runs at the left edge, then those that start in the column.
        for (std::size_t span = next == 0 ? 0 : next - 1; span < count && start[span] <= edges[i]; ++span) {
            const Picoseconds time = std::min(end[span], edges[i]) - std::max(start[span], edges[i - 1]);
            if (time > 0) column[its_class[span]] += time;
            next = span + 1;
        }
        columns_.started[i] = static_cast<std::uint32_t>(next);
    }
}

/// What sum_up_to() will read at `time`, asked of the memory ahead: there a far column is all waiting.
void CoverageReader::prefetch(std::size_t number, Picoseconds time) const {
    const Coverage::Row& row = coverage_.rows_[number];
    if (time < row.begin) return;
    const std::uint32_t guess = row.grid[coverage_.grid_cell(row, time)];
    const std::size_t span = coverage_.spans_->rows[number].first + guess;
    __builtin_prefetch(coverage_.spans_->start.data() + span);
    __builtin_prefetch(coverage_.spans_->start.data() + span + Coverage::block);
    __builtin_prefetch(coverage_.spans_->end.data() + span);
    __builtin_prefetch(coverage_.class_of_.data() + span);
    __builtin_prefetch(row.checkpoints.data() + guess / Coverage::block * row.classes.size());
}

/// Sums at `time`, before which `count` spans start, from the last checkpoint.
void CoverageReader::sum_up_to(std::size_t number, std::size_t count, Picoseconds time) {
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

/// Differences of the sums at the edges, however many spans lie between them.
void CoverageReader::jump(std::size_t number, std::span<const Picoseconds> edges) {
    constexpr std::size_t ahead = 12;
    for (std::size_t i = 0; i < std::min(ahead, edges.size()); ++i) prefetch(number, edges[i]);
    for (std::size_t i = 0; i < edges.size(); ++i) {
        if (i + ahead < edges.size()) prefetch(number, edges[i + ahead]);
        const std::size_t count = coverage_.started(number, edges[i]);
        columns_.started[i] = static_cast<std::uint32_t>(count);
        sum_up_to(number, count, edges[i]);
        for (std::size_t k = 0; k < columns_.classes; ++k) {
            if (i > 0) columns_.time[(i - 1) * columns_.classes + k] += sums_[k];
            if (i + 1 < edges.size()) columns_.time[i * columns_.classes + k] = -sums_[k];
        }
    }
}

const Columns& CoverageReader::read(std::size_t number, std::span<const Picoseconds> edges) {
    columns_.classes = coverage_.rows_[number].classes.size();
    columns_.started.assign(edges.size(), 0);
    columns_.time.assign((std::max<std::size_t>(edges.size(), 1) - 1) * columns_.classes, 0);
    sums_.assign(columns_.classes, 0);
    if (columns_.classes == 0 || edges.empty()) return columns_;
    const std::size_t spans = coverage_.started(number, edges.back()) - coverage_.started(number, edges.front());
    // Reading about twenty spans in a row costs as much as a jump.
    if (spans / 20 < edges.size()) {
        walk(number, edges);
    } else {
        jump(number, edges);
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
