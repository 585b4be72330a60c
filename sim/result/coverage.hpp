#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/result/spans.hpp"

/// How much of every column of pixels each kind of span fills, exactly, in a time that hardly depends on the number of
/// spans: a zoomed-out picture then mixes colours by area and loses nothing.
namespace foreshard {

/// What has a colour of its own: a kind, and for chunks of one rank a shade.
struct SpanClass {
    SpanKind kind = SpanKind::other;
    int shade = 0;  ///< the chunk, at most `most_shades` - 1
    bool operator==(const SpanClass&) const = default;
};
inline constexpr int most_shades = 5;

/// Sums of time per class, kept every few spans of a row, and an index from time to span. The table must outlive
/// it.
class Coverage {
public:
    explicit Coverage(const SpanTable& spans);

    const SpanTable& spans() const { return *spans_; }
    /// Classes of a row in order of first appearance.
    std::span<const SpanClass> classes(std::size_t row) const { return rows_[row].classes; }
    /// Number of the row's spans that start at `time` or before.
    std::size_t started(std::size_t row, Picoseconds time) const;

private:
    friend class CoverageReader;
    static constexpr std::size_t block = 8;

    struct Row {
        std::vector<SpanClass> classes;
        std::vector<Picoseconds> checkpoints;  ///< [block of spans * classes + class]: time in all spans before
        std::vector<std::uint32_t> grid;       ///< spans started at begin + (g << shift)
        Picoseconds begin = 0;
        int shift = 0;
    };
    void add_row(const SpanRow& span_row);
    void add_checkpoints(const SpanRow& span_row, Row& row);
    void add_grid(const SpanRow& span_row, Row& row) const;
    std::size_t grid_cell(const Row& row, Picoseconds time) const;

    const SpanTable* spans_;
    std::vector<Row> rows_;
    std::vector<std::uint8_t> class_of_;  ///< per span: index into its row's classes
};

/// Time of each class between neighbouring edges.
struct Columns {
    std::size_t classes = 0;
    std::vector<Picoseconds> time;       ///< [column * classes + class], picoseconds
    std::vector<std::uint32_t> started;  ///< per edge: the row's spans that start there or before
    std::size_t size() const { return started.empty() ? 0 : started.size() - 1; }
};

/// Reads rows of a Coverage, keeping its buffers from row to row.
class CoverageReader {
public:
    explicit CoverageReader(const Coverage& coverage) : coverage_(coverage) {}

    /// @param edges ascending times; column i is [edges[i], edges[i + 1]). The sum over columns is the exact time of
    /// each class between the first and last edge. Valid until the next call.
    const Columns& read(std::size_t row, std::span<const Picoseconds> edges);

private:
    void walk(std::size_t row, std::span<const Picoseconds> edges);
    void jump(std::size_t row, std::span<const Picoseconds> edges);
    void prefetch(std::size_t row, Picoseconds time) const;
    void sum_up_to(std::size_t row, std::size_t count, Picoseconds time);

    const Coverage& coverage_;
    Columns columns_;
    std::vector<Picoseconds> sums_;  ///< per class, up to the edge at hand
};

/// Edges of `columns` equal parts of [begin, end), rounded down to picoseconds. Precondition: columns > 0, begin < end.
std::vector<Picoseconds> column_edges(Picoseconds begin, Picoseconds end, int columns);

/// Time per class of one row in [begin, end), in the order of Coverage::classes.
std::vector<Picoseconds> covered_times(const Coverage& coverage, std::size_t row, Picoseconds begin, Picoseconds end);

}  // namespace foreshard
