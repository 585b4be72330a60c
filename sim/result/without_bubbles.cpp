#include "sim/result/without_bubbles.hpp"

#include <algorithm>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "sim/result/span_query.hpp"

namespace foreshard {

namespace {

class Closer {
public:
    explicit Closer(const Run& run) : old_(run.spans), busy_(run.spans.ranks.size(), 0) {}

    SpanTable close() {
        table_.ranks = old_.ranks;
        table_.names = old_.names;
        table_.names_lack_microbatch = old_.names_lack_microbatch;
        for (const SpanRow& row : old_.rows) add_row(row);
        for (const Picoseconds end : table_.end) table_.finish = std::max(table_.finish, end);
        table_.window_end = table_.finish;
        return std::move(table_);
    }
    const std::vector<Picoseconds>& busy() const { return busy_; }

private:
    void add_row(const SpanRow& row);
    void add_span(std::size_t span, Picoseconds start, Picoseconds end);

    const SpanTable& old_;
    SpanTable table_;
    std::vector<Picoseconds> busy_;              ///< per rank: length of its first compute row
    std::map<std::int32_t, Picoseconds> moved_;  ///< per task of the rank at hand: new time less old
};

void Closer::add_span(std::size_t span, Picoseconds start, Picoseconds end) {
    table_.start.push_back(start);
    table_.end.push_back(end);
    table_.kind.push_back(old_.kind[span]);
    table_.stage.push_back(old_.stage[span]);
    table_.chunk.push_back(old_.chunk[span]);
    table_.step.push_back(old_.step[span]);
    table_.microbatch.push_back(old_.microbatch[span]);
    table_.task.push_back(old_.task[span]);
    table_.name.push_back(old_.name[span]);
}

/// A rank's compute row stands before its others, so that collectives find where their pass went.
void Closer::add_row(const SpanRow& row) {
    const bool compute = row.lane == SpanLane::compute && row.overflow == 0;
    if (compute) moved_.clear();
    if (!compute && row.lane != SpanLane::tp && row.lane != SpanLane::cp_ep) return;
    SpanRow closed = row;
    closed.first = table_.size();
    Picoseconds& at = busy_[static_cast<std::size_t>(row.rank)];
    const SpanRange inside = visible_spans(old_, row, old_.window_begin, old_.window_end);
    for (std::size_t span = inside.first; span < inside.last; ++span) {
        const Picoseconds start = std::max(old_.start[span], old_.window_begin);
        const Picoseconds end = std::min(old_.end[span], old_.window_end);
        if (compute) moved_[old_.task[span]] = at - start;
        const auto moved = moved_.find(old_.task[span]);
        if (moved == moved_.end()) continue;
        add_span(span, start + moved->second, end + moved->second);
        if (compute) at += end - start;
    }
    closed.last = table_.size();
    if (closed.first != closed.last) table_.rows.push_back(std::move(closed));
}

/// Waits are what the rank's step has beside its spans: bubble, messages, then what it awaited of other kinds.
RankAccount closed_account(RankAccount account, Picoseconds old_step, Picoseconds busy, Picoseconds step) {
    Picoseconds waits = old_step - busy;
    for (const Account kind : {Account::bubble, Account::exposed_pp, Account::exposed_dp, Account::exposed_offload}) {
        const Picoseconds gone = std::min(waits, entry(account, kind));
        entry(account, kind) -= gone;
        waits -= gone;
    }
    entry(account, Account::bubble) += step - busy;
    return account;
}

/// Of a report, which has accounts but no spans.
std::vector<Picoseconds> busy_times(const Run& run) {
    std::vector<Picoseconds> busy;
    busy.reserve(run.accounts.size());
    for (const RankAccount& account : run.accounts) busy.push_back(busy_time(account));
    return busy;
}

std::map<std::string, double> scaled_figures(const Run& run, Picoseconds step) {
    std::map<std::string, double> figures;
    const double faster = step > 0 ? static_cast<double>(run.step_time) / static_cast<double>(step) : 1.0;
    for (const char* key : {"samples_per_s", "tokens_per_s", "tokens_per_s_per_gpu", "model_tflops_per_gpu",
                            "model_tflops_per_gpu_causal", "mfu_ratio", "hfu_ratio"}) {
        const auto found = run.figures.find(key);
        if (found != run.figures.end()) figures[key] = found->second * faster;
    }
    figures["step_time_ms"] = to_milliseconds(step);
    return figures;
}

}  // namespace

Run without_bubbles(const Run& run) {
    Closer closer(run);
    Run closed;
    closed.spans = closer.close();
    const std::vector<Picoseconds> busy = run.spans.size() > 0 ? closer.busy() : busy_times(run);
    closed.name = run.name + " without bubbles";
    closed.source = run.source;
    for (const Picoseconds time : busy) closed.step_time = std::max(closed.step_time, time);
    for (std::size_t rank = 0; rank < run.accounts.size() && rank < busy.size(); ++rank) {
        closed.accounts.push_back(closed_account(run.accounts[rank], run.step_time, busy[rank], closed.step_time));
    }
    closed.figures = scaled_figures(run, closed.step_time);
    closed.settings = run.settings;
    closed.notes = {"no rank waits for another: a bound, not a plan that can run"};
    closed.provenance = run.provenance + ", without bubbles";
    return closed;
}

}  // namespace foreshard
