#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/result/timeline.hpp"

/// Spans of a run as views draw and compare them, wherever they come from: simulated, measured, imported.
namespace foreshard {

/// What views tell apart by colour. `host`: framework work of a step; `other`: nothing of the above.
enum class SpanKind : std::uint8_t {
    forward,
    backward,  ///< input and weight gradient together
    input_grad,
    weight_grad,
    recompute,
    vocabulary,  ///< passes S and T, and the collectives around them
    optimizer,
    host,
    tp,
    cp,
    ep,
    p2p,
    dp,
    offload,
    other,
};
inline constexpr int span_kind_count = 15;
std::string_view to_string(SpanKind kind);

/// True for what keeps a rank's compute stream busy; a wait in that row is a bubble.
bool is_compute(SpanKind kind);

/// Part of a rank that a row shows.
enum class SpanLane : std::uint8_t { compute, tp, cp_ep, p2p, dp, other };
inline constexpr int span_lane_count = 6;
std::string_view to_string(SpanLane lane);

struct SpanRank {
    int rank = 0;  ///< simulated rank, or rank of the trace
    int pp = -1;
    int replica = -1;  ///< data-parallel index; -1: stands for all, or not known
    std::string name;
};

/// Spans [first, last) of the table in order of start; they do not overlap. What would overlap stands in further rows
/// of the same lane, so that nothing is dropped.
struct SpanRow {
    int rank = 0;  ///< index into SpanTable::ranks
    SpanLane lane = SpanLane::compute;
    int overflow = 0;  ///< 0: the lane's first row
    std::size_t first = 0;
    std::size_t last = 0;
    std::string name;
};

/// Structure of arrays; all vectors are as long as `start`, except `comm`, `first_input` and `inputs`,
/// which may be empty when nothing is known.
struct SpanTable {
    std::vector<SpanRank> ranks;
    std::vector<SpanRow> rows;  ///< sorted by (rank, lane, overflow)
    std::vector<Picoseconds> start;
    std::vector<Picoseconds> end;
    std::vector<SpanKind> kind;
    std::vector<std::int16_t> stage;  ///< -1: none
    std::vector<std::int16_t> chunk;  ///< of the rank, from 0; -1: none
    std::vector<std::int16_t> step;
    std::vector<std::int32_t> microbatch;  ///< -1: none
    std::vector<std::int32_t> task;        ///< of the TaskGraph; of a trace, the event's number
    std::vector<std::int32_t> name;        ///< index into `names`
    std::vector<std::string> names;        ///< distinct ones
    bool names_lack_microbatch = false;    ///< the micro-batch's number stands behind the name ("2F" and 0)

    /// Spans of different ranks with equal numbers met in one communication; -1: none. Empty: not known.
    std::vector<std::int32_t> comm;

    /// Spans that a span waits for, as [first_input[i], first_input[i + 1]) of `inputs`. Both are empty for runs
    /// without known dependencies. An input ends before the span starts; only a receive runs together with its send.
    std::vector<std::uint32_t> first_input;
    std::vector<std::uint32_t> inputs;

    Picoseconds begin = 0;
    Picoseconds finish = 0;  ///< end of the last span
    Picoseconds window_begin = 0;
    Picoseconds window_end = 0;  ///< of the step that figures are taken from

    std::size_t size() const { return start.size(); }
};

/// Spans of a graph that was run. A pass with recomputation is two spans, the recomputation first; collectives inside a
/// pass have a row of their own below it, drawn at its end.
SpanTable make_spans(const TaskGraph& graph, const Timeline& timeline);

/// "2F0", "send 2F0", "recompute 2B0", "tp 2F0"; a trace's own name.
std::string span_name(const SpanTable& spans, std::size_t span);

/// One letter for a box: F, B, I, W, R, S, O, H, C.
char letter(SpanKind kind);

}  // namespace foreshard
