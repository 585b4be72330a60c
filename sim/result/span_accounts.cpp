#include "sim/result/span_accounts.hpp"

#include <algorithm>
#include <array>

#include "sim/result/span_query.hpp"

namespace foreshard {

namespace {

/// What may run beside compute, in the order in which it takes time.
enum class Beside : std::uint8_t { kernel, tp, cp, ep, pp, dp, offload };
constexpr int beside_count = 7;

struct Edge {
    Picoseconds time = 0;
    int what = 0;  ///< Beside, or -1: compute
    int change = 0;
    Account account = Account::bubble;  ///< of compute
};

Account account_of(const SpanTable& spans, std::size_t span) {
    switch (spans.kind[span]) {
        case SpanKind::forward:
            return Account::forward;
        case SpanKind::backward:
        case SpanKind::input_grad:
            return Account::backward;
        case SpanKind::weight_grad:
            return Account::weight_grad;
        case SpanKind::recompute:
            return Account::recompute;
        case SpanKind::vocabulary:
            return span_name(spans, span).find('T') == std::string::npos ? Account::forward : Account::backward;
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

/// -1: nothing that compute would wait for. A rank does not wait for what it sends.
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
            if (spans.names[static_cast<std::size_t>(spans.name[span])].starts_with("send")) return -1;
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

/// Sweeps over one rank's window.
class Sweep {
public:
    explicit Sweep(const SpanTable& spans) : spans_(spans) {}

    void add(const SpanRow& row) {
        const bool compute = row.lane == SpanLane::compute && row.overflow == 0;
        const SpanRange range = visible_spans(spans_, row, spans_.window_begin, spans_.window_end);
        for (std::size_t span = range.first; span < range.last; ++span) {
            const int what = compute ? -1 : beside_of(spans_, span, row.lane);
            const bool counts = (compute || what >= 0) && spans_.start[span] < spans_.end[span];
            if (!counts) continue;
            const Account account = compute ? account_of(spans_, span) : Account::bubble;
            edges_.push_back({std::max(spans_.start[span], spans_.window_begin), what, 1, account});
            edges_.push_back({std::min(spans_.end[span], spans_.window_end), what, -1, account});
        }
    }

    RankAccount account() {
        std::sort(edges_.begin(), edges_.end(), [](const Edge& a, const Edge& b) {
            return a.time != b.time ? a.time < b.time : a.change < b.change;
        });
        Picoseconds at = spans_.window_begin;
        for (const Edge& edge : edges_) {
            spend(edge.time - at);
            at = edge.time;
            cross(edge);
        }
        spend(spans_.window_end - at);
        return account_;
    }

private:
    void cross(const Edge& edge) {
        if (edge.what >= 0) {
            running_[static_cast<std::size_t>(edge.what)] += edge.change;
            return;
        }
        computing_ += edge.change;
        if (edge.change > 0) compute_ = edge.account;
    }
    void spend(Picoseconds time) { account_[static_cast<std::size_t>(now())] += time; }
    bool runs(Beside what) const { return running_[static_cast<std::size_t>(what)] > 0; }
    Account now() const;

    const SpanTable& spans_;
    std::vector<Edge> edges_;
    std::array<int, beside_count> running_{};
    int computing_ = 0;
    Account compute_ = Account::bubble;
    RankAccount account_{};
};

Account Sweep::now() const {
    if (computing_ > 0) {
        if (runs(Beside::kernel)) return compute_;
        if (runs(Beside::tp)) return Account::exposed_tp;
        if (runs(Beside::cp)) return Account::exposed_cp;
        return runs(Beside::ep) ? Account::exposed_ep : compute_;
    }
    if (runs(Beside::pp)) return Account::exposed_pp;
    if (runs(Beside::dp)) return Account::exposed_dp;
    if (runs(Beside::tp)) return Account::exposed_tp;
    if (runs(Beside::cp)) return Account::exposed_cp;
    if (runs(Beside::ep)) return Account::exposed_ep;
    return runs(Beside::offload) ? Account::exposed_offload : Account::bubble;
}

}  // namespace

std::vector<RankAccount> accounts_of(const SpanTable& spans) {
    std::vector<Sweep> sweeps(spans.ranks.size(), Sweep(spans));
    for (const SpanRow& row : spans.rows) sweeps[static_cast<std::size_t>(row.rank)].add(row);
    std::vector<RankAccount> accounts;
    accounts.reserve(sweeps.size());
    for (Sweep& sweep : sweeps) accounts.push_back(sweep.account());
    return accounts;
}

}  // namespace foreshard
