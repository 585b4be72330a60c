#include "sim/result/span_query.hpp"

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

namespace foreshard {

namespace {

bool is_first_compute_row(const SpanRow& row) {
    return row.lane == SpanLane::compute && row.overflow == 0;
}

std::ptrdiff_t offset(std::size_t index) {
    return static_cast<std::ptrdiff_t>(index);
}

/// First span of a row that ends after a time, or starts there with no length.
std::size_t first_reaching(const SpanTable& spans, const SpanRow& row, Picoseconds time) {
    const auto begin = spans.end.begin() + offset(row.first);
    const auto end = spans.end.begin() + offset(row.last);
    auto found = static_cast<std::size_t>(std::lower_bound(begin, end, time) - spans.end.begin());
    while (found < row.last && spans.end[found] == time && spans.start[found] < time) ++found;
    return found;
}

std::size_t first_starting_from(const SpanTable& spans, const SpanRow& row, Picoseconds time) {
    const auto begin = spans.start.begin() + offset(row.first);
    const auto end = spans.start.begin() + offset(row.last);
    return static_cast<std::size_t>(std::lower_bound(begin, end, time) - spans.start.begin());
}

/// The gap in front of span `after` of a row (row.last: behind all spans); empty ones have no length.
Gap gap_before(const SpanTable& spans, std::size_t index, std::size_t after) {
    const SpanRow& row = spans.rows[index];
    Gap gap{index, spans.begin, spans.finish, std::nullopt, std::nullopt};
    if (after > row.first) {
        gap.before = after - 1;
        gap.begin = spans.end[after - 1];
    }
    if (after < row.last) {
        gap.after = after;
        gap.end = spans.start[after];
    }
    return gap;
}

/// Of two causes the one that ended later; the first wins ties.
std::optional<std::size_t> later(const SpanTable& spans, std::optional<std::size_t> a, std::size_t b) {
    return a && spans.end[*a] >= spans.end[b] ? a : b;
}

const SpanRank& rank_of(const SpanTable& spans, std::size_t span) {
    return spans.ranks[static_cast<std::size_t>(spans.rows[row_of(spans, span)].rank)];
}

std::string time_text(Picoseconds time) {
    const double ms = to_milliseconds(time);
    return ms >= 1.0 ? fmt::format("{:.2f} ms", ms) : fmt::format("{:.1f} us", ms * 1e3);
}

std::string span_text(const SpanTable& spans, std::size_t span) {
    return fmt::format("{} on {}", span_name(spans, span), rank_of(spans, span).name);
}

/// The communication that ends a gap, and the compute behind it.
std::string cause_text(const SpanTable& spans, const Gap& gap, const std::vector<std::size_t>& chain) {
    std::string text;
    if (!is_compute(spans.kind[chain.front()])) {
        const Picoseconds in_flight = spans.end[chain.front()] - std::max(spans.start[chain.front()], gap.begin);
        text =
            fmt::format("for {} (in flight for {} of that), ", span_text(spans, chain.front()), time_text(in_flight));
    }
    const auto compute = [&](std::size_t span) { return is_compute(spans.kind[span]); };
    const auto behind = std::find_if(chain.begin(), chain.end(), compute);
    if (behind == chain.end()) return text.substr(0, text.size() - 2) + ".";
    return text + fmt::format("behind {}, which ran from {} to {}.", span_text(spans, *behind),
                              time_text(spans.start[*behind]), time_text(spans.end[*behind]));
}

}  // namespace

SpanRange visible_spans(const SpanTable& spans, const SpanRow& row, Picoseconds begin, Picoseconds end) {
    if (begin >= end) return {row.first, row.first};
    const std::size_t first = first_reaching(spans, row, begin);
    return {first, std::max(first, first_starting_from(spans, row, end))};
}

std::optional<std::size_t> span_at(const SpanTable& spans, const SpanRow& row, Picoseconds time) {
    const std::size_t behind = first_starting_from(spans, row, time + 1);
    if (behind == row.first || spans.end[behind - 1] <= time) return std::nullopt;
    return behind - 1;
}

std::size_t row_of(const SpanTable& spans, std::size_t span) {
    const auto ends_before = [](const SpanRow& row, std::size_t s) { return row.last <= s; };
    const auto found = std::lower_bound(spans.rows.begin(), spans.rows.end(), span, ends_before);
    return static_cast<std::size_t>(found - spans.rows.begin());
}

std::optional<std::size_t> previous_span(const SpanTable& spans, std::size_t span) {
    if (span == spans.rows[row_of(spans, span)].first) return std::nullopt;
    return span - 1;
}

std::optional<std::size_t> next_span(const SpanTable& spans, std::size_t span) {
    if (span + 1 == spans.rows[row_of(spans, span)].last) return std::nullopt;
    return span + 1;
}

std::optional<Gap> gap_at(const SpanTable& spans, std::size_t row, Picoseconds time) {
    if (time < spans.begin || time >= spans.finish) return std::nullopt;
    const Gap gap = gap_before(spans, row, first_starting_from(spans, spans.rows[row], time + 1));
    if (time < gap.begin) return std::nullopt;
    return gap;
}

std::vector<Gap> row_gaps(const SpanTable& spans, std::size_t row) {
    std::vector<Gap> gaps;
    for (std::size_t after = spans.rows[row].first; after <= spans.rows[row].last; ++after) {
        const Gap gap = gap_before(spans, row, after);
        if (gap.length() > 0) gaps.push_back(gap);
    }
    return gaps;
}

std::vector<Gap> gaps_by_length(const SpanTable& spans) {
    std::vector<Gap> all;
    for (std::size_t row = 0; row < spans.rows.size(); ++row) {
        if (!is_first_compute_row(spans.rows[row])) continue;
        const std::vector<Gap> gaps = row_gaps(spans, row);
        all.insert(all.end(), gaps.begin(), gaps.end());
    }
    std::stable_sort(all.begin(), all.end(), [](const Gap& a, const Gap& b) {
        return a.length() != b.length() ? a.length() > b.length() : a.begin < b.begin;
    });
    return all;
}

AreaTotals area_totals(const SpanTable& spans, std::size_t first_row, std::size_t last_row, Picoseconds begin,
                       Picoseconds end) {
    AreaTotals totals;
    const Picoseconds inside = std::max(std::min(end, spans.finish) - std::max(begin, spans.begin), Picoseconds{0});
    for (std::size_t r = first_row; r <= last_row && r < spans.rows.size(); ++r) {
        const SpanRow& row = spans.rows[r];
        const SpanRange range = visible_spans(spans, row, begin, end);
        totals.spans += range.last - range.first;
        Picoseconds busy = 0;
        for (std::size_t s = range.first; s < range.last; ++s) {
            const Picoseconds time = std::min(spans.end[s], end) - std::max(spans.start[s], begin);
            totals.time[static_cast<std::size_t>(spans.kind[s])] += time;
            busy += time;
        }
        if (!is_first_compute_row(row)) continue;
        ++totals.compute_rows;
        totals.bubble += inside - busy;
    }
    return totals;
}

std::vector<std::size_t> inputs_of(const SpanTable& spans, std::size_t span) {
    if (spans.first_input.empty()) return {};
    const auto begin = spans.inputs.begin();
    return {begin + spans.first_input[span], begin + spans.first_input[span + 1]};
}

std::optional<std::size_t> cause_of(const SpanTable& spans, std::size_t span) {
    std::optional<std::size_t> cause;
    for (const std::size_t input : inputs_of(spans, span)) cause = later(spans, cause, input);
    return cause;
}

std::vector<std::size_t> wait_chain(const SpanTable& spans, const Gap& gap) {
    std::vector<std::size_t> chain;
    if (!gap.after) return chain;
    for (std::optional<std::size_t> at = cause_of(spans, *gap.after); at && chain.size() < spans.size();
         at = cause_of(spans, *at)) {
        if (spans.end[*at] <= gap.begin) break;
        chain.push_back(*at);
    }
    return chain;
}

std::string gap_text(const SpanTable& spans, const Gap& gap) {
    const std::string& rank = spans.ranks[static_cast<std::size_t>(spans.rows[gap.row].rank)].name;
    const std::string length = time_text(gap.length());
    if (!gap.after) return fmt::format("{} has nothing left to do: {} to the end.", rank, length);
    const std::string waiting = fmt::format("{} waits {} before {}", rank, length, span_name(spans, *gap.after));
    const std::vector<std::size_t> chain = wait_chain(spans, gap);
    if (chain.empty()) return waiting + "; what for is not known.";
    return fmt::format("{}: {}", waiting, cause_text(spans, gap, chain));
}

SpanUsers users_of(const SpanTable& spans) {
    SpanUsers users;
    users.first.assign(spans.size() + 1, 0);
    for (const std::uint32_t input : spans.inputs) ++users.first[input + 1];
    for (std::size_t i = 0; i < spans.size(); ++i) users.first[i + 1] += users.first[i];
    users.users.resize(spans.inputs.size());
    std::vector<std::uint32_t> next(users.first.begin(), users.first.end());
    for (std::size_t span = 0; span + 1 < spans.first_input.size(); ++span) {
        for (std::uint32_t i = spans.first_input[span]; i < spans.first_input[span + 1]; ++i) {
            users.users[next[spans.inputs[i]]++] = static_cast<std::uint32_t>(span);
        }
    }
    return users;
}

std::vector<CommSplit> comm_splits(const SpanTable& spans) {
    std::vector<CommSplit> splits(spans.size());
    std::unordered_map<std::int32_t, std::pair<Picoseconds, int>> shortest;  // per communication, with its participants
    const auto length = [&](std::size_t s) { return spans.end[s] - spans.start[s]; };
    for (std::size_t s = 0; s < spans.comm.size(); ++s) {
        if (spans.comm[s] < 0) continue;
        const auto found = shortest.try_emplace(spans.comm[s], length(s), 0).first;
        found->second.first = std::min(found->second.first, length(s));
        ++found->second.second;
    }
    for (std::size_t s = 0; s < spans.size(); ++s) {
        if (is_compute(spans.kind[s])) continue;
        splits[s].transfer = length(s);
        if (spans.comm.empty() || spans.comm[s] < 0) continue;
        const auto& [transfer, participants] = shortest.at(spans.comm[s]);
        splits[s] = {transfer, length(s) - transfer, participants};
    }
    return splits;
}

}  // namespace foreshard
