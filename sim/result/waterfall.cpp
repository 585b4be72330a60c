#include "sim/result/waterfall.hpp"

#include <algorithm>
#include <numeric>

namespace foreshard {

namespace {

struct TermNames {
    Account account;
    std::string_view key;
    std::string_view text;
};

/// Like StepTerm. Imbalance and bubble are both the account bubble.
constexpr std::array<TermNames, step_term_count> terms = {{
    {Account::forward, "forward", "forward"},
    {Account::backward, "backward", "backward"},
    {Account::weight_grad, "weight_grad", "weight gradients"},
    {Account::recompute, "recompute", "recomputation"},
    {Account::optimizer, "optimizer", "optimizer"},
    {Account::host, "host", "host"},
    {Account::data, "data", "data"},
    {Account::exposed_tp, "exposed_tp", "exposed TP"},
    {Account::exposed_cp, "exposed_cp", "exposed CP"},
    {Account::exposed_ep, "exposed_ep", "exposed EP"},
    {Account::exposed_pp, "exposed_pp", "exposed PP"},
    {Account::exposed_dp, "exposed_dp", "exposed DP"},
    {Account::exposed_offload, "exposed_offload", "exposed offload"},
    {Account::bubble, "imbalance", "imbalance"},
    {Account::bubble, "bubble", "bubble"},
}};

std::size_t at(StepTerm term) {
    return static_cast<std::size_t>(term);
}

/// Means over ranks in whole picoseconds that sum to the mean of the sums: terms with the largest remainders are
/// rounded up, the earlier one first.
RankAccount mean_account(const std::vector<RankAccount>& accounts) {
    const auto ranks = static_cast<Picoseconds>(accounts.size());
    RankAccount mean{};
    std::array<Picoseconds, account_count> rest{};
    for (std::size_t i = 0; i < account_count; ++i) {
        Picoseconds sum = 0;
        for (const RankAccount& account : accounts) sum += account[i];
        mean[i] = sum / ranks;
        rest[i] = sum % ranks;
    }
    std::array<std::size_t, account_count> order{};
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return rest[a] > rest[b]; });
    const Picoseconds missing = std::accumulate(rest.begin(), rest.end(), Picoseconds{0}) / ranks;
    for (std::size_t i = 0; i < static_cast<std::size_t>(missing); ++i) ++mean[order[i]];
    return mean;
}

/// Idle time that no order of micro-batches takes away: the busiest rank's work less the mean.
Picoseconds imbalance_of(const std::vector<RankAccount>& accounts, const RankAccount& mean) {
    Picoseconds busiest = 0;
    for (const RankAccount& account : accounts) busiest = std::max(busiest, busy_time(account));
    const Picoseconds bubble = mean[static_cast<std::size_t>(Account::bubble)];
    return std::clamp(busiest - busy_time(mean), Picoseconds{0}, std::max(bubble, Picoseconds{0}));
}

}  // namespace

std::string_view to_string(StepTerm term) {
    return terms[at(term)].text;
}

std::string_view key_of(StepTerm term) {
    return terms[at(term)].key;
}

bool is_compute(StepTerm term) {
    return term <= StepTerm::recompute;
}

StepTerms step_terms(const Run& run) {
    const RankAccount mean = mean_account(run.accounts);
    StepTerms result{};
    for (std::size_t i = 0; i < step_term_count; ++i) result[i] = mean[static_cast<std::size_t>(terms[i].account)];
    result[at(StepTerm::imbalance)] = imbalance_of(run.accounts, mean);
    result[at(StepTerm::bubble)] -= result[at(StepTerm::imbalance)];
    return result;
}

Waterfall waterfall(const Run& a, const Run& b) {
    Waterfall result;
    result.step_a = a.step_time;
    result.step_b = b.step_time;
    result.a = step_terms(a);
    result.b = step_terms(b);
    for (std::size_t i = 0; i < step_term_count; ++i) result.difference[i] = result.b[i] - result.a[i];
    return result;
}

std::vector<StepTerm> largest_first(const Waterfall& waterfall) {
    std::vector<StepTerm> order;
    for (int i = 0; i < step_term_count; ++i) {
        if (waterfall.difference[static_cast<std::size_t>(i)] != 0) order.push_back(static_cast<StepTerm>(i));
    }
    const auto size = [&](StepTerm term) { return std::abs(waterfall.difference[at(term)]); };
    std::stable_sort(order.begin(), order.end(), [&](StepTerm a, StepTerm b) { return size(a) > size(b); });
    return order;
}

}  // namespace foreshard
