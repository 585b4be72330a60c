#include "sim/plan/schedule_csv.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstddef>
#include <string_view>

#include <fmt/format.h>

#include "sim/error.hpp"

namespace foreshard {

namespace {

constexpr std::size_t max_file_bytes = std::size_t{16} << 20;
constexpr int max_index = 1 << 30;  ///< indices and counts stay well inside int

/// Actions as written, with their places in the file.
struct Grid {
    std::vector<std::vector<Action>> actions;  ///< per rank
    std::vector<int> line;                     ///< per rank, from 1
    std::vector<std::vector<int>> cell;        ///< of every action, from 1
    ScheduleExtent extent;
    std::int64_t action_count = 0;
};

std::string_view trimmed(std::string_view text) {
    const auto is_space = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
    while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
    return text;
}

/// Takes the text up to `separator` off the front.
std::string_view next_part(std::string_view& rest, char separator) {
    const std::size_t end = std::min(rest.find(separator), rest.size());
    const std::string_view part = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    return part;
}

std::optional<Pass> parse_pass(char c) {
    switch (c) {
        case 'F':
            return Pass::forward;
        case 'B':
            return Pass::backward;
        case 'I':
            return Pass::input_grad;
        case 'W':
            return Pass::weight_grad;
        case 'S':
            return Pass::vocab_forward;
        case 'T':
            return Pass::vocab_backward;
        default:
            return std::nullopt;
    }
}

/// A value shortened so that a wrong file does not fill the screen.
std::string quoted(std::string_view value) {
    constexpr std::size_t shown = 40;
    std::string text;
    for (const char c : value.substr(0, shown)) text += std::isprint(static_cast<unsigned char>(c)) != 0 ? c : '?';
    return "'" + text + (value.size() > shown ? "...'" : "'");
}

class GridReader {
public:
    explicit GridReader(const std::string& file) : file_(file) {}

    Grid read(std::string_view text) {
        if (text.size() > max_file_bytes) {
            throw UnreadableFile(file_, "", fmt::format("has {} bytes, a schedule file at most 16 MiB", text.size()));
        }
        if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
        while (!text.empty()) {
            ++line_;
            read_line(trimmed(next_part(text, '\n')));
        }
        if (grid_.action_count == 0) {
            throw InputError(file_, "", "has no actions; a schedule file has a line per rank, cells like 0F0,0B0");
        }
        grid_.extent.ranks = static_cast<int>(grid_.actions.size());
        return std::move(grid_);
    }

private:
    void read_line(std::string_view line) {
        if (line.empty() || line.front() == '#') return;
        grid_.actions.emplace_back();
        grid_.cell.emplace_back();
        grid_.line.push_back(line_);
        cell_ = 0;
        while (!line.empty()) {
            ++cell_;
            read_cell(trimmed(next_part(line, ',')));
        }
    }

    void read_cell(std::string_view text) {
        if (text.empty()) return;
        std::string_view rest = text;
        while (true) {
            const bool fused = rest.find('&') != std::string_view::npos;
            Action action = parse_action(trimmed(next_part(rest, '&')), text);
            action.fused_with_next = fused;
            add(action);
            if (!fused) return;
        }
    }

    void add(const Action& action) {
        grid_.actions.back().push_back(action);
        grid_.cell.back().push_back(cell_);
        // S and T name a rank, not a stage.
        if (!is_vocabulary(action.pass)) grid_.extent.stages = std::max(grid_.extent.stages, action.stage + 1);
        grid_.extent.microbatches = std::max(grid_.extent.microbatches, action.microbatch + 1);
        ++grid_.action_count;
    }

    Action parse_action(std::string_view part, std::string_view cell) const {
        std::string_view rest = part;
        Action action;
        action.stage = parse_index(rest, cell);
        const std::optional<Pass> pass = rest.empty() ? std::nullopt : parse_pass(rest.front());
        if (!pass) fail(cell, "after the stage must come a pass: F, B, I or W (or S, T)");
        action.pass = *pass;
        rest.remove_prefix(1);
        action.microbatch = parse_index(rest, cell);
        if (!rest.empty()) fail(cell, "nothing may follow the micro-batch");
        return action;
    }

