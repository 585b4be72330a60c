#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "sim/result/timeline.hpp"

/// Where every rank's step time goes, to the picosecond.
namespace foreshard {

enum class Account : std::uint8_t {
    forward,
    backward,
    weight_grad,
    recompute,
    optimizer,
    host,
    data,
    exposed_tp,
    exposed_cp,
    exposed_ep,
    exposed_pp,
    exposed_dp,
    exposed_offload,
    bubble,
};
inline constexpr int account_count = 14;
std::string_view to_string(Account account);

using RankAccount = std::array<Picoseconds, account_count>;

inline Picoseconds& entry(RankAccount& account, Account kind) {
    return account[static_cast<std::size_t>(kind)];
}

/// One account per rank over the timeline's window; each sums to the step time exactly. A wait for a message counts as
/// exposed while that message is in flight, and as bubble before.
std::vector<RankAccount> accounts(const TaskGraph& graph, const Timeline& timeline);

/// Idle figures of the pipeline phase (first start to last end of any pass), as the literature counts them.
struct BubbleFigures {
    double bubble_ratio = 0.0;             ///< 1 - busy / (ranks x phase); busy includes exposed TP, CP, EP
    double bubble_over_ideal_ratio = 0.0;  ///< (phase - work) / work, work of the busiest rank (Megatron's (p-1)/m)
    double bubble_span_ratio = 0.0;        ///< (longest rank span - work) / longest rank span (zero-bubble papers)
    Picoseconds phase = 0;
};
BubbleFigures bubble_figures(const TaskGraph& graph, const Timeline& timeline);

/// Time per rank in which data-parallel communication is in flight inside the window; lanes count side by side.
std::vector<Picoseconds> data_parallel_times(const TaskGraph& graph, const Timeline& timeline);

/// Busy time of the rank's compute stream in the window: all but bubble and waits.
Picoseconds busy_time(const RankAccount& account);

}  // namespace foreshard
