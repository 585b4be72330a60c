#include "sim/result/span_accounts.hpp"

#include <algorithm>
#include <array>

#include "sim/result/span_query.hpp"

namespace foreshard {

namespace {

/// What may run beside compute, in the order in which it takes time.
enum class Beside : std::uint8_t { kernel, tp, cp, ep, pp, dp, offload };
constexpr int beside_count = 7;

constexpr int computing = -1;
constexpr int explained_gap = -2;  ///< a gap at whose end something arrives: what else is in flight is not awaited

struct Edge {
    Picoseconds time = 0;
    int what = 0;  ///< Beside; that and beside_count when it ends a gap; or one of the above
    int change = 0;
    Account account = Account::bubble;  ///< of compute
};

/// Of the passes that share the vocabulary, T goes backward.
Account account_of(const SpanTable& spans, std::size_t span) {
    const bool backward =
        spans.kind[span] == SpanKind::vocabulary && span_name(spans, span).find('T') != std::string::npos;
    return backward ? Account::backward : account_of(spans.kind[span]);
}

/// -1: nothing that compute would wait for.
int beside_of(const SpanTable& spans, std::size_t span, SpanLane lane) {
    switch (spans.kind[span]) {
        case SpanKind::tp:
            return static_cast<int>(Beside::tp);
        case SpanKind::cp:
            return static_cast<int>(Beside::cp);
        case SpanKind::ep:
            return static_cast<int>(Beside::ep);
        case SpanKind::p2p:
        case SpanKind::vocabulary:
            return static_cast<int>(Beside::pp);
        case SpanKind::dp:
            return static_cast<int>(Beside::dp);
        case SpanKind::offload:
            return static_cast<int>(Beside::offload);
        case SpanKind::other:
            return lane == SpanLane::other ? static_cast<int>(Beside::kernel) : -1;
        case SpanKind::forward:
        case SpanKind::backward:
        case SpanKind::input_grad:
        case SpanKind::weight_grad:
        case SpanKind::recompute:
        case SpanKind::optimizer:
        case SpanKind::host:
            return -1;
    }
    return -1;
}

/// A rank waits for what it sends only when the message ends the gap.
bool is_send(const SpanTable& spans, std::size_t span) {
    return spans.names[static_cast<std::size_t>(spans.name[span])].starts_with("send");
}

/// Sweeps over one rank's window. Its first compute row is added first.
class Sweep {
public:
    Sweep(const SpanTable& spans, const std::vector<CommSplit>& splits) : spans_(spans), splits_(splits) {}

    void add(std::size_t index) {
        const SpanRow& row = spans_.rows[index];
        const bool compute = row.lane == SpanLane::compute && row.overflow == 0;
        if (compute) gaps_ = row_gaps(spans_, index);
        const SpanRange range = visible_spans(spans_, row, spans_.window_begin, spans_.window_end);
        for (std::size_t span = range.first; span < range.last; ++span) {
            if (spans_.start[span] == spans_.end[span]) continue;
            if (compute) {
                add_edges(spans_.start[span], spans_.end[span], computing, account_of(spans_, span));
            } else {
                add_beside(span, row.lane);
            }
        }
    }

    RankAccount account();

private:
    void add_beside(std::size_t span, SpanLane lane);
    void add_edges(Picoseconds begin, Picoseconds end, int what, Account account = Account::bubble) {
        begin = std::max(begin, spans_.window_begin);
        end = std::min(end, spans_.window_end);
        if (begin >= end) return;
        edges_.push_back({begin, what, 1, account});
        edges_.push_back({end, what, -1, account});
    }
    const Gap* gap_that_ends_at(Picoseconds time) const {
        const auto ends_before = [](const Gap& gap, Picoseconds t) { return gap.end < t; };
        const auto found = std::lower_bound(gaps_.begin(), gaps_.end(), time, ends_before);
        return found != gaps_.end() && found->end == time && found->after ? &*found : nullptr;
    }
    void cross(const Edge& edge);
    void spend(Picoseconds time) { account_[static_cast<std::size_t>(now())] += time; }
    bool runs(Beside what) const { return running_[static_cast<std::size_t>(what)] > 0; }
    bool awaited(Beside what) const {
        const bool ends_the_gap = running_[static_cast<std::size_t>(what) + beside_count] > 0;
        return ends_the_gap || (explained_ == 0 && runs(what));
    }
    Account now() const;

