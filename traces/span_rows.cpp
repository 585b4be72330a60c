#include "traces/span_rows.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

namespace foreshard {

namespace {

bool comes_first(const LooseSpan& a, const LooseSpan& b) {
    if (a.rank != b.rank) return a.rank < b.rank;
    if (a.lane != b.lane) return a.lane < b.lane;
    if (a.start != b.start) return a.start < b.start;
    return a.end != b.end ? a.end > b.end : a.event < b.event;
}

/// When each of many rows is free; finds the first free one in O(log rows).
class FreeRows {
public:
    FreeRows() : ends_(2 * most_rows, std::numeric_limits<Picoseconds>::min()) {}

    /// The first row that is free at `start`, taken until `end`; most_rows when none is.
    std::size_t take(Picoseconds start, Picoseconds end) {
        if (ends_[1] > start) return most_rows;
        std::size_t node = 1;
        while (node < most_rows) node = ends_[2 * node] <= start ? 2 * node : 2 * node + 1;
        const std::size_t row = node - most_rows;
        for (ends_[node] = end; node > 1; node /= 2) ends_[node / 2] = std::min(ends_[node], ends_[node ^ 1U]);
        return row;
    }

private:
    std::vector<Picoseconds> ends_;  ///< a binary tree of minima, leaves from most_rows on
};

void reserve(SpanTable& table, std::size_t spans) {
    table.start.reserve(spans);
    table.end.reserve(spans);
    table.kind.reserve(spans);
    table.stage.reserve(spans);
    table.chunk.reserve(spans);
    table.step.reserve(spans);
    table.microbatch.reserve(spans);
    table.task.reserve(spans);
    table.comm.reserve(spans);
    table.name.reserve(spans);
}

void add_span(const LooseSpan& span, SpanTable& table) {
    table.start.push_back(span.start);
    table.end.push_back(span.end);
    table.kind.push_back(span.kind);
    table.stage.push_back(span.stage);
    table.chunk.push_back(span.chunk);
    table.step.push_back(span.step);
    table.microbatch.push_back(span.microbatch);
    table.task.push_back(span.event);
    table.comm.push_back(span.comm);
    table.name.push_back(span.name);
}

/// One lane of one rank: [first, last) of `spans`, sorted.
class LaneRows {
public:
    LaneRows(const std::vector<LooseSpan>& spans, std::size_t first, std::size_t last) : spans_(spans) {
        FreeRows free;
        for (std::size_t i = first; i < last; ++i) {
            const std::size_t row = free.take(spans[i].start, spans[i].end);
            if (row == most_rows) {
                ++counts_.left_out;
                continue;
            }
            if (row > 0) ++counts_.moved;
            if (row >= rows_.size()) rows_.resize(row + 1);
            rows_[row].push_back(i);
        }
    }

    void write(SpanTable& table) const {
        for (std::size_t r = 0; r < rows_.size(); ++r) {
            const LooseSpan& any = spans_[rows_[r].front()];
            SpanRow row;
            row.rank = any.rank;
            row.lane = any.lane;
            row.overflow = static_cast<int>(r);
            row.name = r == 0 ? std::string(to_string(any.lane)) : fmt::format("{} {}", to_string(any.lane), r + 1);
            row.first = table.size();
            for (const std::size_t span : rows_[r]) add_span(spans_[span], table);
            row.last = table.size();
            table.rows.push_back(std::move(row));
        }
    }
    const RowCounts& counts() const { return counts_; }

private:
    const std::vector<LooseSpan>& spans_;
    std::vector<std::vector<std::size_t>> rows_;
    RowCounts counts_;
};

}  // namespace

std::int32_t Names::number_of(std::string_view name) {
    const auto found = numbers_.find(name);
    if (found != numbers_.end()) return found->second;
    const auto number = static_cast<std::int32_t>(names_.size());
    names_.emplace_back(name);
    numbers_.emplace(std::string(name), number);
    return number;
}

RowCounts fill_rows(std::vector<LooseSpan> spans, SpanTable& table) {
    std::sort(spans.begin(), spans.end(), comes_first);
    reserve(table, spans.size());
    RowCounts counts;
    for (std::size_t first = 0; first < spans.size();) {
        const LooseSpan& front = spans[first];
        std::size_t last = first;
        while (last < spans.size() && spans[last].rank == front.rank && spans[last].lane == front.lane) ++last;
        const LaneRows lane(spans, first, last);
        lane.write(table);
        counts.moved += lane.counts().moved;
        counts.left_out += lane.counts().left_out;
        first = last;
    }
    const auto has_comm = [](std::int32_t comm) { return comm >= 0; };
    if (std::none_of(table.comm.begin(), table.comm.end(), has_comm)) table.comm.clear();
    for (const Picoseconds end : table.end) table.finish = std::max(table.finish, end);
    return counts;
}

}  // namespace foreshard
