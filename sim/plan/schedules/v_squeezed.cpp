#include <algorithm>
#include <array>
#include <tuple>

#include "sim/plan/schedules.hpp"

/// V-Half and V-Min. Source: sail-sg/zero-bubble-pipeline-parallelism zerobubble/scheduler/zbv_greedy.py (arXiv
/// 2405.15362, section 3.3 and appendices). All passes take one slot here; the order found is used for any times.
namespace foreshard {

namespace {

/// Kinds of passes in the order of a micro-batch: F of chunk 0, F of chunk 1, I of chunk 1, I of chunk 0, W of either,
/// or W of chunk 1 and W of chunk 0 apart.
constexpr int kind_count = 6;
constexpr int first_w = 4;
bool goes_down(int kind) {
    return kind == 0 || kind == 2;
}
bool is_input_grad(int kind) {
    return kind == 2 || kind == 3;
}

constexpr std::int8_t idle = -1;

/// Turns of a split vocabulary that lie between the last stage's forward and its backward; 0 without one.
struct Lag {
    int turns = 0;

    /// Index of the forward that the last stage's I of micro-batch `index` follows: as many turns later, and at the end
    /// the last there is.
    int forward_before(int index, int microbatches) const { return std::min(index + turns, microbatches - 1); }
};

/// Slots of one rank. `at[kind][n]` is the slot of the n-th pass of a kind.
struct RankSlots {
    std::array<std::vector<int>, kind_count> at;

    int last() const {
        int slot = -1;
        for (const std::vector<int>& times : at) slot = std::max(slot, times.empty() ? -1 : times.back());
        return slot;
    }
    /// The kind in every slot, or idle.
    std::vector<std::int8_t> line() const {
        std::vector<std::int8_t> slots(static_cast<std::size_t>(last()) + 1, idle);
        for (int kind = 0; kind < kind_count; ++kind) {
            for (const int slot : at[static_cast<std::size_t>(kind)]) slots[slot] = static_cast<std::int8_t>(kind);
        }
        return slots;
    }
};
using Grid = std::vector<RankSlots>;

struct SlotPass {
    int slot = 0;
    int rank = 0;
    int kind = 0;
    int index = 0;
};

std::vector<SlotPass> in_time_order(const Grid& grid) {
    std::vector<SlotPass> all;
    for (int r = 0; r < static_cast<int>(grid.size()); ++r) {
        for (int kind = 0; kind < kind_count; ++kind) {
            const std::vector<int>& times = grid[r].at[static_cast<std::size_t>(kind)];
            for (int i = 0; i < static_cast<int>(times.size()); ++i) all.push_back({times[i], r, kind, i});
        }
    }
    std::sort(all.begin(), all.end(), [](const SlotPass& a, const SlotPass& b) {
        return std::tie(a.slot, a.rank, a.kind, a.index) < std::tie(b.slot, b.rank, b.kind, b.index);
    });
    return all;
}

/// Puts every W in the first free slot after its I; with `apart`, those of chunk 1 first and each kind for itself.
void put_weights(RankSlots& rank, bool apart) {
    std::array<int, 2> waiting{0, 0};
    int slot = 0;
    const auto place = [&] {
        for (int w = 0; w < 2; ++w) {
            if (waiting[w] == 0) continue;
            rank.at[static_cast<std::size_t>(first_w) + static_cast<std::size_t>(w)].push_back(slot);
            --waiting[w];
            return;
        }
    };
    for (const std::int8_t kind : rank.line()) {
        if (kind == idle) place();
        if (is_input_grad(kind)) ++waiting[apart ? kind - 2 : 0];
        ++slot;
    }
    for (; waiting[0] + waiting[1] > 0; ++slot) place();
}

/// Most chunk activations at a time. Without Ws in the line, idle slots are taken to run those that are due.
int peak_of(const std::vector<std::int8_t>& line, bool has_weights) {
    int held = 0;
    int due = 0;
    int peak = 0;
    for (const std::int8_t kind : line) {
        if (kind == 0 || kind == 1) peak = std::max(peak, ++held);
        if (kind >= first_w) --held;
        if (is_input_grad(kind)) ++due;
        if (kind == idle && !has_weights && due > 0) {
            --due;
            --held;
        }
    }
    return peak;
}

/// Micro-batch whose pass of the kind before must precede `pass` on its rank.
int index_before(const SlotPass& pass, const Grid& grid, Lag lag) {
    const bool last_stage = pass.kind == 2 && pass.rank == 0;
    return last_stage ? lag.forward_before(pass.index, static_cast<int>(grid[0].at[1].size())) : pass.index;
}

/// Moves passes of the warm-up and the cool-down to earlier free slots, as far as no rank's peak grows beyond the
/// grid's: `squeeze` of the paper. The steady part keeps its slots.
class Squeeze {
public:
    Squeeze(Grid& grid, bool with_weights, Lag lag) : grid_(grid), with_weights_(with_weights), lag_(lag) {
        for (RankSlots& rank : grid_) {
            if (with_weights_) put_weights(rank, false);
            lines_.push_back(rank.line());
            peak_ = std::max(peak_, peak_of(lines_.back(), with_weights_));
        }
    }

