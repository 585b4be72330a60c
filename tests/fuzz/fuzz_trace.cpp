#include <numeric>

#include "sim/result/compare.hpp"
#include "sim/result/coverage.hpp"
#include "sim/result/span_query.hpp"
#include "sim/result/waterfall.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "traces/file_kind.hpp"
#include "traces/read_trace.hpp"

namespace foreshard::fuzz {
namespace {

void check_rows(const SpanTable& spans) {
    for (std::size_t r = 0; r < spans.rows.size(); ++r) {
        const SpanRow& row = spans.rows[r];
        require(row.rank >= 0 && row.rank < static_cast<int>(spans.ranks.size()), "a row's rank is there");
        require(row.first <= row.last && row.last <= spans.size(), "a row's spans are there");
        for (std::size_t s = row.first; s < row.last; ++s) {
            require(spans.start[s] <= spans.end[s], "a span begins before it ends");
            require(s == row.first || spans.end[s - 1] <= spans.start[s], "spans of a row do not overlap");
            span_name(spans, s);
        }
        for (const Gap& gap : row_gaps(spans, r)) require(gap.length() > 0, "a gap has a length");
    }
}

/// What views ask of a run.
void use(const Run& run) {
    check_rows(run.spans);
    for (const RankAccount& account : run.accounts) {
        require(std::accumulate(account.begin(), account.end(), Picoseconds{0}) == run.step_time, "accounts sum up");
    }
    require(compare(run, run).match_ratio() == 1.0, "a run is itself");
    if (!run.accounts.empty())
        require(largest_first(waterfall(run, run)).empty(), "a run differs from itself by nothing");
    for (const Gap& gap : gaps_by_length(run.spans)) require(!gap_text(run.spans, gap).empty(), "a gap has a text");
    if (run.spans.rows.empty()) return;
    area_totals(run.spans, 0, run.spans.rows.size() - 1, run.spans.begin, run.spans.finish);
    const Coverage coverage(run.spans);
    if (run.spans.finish > run.spans.begin) covered_times(coverage, 0, run.spans.begin, run.spans.finish);
}

}  // namespace
}  // namespace foreshard::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace foreshard;
    return fuzz::run(data, size, [](const std::string& text) {
        const TraceLimits limits{100'000, std::size_t{1} << 24};
        fuzz::use(parse_trace("trace.json", text, limits));
    });
}