    std::int32_t parse_index(std::string_view& rest, std::string_view cell) const {
        // from_chars takes a minus sign, which is refused here.
        if (rest.empty() || std::isdigit(static_cast<unsigned char>(rest.front())) == 0) {
            fail(cell, "an action is stage, pass, micro-batch, like 2F0");
        }
        std::int32_t value = 0;
        const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
        if (error != std::errc() || value >= max_index) fail(cell, fmt::format("numbers must be below {}", max_index));
        rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
        return value;
    }

    [[noreturn]] void fail(std::string_view cell, const std::string& rule) const {
        throw InputError(file_, fmt::format("line {}, cell {}", line_, cell_), quoted(cell) + ": " + rule);
    }

    const std::string& file_;
    Grid grid_;
    int line_ = 0;
    int cell_ = 0;
};

/// Turns a grid into a Schedule of the wanted shape.
class ScheduleBuilder {
public:
    ScheduleBuilder(const std::string& file, Grid grid, const ScheduleShape& shape)
        : file_(file), grid_(std::move(grid)), shape_(shape) {
        schedule_.name = "file";
        schedule_.ranks = shape.ranks;
        schedule_.microbatches = shape.microbatches.value_or(grid_.extent.microbatches);
        schedule_.actions = std::move(grid_.actions);
        schedule_.vocabulary = shape.vocabulary;
    }

    Schedule build() {
        check_rank_count();
        check_size(1);
        const std::vector<int> entries = read_directions();
        const int ways = static_cast<int>(entries.size());
        schedule_.stages = stage_count(ways);
        check_size(schedule_.stages);
        schedule_.stage_rank = shape_.placement ? placed_ranks(*shape_.placement) : ranks_in_file(ways);
        schedule_.chunks = largest_chunk_count();
        if (const auto fault = locate_fault(schedule_)) refuse(*fault);
        return std::move(schedule_);
    }

private:
    void check_rank_count() const {
        if (grid_.extent.ranks == shape_.ranks) return;
        throw InputError(file_, "",
                         fmt::format("has {} lines of actions, but pp is {}: a schedule file has a line for "
                                     "each pipeline rank",
                                     grid_.extent.ranks, shape_.ranks));
    }

    /// Every stage runs two actions of every micro-batch; far fewer mean a mistyped index, for which no table is made.
    void check_size(int stages) const {
        constexpr std::int64_t harmless = 1 << 20;
        const std::int64_t passes = std::int64_t{stages} * schedule_.microbatches;
        if (passes <= harmless || passes <= grid_.action_count) return;
        throw InputError(
            file_, "",
            fmt::format("has {} actions, but {} stages x {} micro-batches need at least {}", grid_.action_count,
                        std::max(stages, grid_.extent.stages), schedule_.microbatches, 2 * passes));
    }

    /// Fills the schedule's directions, told apart by the rank where micro-batches enter.
    /// @returns the ranks that run the forward of stage 0, one per direction
    std::vector<int> read_directions() {
        if (shape_.placement && shape_.placement != Placement::bidirectional) return {0};
        std::vector<int> entries;
        if (shape_.placement) entries = {0, shape_.ranks - 1};
        const std::vector<int> entry_of = entry_ranks();
        schedule_.direction.assign(entry_of.size(), 0);
        for (std::size_t k = 0; k < entry_of.size(); ++k) {
            if (entry_of[k] < 0) continue;  // its forward is missing, which the check will say
            const auto known = std::find(entries.begin(), entries.end(), entry_of[k]);
            schedule_.direction[k] = static_cast<std::uint8_t>(known - entries.begin());
            if (known != entries.end()) continue;
            entries.push_back(entry_of[k]);
            if (entries.size() > 2) refuse_third_entry(entries);
        }
        if (entries.empty()) entries = {0};
        if (entries.size() == 1) schedule_.direction.clear();
        return entries;
    }