    void run() {
        enum { warm_up, steady, cool_down } phase = warm_up;
        const int last_forward = static_cast<int>(grid_[0].at[0].size()) - 1;
        for (const SlotPass& pass : in_time_order(grid_)) {
            if (pass.kind == 3 && pass.rank == 0 && phase == warm_up) phase = steady;
            if (phase == steady) {
                if (pass.kind == 0 && pass.index == last_forward) phase = cool_down;
                continue;
            }
            if (phase == warm_up && !with_weights_) continue;
            move_earlier(pass);
        }
        if (with_weights_) return;
        for (RankSlots& rank : grid_) put_weights(rank, false);
    }

private:
    int slot_of(int rank, int kind, int index) const { return grid_[rank].at[static_cast<std::size_t>(kind)][index]; }

    int earliest(const SlotPass& pass) const {
        int after = -1;
        if (pass.kind < first_w) {
            const int neighbour = goes_down(pass.kind) ? pass.rank - 1 : pass.rank + 1;
            const bool exists = neighbour >= 0 && neighbour < static_cast<int>(grid_.size());
            if (exists) after = slot_of(neighbour, pass.kind, pass.index);
            if (pass.kind > 0)
                after = std::max(after, slot_of(pass.rank, pass.kind - 1, index_before(pass, grid_, lag_)));
        } else {
            after = input_grad_slot(pass.rank, pass.index);
        }
        if (pass.index > 0) after = std::max(after, slot_of(pass.rank, pass.kind, pass.index - 1));
        return after + 1;
    }

    /// Of the n-th input gradient of either chunk.
    int input_grad_slot(int rank, int n) const {
        const auto& at = grid_[rank].at;
        std::vector<int> slots(at[2]);
        slots.insert(slots.end(), at[3].begin(), at[3].end());
        std::nth_element(slots.begin(), slots.begin() + n, slots.end());
        return slots[static_cast<std::size_t>(n)];
    }

    void move_earlier(const SlotPass& pass) {
        std::vector<std::int8_t>& line = lines_[pass.rank];
        for (int slot = earliest(pass); slot < pass.slot; ++slot) {
            if (line[slot] != idle) continue;
            std::swap(line[slot], line[pass.slot]);
            if (peak_of(line, with_weights_) <= peak_) {
                grid_[pass.rank].at[static_cast<std::size_t>(pass.kind)][pass.index] = slot;
                return;
            }
            std::swap(line[slot], line[pass.slot]);
        }
    }

