#include "sim/result/span_subset.hpp"

#include <algorithm>

namespace foreshard {

namespace {

template <class T>
std::vector<T> picked(const std::vector<T>& all, const std::vector<std::size_t>& which) {
    std::vector<T> some;
    some.reserve(which.size());
    for (const std::size_t i : which) some.push_back(all[i]);
    return some;
}

}  // namespace

SpanTable subset_of(const SpanTable& spans, const std::vector<std::size_t>& which) {
    SpanTable subset;
    subset.ranks = spans.ranks;
    subset.rows = spans.rows;
    subset.names = spans.names;
    subset.names_lack_microbatch = spans.names_lack_microbatch;
    subset.start = picked(spans.start, which);
    subset.end = picked(spans.end, which);
    subset.kind = picked(spans.kind, which);
    subset.stage = picked(spans.stage, which);
    subset.chunk = picked(spans.chunk, which);
    subset.step = picked(spans.step, which);
    subset.microbatch = picked(spans.microbatch, which);
    subset.task = picked(spans.task, which);
    subset.name = picked(spans.name, which);
    const auto place = [&](std::size_t span) {
        return static_cast<std::size_t>(std::lower_bound(which.begin(), which.end(), span) - which.begin());
    };
    for (SpanRow& row : subset.rows) {
        row.first = place(row.first);
        row.last = place(row.last);
    }
    subset.begin = spans.begin;
    subset.finish = spans.finish;
    subset.window_begin = spans.window_begin;
    subset.window_end = spans.window_end;
    return subset;
}

}  // namespace foreshard