    /// Rank of the forward of stage 0 of every micro-batch, -1 where there is none.
    std::vector<int> entry_ranks() const {
        std::vector<int> result(static_cast<std::size_t>(schedule_.microbatches), -1);
        for (int r = 0; r < shape_.ranks; ++r) {
            for (const Action& a : schedule_.actions[r]) {
                const bool entry = a.stage == 0 && a.pass == Pass::forward && a.microbatch < schedule_.microbatches;
                if (entry && result[a.microbatch] < 0) result[a.microbatch] = r;
            }
        }
        return result;
    }

    [[noreturn]] void refuse_third_entry(const std::vector<int>& entries) const {
        throw InputError(file_, "",
                         fmt::format("runs the forward of stage 0 on ranks {}, {} and {}; a schedule has one "
                                     "direction, or two",
                                     entries[0], entries[1], entries[2]));
    }

    int stage_count(int ways) const {
        const int p = shape_.ranks;
        if (shape_.placement == Placement::bidirectional) return p;
        if (shape_.placement == Placement::linear) return p;
        if (shape_.placement == Placement::v) return 2 * p;
        if (shape_.chunks) return *shape_.chunks * p / ways;
        if (shape_.placement) return (grid_.extent.stages + p - 1) / p * p;
        return grid_.extent.stages;
    }

    std::vector<int> placed_ranks(Placement placement) const {
        if (placement != Placement::bidirectional) return stage_ranks(placement, shape_.ranks, schedule_.stages);
        std::vector<int> result = stage_ranks(Placement::linear, shape_.ranks, shape_.ranks);
        result.resize(2 * result.size());
        std::reverse_copy(result.begin(), result.begin() + shape_.ranks, result.begin() + shape_.ranks);
        return result;
    }

    /// A stage is where its forwards are; where there are none, where its other passes are.
    std::vector<int> ranks_in_file(int ways) const {
        std::vector<int> result(static_cast<std::size_t>(ways) * schedule_.stages, -1);
        for (const bool forwards : {true, false}) {
            for (int r = 0; r < shape_.ranks; ++r) {
                for (const Action& a : schedule_.actions[r]) {
                    if (forwards == (a.pass == Pass::forward) && !is_vocabulary(a.pass)) place(a, r, result);
                }
            }
        }
        return result;
    }

    void place(const Action& a, int rank, std::vector<int>& stage_rank) const {
        if (a.stage >= schedule_.stages || a.microbatch >= schedule_.microbatches) return;
        const int direction = schedule_.direction.empty() ? 0 : schedule_.direction[a.microbatch];
        int& place = stage_rank[direction * schedule_.stages + a.stage];
        if (place < 0) place = rank;
    }

    int largest_chunk_count() const {
        std::vector<int> held(static_cast<std::size_t>(shape_.ranks), 0);
        for (const int r : schedule_.stage_rank) {
            if (r >= 0) ++held[r];
        }
        return *std::max_element(held.begin(), held.end());
    }

    [[noreturn]] void refuse(const ScheduleFault& fault) const {
        const std::vector<int>& cells = grid_.cell[fault.rank];
        std::string place = fmt::format("line {}", grid_.line[fault.rank]);
        if (fault.index < static_cast<int>(cells.size())) place += fmt::format(", cell {}", cells[fault.index]);
        throw InputError(file_, place, fault.reason + "\n" + to_string(schedule_, fault.rank, fault.index));
    }

    const std::string& file_;
    Grid grid_;  ///< its actions have moved to the schedule
    const ScheduleShape& shape_;
    Schedule schedule_;
};

}  // namespace

Schedule parse_schedule_csv(const std::string& file, const std::string& text, const ScheduleShape& shape) {
    return ScheduleBuilder(file, GridReader(file).read(text), shape).build();
}

ScheduleExtent schedule_extent(const std::string& file, const std::string& text) {
    return GridReader(file).read(text).extent;
}

std::string to_csv(const Schedule& schedule) {
    std::string text;
    for (const std::vector<Action>& list : schedule.actions) {
        for (std::size_t i = 0; i < list.size(); ++i) {
            if (i > 0) text += list[i - 1].fused_with_next ? '&' : ',';
            text += to_string(list[i]);
        }
        text += '\n';
    }
    return text;
}

}  // namespace foreshard