    Grid& grid_;
    bool with_weights_;
    Lag lag_;
    int peak_ = 0;
    std::vector<std::vector<std::int8_t>> lines_;
};

/// Every pass starts as soon as its inputs and its rank are ready; the order stays.
void run_eagerly(Grid& grid, Lag lag) {
    std::vector<int> free(grid.size(), 0);
    const int ranks = static_cast<int>(grid.size());
    for (const SlotPass& pass : in_time_order(grid)) {
        int start = free[pass.rank];
        if (pass.kind < first_w) {
            const int neighbour = goes_down(pass.kind) ? pass.rank - 1 : pass.rank + 1;
            const auto end = [&](int rank, int kind, int index) {
                return grid[rank].at[static_cast<std::size_t>(kind)][index] + 1;
            };
            if (neighbour >= 0 && neighbour < ranks) start = std::max(start, end(neighbour, pass.kind, pass.index));
            if (pass.kind > 0) start = std::max(start, end(pass.rank, pass.kind - 1, index_before(pass, grid, lag)));
        }
        grid[pass.rank].at[static_cast<std::size_t>(pass.kind)][pass.index] = start;
        free[pass.rank] = start + 1;
    }
}

void drop_weights(Grid& grid) {
    for (RankSlots& rank : grid) {
        for (int kind = first_w; kind < kind_count; ++kind) rank.at[static_cast<std::size_t>(kind)].clear();
    }
}

Action action_of(const SlotPass& pass, int p) {
    constexpr std::array<Pass, 3> passes = {Pass::forward, Pass::input_grad, Pass::weight_grad};
    // Forwards pass chunk 0 first, gradients chunk 1.
    const int chunk = pass.kind < 2 ? pass.kind : 1 - pass.kind % 2;
    const int stage = chunk == 0 ? pass.rank : 2 * p - 1 - pass.rank;
    return {stage, pass.index, passes[static_cast<std::size_t>(pass.kind / 2)]};
}

constexpr int period = 6;  ///< two chunks of F, I and W

/// @param pattern first slots of the four kinds on a rank
template <class Pattern>
Grid squeezed_grid(int p, int m, Pattern pattern, Lag lag) {
    Grid grid(static_cast<std::size_t>(p));
    for (int r = 0; r < p; ++r) {
        const std::array<int, 4> first = pattern(r);
        for (std::size_t kind = 0; kind < first.size(); ++kind) {
            for (int k = 0; k < m; ++k) grid[r].at[kind].push_back(first[kind] + period * k);
        }
    }
    for (const bool with_weights : {true, false}) {
        Squeeze(grid, with_weights, lag).run();
        run_eagerly(grid, lag);
        drop_weights(grid);
    }
    for (RankSlots& rank : grid) put_weights(rank, true);
    return grid;
}

template <class Pattern>
Schedule squeezed_schedule(const char* name, int p, int m, Pattern pattern, Lag lag = {}) {
    Schedule schedule = blank_schedule(name, Placement::v, p, m, 2);
    for (const SlotPass& pass : in_time_order(squeezed_grid(p, m, pattern, lag))) {
        schedule.actions[pass.rank].push_back(action_of(pass, p));
    }
    return schedule;
}

/// Slots of V-Half's block on a rank, with the backward `turns` periods later.
std::array<int, 4> half_block(int p, int r, int turns) {
    const int later = (p % 2 == 0 ? 3 : 0) + turns * period;
    return {2 * r, 3 * p - 2 - r, 3 * p + later + 2 * r - 1, 6 * p + later - 2 - r};
}

/// When the vocabulary turns begin in a run of the other passes: with the end of every forward of the last stage, which
/// is on rank 0, and one more with the start of its last backward.
std::vector<Picoseconds> vocabulary_turns(const Schedule& schedule, const DryRun& run) {
    std::vector<Picoseconds> turns;
    Picoseconds last = 0;
    for (std::size_t i = 0; i < schedule.actions[0].size(); ++i) {
        const Action& a = schedule.actions[0][i];
        if (a.stage + 1 != schedule.stages) continue;
        if (a.pass == Pass::forward) turns.push_back(run.end[0][i]);
        if (a.pass == Pass::input_grad) last = run.start[0][i];
    }
    turns.push_back(last);
    return turns;
}

/// A turn is T of the micro-batch before and S of its own.
void append_turn(std::vector<Action>& list, int rank, int turn, int microbatches) {
    if (turn > 0) list.push_back({rank, turn - 1, Pass::vocab_backward});
    if (turn < microbatches) list.push_back({rank, turn, Pass::vocab_forward});
}

}  // namespace

Schedule v_half_schedule(int p, int m) {
    return squeezed_schedule("v-half", p, m, [&](int r) { return half_block(p, r, 0); });
}

Schedule v_half_vocabulary_schedule(int p, int m, const PassCosts& costs) {
    constexpr int barriers = 2;
    const auto block = [&](int r) { return half_block(p, r, barriers); };
    Schedule schedule = squeezed_schedule("v-half-vocab-1", p, m, block, Lag{barriers});
    const DryRun run = dry_run(schedule, without_zeros(costs));
    const std::vector<Picoseconds> turns = vocabulary_turns(schedule, run);
    for (int r = 0; r < p; ++r) {
        std::vector<Action> list;
        int turn = 0;
        for (std::size_t i = 0; i < schedule.actions[r].size(); ++i) {
            for (; turn <= m && turns[turn] <= run.start[r][i]; ++turn) append_turn(list, r, turn, m);
            list.push_back(schedule.actions[r][i]);
        }
        for (; turn <= m; ++turn) append_turn(list, r, turn, m);
        schedule.actions[r] = std::move(list);
    }
    schedule.vocabulary = VocabularySplit::two_barriers;
    return schedule;
}

Schedule v_min_schedule(int p, int m) {
    const int extra = p % 3 == 0 ? 2 : 0;
    return squeezed_schedule("v-min", p, m, [&](int r) {
        return std::array<int, 4>{r, 2 * p - 1 - r, 2 * p + extra + r, 4 * p + extra - 1 - r};
    });
}

}  // namespace foreshard