    const SpanTable& spans_;
    const std::vector<CommSplit>& splits_;
    std::vector<Gap> gaps_;
    std::vector<Edge> edges_;
    std::array<int, std::size_t{2} * beside_count> running_{};
    int explained_ = 0;
    int computing_ = 0;
    Account compute_ = Account::bubble;
    RankAccount account_{};
};

void Sweep::add_beside(std::size_t span, SpanLane lane) {
    const int what = beside_of(spans_, span, lane);
    if (what < 0) return;
    const Picoseconds start = spans_.start[span] + splits_[span].wait;
    const Gap* gap = gap_that_ends_at(spans_.end[span]);
    if (gap != nullptr) {
        add_edges(std::max(start, gap->begin), gap->end, what + beside_count);
        add_edges(gap->begin, gap->end, explained_gap);
    }
    if (!is_send(spans_, span)) add_edges(start, spans_.end[span], what);
}

RankAccount Sweep::account() {
    std::sort(edges_.begin(), edges_.end(),
              [](const Edge& a, const Edge& b) { return a.time != b.time ? a.time < b.time : a.change < b.change; });
    Picoseconds at = spans_.window_begin;
    for (const Edge& edge : edges_) {
        spend(edge.time - at);
        at = edge.time;
        cross(edge);
    }
    spend(spans_.window_end - at);
    return account_;
}

void Sweep::cross(const Edge& edge) {
    if (edge.what >= 0) {
        running_[static_cast<std::size_t>(edge.what)] += edge.change;
    } else if (edge.what == explained_gap) {
        explained_ += edge.change;
    } else {
        computing_ += edge.change;
        if (edge.change > 0) compute_ = edge.account;
    }
}

Account Sweep::now() const {
    if (computing_ > 0) {
        if (runs(Beside::kernel)) return compute_;
        if (runs(Beside::tp)) return Account::exposed_tp;
        if (runs(Beside::cp)) return Account::exposed_cp;
        return runs(Beside::ep) ? Account::exposed_ep : compute_;
    }
    if (awaited(Beside::pp)) return Account::exposed_pp;
    if (awaited(Beside::dp)) return Account::exposed_dp;
    if (awaited(Beside::tp)) return Account::exposed_tp;
    if (awaited(Beside::cp)) return Account::exposed_cp;
    if (awaited(Beside::ep)) return Account::exposed_ep;
    return awaited(Beside::offload) ? Account::exposed_offload : Account::bubble;
}

}  // namespace

Account account_of(SpanKind kind) {
    switch (kind) {
        case SpanKind::forward:
        case SpanKind::vocabulary:
            return Account::forward;
        case SpanKind::backward:
        case SpanKind::input_grad:
            return Account::backward;
        case SpanKind::weight_grad:
            return Account::weight_grad;
        case SpanKind::recompute:
            return Account::recompute;
        case SpanKind::optimizer:
            return Account::optimizer;
        case SpanKind::tp:
            return Account::exposed_tp;
        case SpanKind::cp:
            return Account::exposed_cp;
        case SpanKind::ep:
            return Account::exposed_ep;
        case SpanKind::p2p:
            return Account::exposed_pp;
        case SpanKind::dp:
            return Account::exposed_dp;
        case SpanKind::offload:
            return Account::exposed_offload;
        case SpanKind::host:
        case SpanKind::other:
            return Account::host;
    }
    return Account::host;
}

std::vector<RankAccount> accounts_of(const SpanTable& spans) {
    const std::vector<CommSplit> splits = comm_splits(spans);
    std::vector<Sweep> sweeps(spans.ranks.size(), Sweep(spans, splits));
    for (std::size_t row = 0; row < spans.rows.size(); ++row) {
        sweeps[static_cast<std::size_t>(spans.rows[row].rank)].add(row);
    }
    std::vector<RankAccount> accounts;
    accounts.reserve(sweeps.size());
    for (Sweep& sweep : sweeps) accounts.push_back(sweep.account());
    return accounts;
}

}  // namespace foreshard
