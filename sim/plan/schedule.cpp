#include "sim/plan/schedule.hpp"

#include <algorithm>
#include <cassert>

#include <fmt/format.h>

namespace foreshard {

namespace {

/// A range of indices, `first` included, `last` not.
struct Window {
    int first = 0;
    int last = 0;
};

/// All of `size`, or the part around `center` when that is more than `limit` long.
Window window_around(int center, int size, int limit) {
    if (center < 0 || size <= limit) return {0, size};
    const int first = std::clamp(center - limit / 2, 0, std::max(0, size - limit));
    return {first, std::min(size, first + limit)};
}

std::string grid_line(const std::vector<Action>& list, Window shown, int mark_index) {
    const int size = static_cast<int>(list.size());
    std::string line = shown.first > 0 ? " ..." : "";
    for (int i = shown.first; i < std::min(shown.last, size); ++i) {
        const bool joined = i > shown.first && list[i - 1].fused_with_next;
        line += joined ? '&' : ' ';
        line += to_string(list[i]);
        if (i == mark_index) line += " <-- ERROR HERE";
    }
    if (shown.last < size) line += " ...";
    if (mark_index >= size) line += " <-- ERROR HERE";
    return line;
}

}  // namespace

char letter(Pass pass) {
    switch (pass) {
        case Pass::forward:
            return 'F';
        case Pass::backward:
            return 'B';
        case Pass::input_grad:
            return 'I';
        case Pass::weight_grad:
            return 'W';
        case Pass::vocab_forward:
            return 'S';
        case Pass::vocab_backward:
            return 'T';
    }
    return '?';
}

bool is_vocabulary(Pass pass) {
    return pass == Pass::vocab_forward || pass == Pass::vocab_backward;
}

std::string to_string(const Action& action) {
    return fmt::format("{}{}{}", action.stage, letter(action.pass), action.microbatch);
}

std::vector<int> stage_ranks(Placement placement, int ranks, int stages) {
    assert(placement != Placement::bidirectional && ranks > 0);
    std::vector<int> result(static_cast<std::size_t>(stages));
    for (int s = 0; s < stages; ++s) {
        const int turn = s / ranks;
        const bool reversed = (placement == Placement::v || placement == Placement::snake) && turn % 2 == 1;
        result[s] = reversed ? ranks - 1 - s % ranks : s % ranks;
    }
    return result;
}

std::string to_string(const Schedule& schedule, int mark_rank, int mark_index) {
    constexpr int shown_ranks = 8;
    constexpr int shown_actions = 20;
    const Window rows = window_around(mark_rank, static_cast<int>(schedule.actions.size()), shown_ranks);
    std::string grid = rows.first > 0 ? "...\n" : "";
    for (int r = rows.first; r < rows.last; ++r) {
        const std::vector<Action>& list = schedule.actions[r];
        const int center = mark_rank < 0 ? -1 : std::max(mark_index, 0);
        const Window columns = window_around(center, static_cast<int>(list.size()), shown_actions);
        grid += fmt::format("rank {}:{}\n", r, grid_line(list, columns, r == mark_rank ? mark_index : -1));
    }
    if (rows.last < static_cast<int>(schedule.actions.size())) grid += "...\n";
    return grid;
}

}  // namespace foreshard
