#include <algorithm>
#include <array>
#include <stdexcept>

#include <fmt/format.h>

#include "sim/plan/dry_run.hpp"
#include "sim/plan/schedule.hpp"

namespace foreshard {

namespace {

/// Checks the passes of every (stage, micro-batch) before anything is run.
class PassCheck {
public:
    explicit PassCheck(const Schedule& schedule)
        : schedule_(schedule),
          seen_(static_cast<std::size_t>(schedule.stages) * schedule.microbatches),
          vocabulary_seen_(schedule.vocabulary ? schedule.actions.size() * schedule.microbatches : 0) {}

    std::optional<ScheduleFault> run() {
        for (int r = 0; r < static_cast<int>(schedule_.actions.size()); ++r) {
            for (int i = 0; i < static_cast<int>(schedule_.actions[r].size()); ++i) {
                if (auto fault = check_action(r, i)) return fault;
            }
        }
        for (int k = 0; k < schedule_.microbatches; ++k) {
            for (int s = 0; s < schedule_.stages; ++s) {
                if (auto fault = check_passes(s, k)) return fault;
            }
            for (int r = 0; schedule_.vocabulary && r < static_cast<int>(schedule_.actions.size()); ++r) {
                if (auto fault = check_vocabulary_passes(r, k)) return fault;
            }
        }
        return std::nullopt;
    }

private:
    /// Place in the rank's list of each pass, -1 when it is not there.
    struct Places {
        std::array<int, 6> at{-1, -1, -1, -1, -1, -1};
        int& operator[](Pass pass) { return at[static_cast<std::size_t>(pass)]; }
    };

    Places& places(int stage, int microbatch) {
        return seen_[static_cast<std::size_t>(stage) * schedule_.microbatches + microbatch];
    }

    Places& vocabulary_places(int rank, int microbatch) {
        return vocabulary_seen_[static_cast<std::size_t>(rank) * schedule_.microbatches + microbatch];
    }

    std::optional<ScheduleFault> check_action(int r, int i) {
        const Action& a = schedule_.actions[r][i];
        const auto fault = [&](const std::string& why) {
            return ScheduleFault{fmt::format("{} on rank {}: {}", to_string(a), r, why), r, i};
        };
        const bool vocabulary = is_vocabulary(a.pass);
        if (vocabulary && !schedule_.vocabulary) return fault("only a vocabulary-parallel schedule has passes S and T");
        if (vocabulary && a.stage != r)
            return fault(fmt::format("wrong rank, share {} is on rank {}", a.stage, a.stage));
        if (!vocabulary && (a.stage < 0 || a.stage >= schedule_.stages)) {
            return fault(fmt::format("stage {} is out of range, stages are 0 to {}", a.stage, schedule_.stages - 1));
        }
        if (a.microbatch < 0 || a.microbatch >= schedule_.microbatches) {
            return fault(fmt::format("micro-batch {} is out of range, micro-batches are 0 to {}", a.microbatch,
                                     schedule_.microbatches - 1));
        }
        const int expected = vocabulary ? r : schedule_.rank_of(a.stage, a.microbatch);
        if (expected != r) return fault(fmt::format("wrong rank, stage {} is on rank {}", a.stage, expected));
        int& place = (vocabulary ? vocabulary_places(r, a.microbatch) : places(a.stage, a.microbatch))[a.pass];
        if (place >= 0) return fault(fmt::format("duplicate, action {} of the rank is the same", place + 1));
        place = i;
        if (a.fused_with_next && i + 1 == static_cast<int>(schedule_.actions[r].size())) {
            return fault("fused with the next action, but it is the rank's last");
        }
        return std::nullopt;
    }

    std::optional<ScheduleFault> check_passes(int s, int k) {
        Places& at = places(s, k);
        const int f = at[Pass::forward];
        const int b = at[Pass::backward];
        const int i = at[Pass::input_grad];
        const int w = at[Pass::weight_grad];
        if (f < 0) return missing(Pass::forward, s, k, std::max({b, i, w}));
        if (b >= 0 && (i >= 0 || w >= 0)) {
            return at_place(s, k, b, "runs a full backward B and a split one, I or W: it must be B, or I and W");
        }
        if (b < 0 && i < 0 && w < 0) return missing(Pass::backward, s, k, -1, " (or I and W)");
        if (b < 0 && i < 0) return missing(Pass::input_grad, s, k, w);
        if (b < 0 && w < 0) return missing(Pass::weight_grad, s, k, i);
        if (b >= 0 && b < f) return at_place(s, k, b, "runs B before F");
        if (b < 0 && i < f) return at_place(s, k, i, "runs I before F: the order must be F, I, W");
        if (b < 0 && w < i) return at_place(s, k, w, "runs W before I: the order must be F, I, W");
        return std::nullopt;
    }

    std::optional<ScheduleFault> check_vocabulary_passes(int r, int k) {
        Places& at = vocabulary_places(r, k);
        const auto fault = [&](Pass pass, const char* what, int index) {
            return ScheduleFault{fmt::format("{} {} rank {}", to_string(Action{r, k, pass}), what, r), r, index};
        };
        for (const Pass pass : {Pass::vocab_forward, Pass::vocab_backward}) {
            if (at[pass] < 0) return fault(pass, "is missing on", size_of_list(r));
        }
        if (at[Pass::vocab_backward] > at[Pass::vocab_forward]) return std::nullopt;
        return fault(Pass::vocab_backward, "comes before its S on", at[Pass::vocab_backward]);
    }

    ScheduleFault at_place(int s, int k, int index, const char* what) const {
        const int r = schedule_.rank_of(s, k);
        return {fmt::format("stage {}, micro-batch {} on rank {} {}", s, k, r, what), r, index};
    }

    /// @param index a pass of the same stage and micro-batch that is there, or -1
    ScheduleFault missing(Pass pass, int s, int k, int index, const char* alternative = "") const {
        const int r = schedule_.rank_of(s, k);
        const std::string name = to_string(Action{s, k, pass});
        // In a schedule file a stage that never runs is on no rank.
        if (r < 0) return {fmt::format("{} is missing{}", name, alternative), 0, size_of_list(0)};
        return {fmt::format("{} is missing on rank {}{}", name, r, alternative), r,
                index < 0 ? size_of_list(r) : index};
    }

    int size_of_list(int r) const { return static_cast<int>(schedule_.actions[r].size()); }

    const Schedule& schedule_;
    std::vector<Places> seen_;
    std::vector<Places> vocabulary_seen_;  ///< of (rank, micro-batch)
};

}  // namespace

std::optional<ScheduleFault> locate_fault(const Schedule& schedule) {
    if (auto fault = PassCheck(schedule).run()) return fault;
    DryRun run;
    Deadlock deadlock;
    if (dry_run(schedule, unit_costs(schedule.stages), run, deadlock)) return std::nullopt;
    const Deadlock::Waiting& first = deadlock.waiting.front();
    return ScheduleFault{to_string(deadlock), first.rank, first.index};
}

std::string find_fault(const Schedule& schedule) {
    const std::optional<ScheduleFault> fault = locate_fault(schedule);
    if (!fault) return {};
    return fault->reason + "\n" + to_string(schedule, fault->rank, fault->index);
}

void validate(const Schedule& schedule) {
    const std::string fault = find_fault(schedule);
    if (!fault.empty()) throw std::logic_error(schedule.name + ": " + fault);
}

}  // namespace foreshard
