#include "tests/support/all_schedules.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>

#include <gtest/gtest.h>

#include "sim/plan/comm_program.hpp"
#include "sim/plan/schedule_csv.hpp"

/// What must hold for every schedule on a grid of shapes.
namespace foreshard {
namespace {

void for_each_schedule(const std::function<void(const Schedule&)>& use) {
    for (const auto& [p, m] : test::schedule_shapes()) {
        for (const Schedule& schedule : test::all_schedules(p, m)) {
            SCOPED_TRACE(schedule.name + " p=" + std::to_string(p) + " m=" + std::to_string(m) +
                         " v=" + std::to_string(schedule.chunks));
            use(schedule);
        }
    }
}

TEST(AllSchedules, AreValid) {
    for_each_schedule([](const Schedule& schedule) { EXPECT_EQ(find_fault(schedule), ""); });
}

Placement placement_of(const Schedule& schedule) {
    if (!schedule.direction.empty()) return Placement::bidirectional;
    if (schedule.chunks == 1) return Placement::linear;
    if (schedule.chunks > 2 && schedule.name == "hanayo") return Placement::snake;
    for (const Placement placement : {Placement::loop, Placement::v}) {
        if (stage_ranks(placement, schedule.ranks, schedule.stages) == schedule.stage_rank) return placement;
    }
    ADD_FAILURE() << "unknown placement";
    return Placement::linear;
}

/// Written and read again, a schedule is the same: its actions, fused pairs, placement and directions.
TEST(AllSchedules, SurviveTheirFile) {
    for_each_schedule([](const Schedule& schedule) {
        const ScheduleShape open{schedule.ranks, std::nullopt, std::nullopt, std::nullopt, schedule.vocabulary};
        const ScheduleShape full{schedule.ranks, schedule.microbatches, schedule.chunks, placement_of(schedule),
                                 schedule.vocabulary};
        for (const ScheduleShape& shape : {open, full}) {
            const Schedule again = parse_schedule_csv("file", to_csv(schedule), shape);
            EXPECT_EQ(again.actions, schedule.actions);
            EXPECT_EQ(again.stages, schedule.stages);
            EXPECT_EQ(again.microbatches, schedule.microbatches);
            if (schedule.direction.empty() || schedule.microbatches > 1) {
                EXPECT_EQ(again.chunks, schedule.chunks);
                EXPECT_EQ(again.stage_rank, schedule.stage_rank);
                EXPECT_EQ(again.direction, schedule.direction);
            }
        }
    });
}

/// Makespan when every rank has one in-order communication stream beside compute: a message is exchanged when both
/// ends' earlier messages are, and takes no time.
class OneStream {
public:
    OneStream(const Schedule& schedule, const DryRun& run)
        : schedule_(schedule), run_(run), exchanged_(run.messages.size(), -1) {
        last_on_.assign(static_cast<std::size_t>(schedule.ranks), -1);
        for (std::size_t i = 0; i < run.messages.size(); ++i) {
            const Message& m = run.messages[i];
            before_.push_back({last_on_[m.from_rank], last_on_[m.to_rank]});
            last_on_[m.from_rank] = last_on_[m.to_rank] = static_cast<int>(i);
            message_of_[{m.to_stage, m.microbatch, m.forward}] = static_cast<int>(i);
        }
        for (int r = 0; r < schedule.ranks; ++r) {
            for (std::size_t i = 0; i < schedule.actions[r].size(); ++i) {
                const Action& a = schedule.actions[r][i];
                if (a.pass != Pass::weight_grad) place_[{a.stage, a.microbatch, a.pass == Pass::forward}] = i;
            }
            end_.emplace_back(schedule.actions[r].size(), -1);
        }
    }

    Picoseconds makespan() {
        Picoseconds last = 0;
        for (int r = 0; r < schedule_.ranks; ++r) {
            for (std::size_t i = 0; i < end_[r].size(); ++i) last = std::max(last, end(r, i));
        }
        return last;
    }

private:
    /// Of the unit that action i of rank r belongs to.
    Picoseconds end(int r, std::size_t i) {
        const std::vector<Action>& list = schedule_.actions[r];
        while (list[i].fused_with_next) ++i;
        if (end_[r][i] >= 0) return end_[r][i];
        std::size_t first = i;
        while (first > 0 && list[first - 1].fused_with_next) --first;
        Picoseconds at = first > 0 ? end(r, first - 1) : 0;
        for (std::size_t j = first; j <= i; ++j) {
            const auto found = message_of_.find({list[j].stage, list[j].microbatch, list[j].pass == Pass::forward});
            if (list[j].pass != Pass::weight_grad && found != message_of_.end()) {
                at = std::max(at, exchange(found->second));
            }
        }
        for (std::size_t j = first; j <= i; ++j) at += run_.end[r][j] - run_.start[r][j];
        return end_[r][i] = at;
    }

    Picoseconds exchange(int i) {
        if (exchanged_[i] >= 0) return exchanged_[i];
        const Message& m = run_.messages[i];
        const int from_stage = m.forward ? m.to_stage - 1 : m.to_stage + 1;
        Picoseconds at = end(m.from_rank, place_.at({from_stage, m.microbatch, m.forward}));
        for (const int other : {before_[i].first, before_[i].second}) {
            if (other >= 0) at = std::max(at, exchange(other));
        }
        return exchanged_[i] = at;
    }

    const Schedule& schedule_;
    const DryRun& run_;
    std::vector<Picoseconds> exchanged_;
    std::vector<int> last_on_;
    std::vector<std::pair<int, int>> before_;
    std::map<std::tuple<int, int, bool>, int> message_of_;
    std::map<std::tuple<int, int, bool>, std::size_t> place_;
    std::vector<std::vector<Picoseconds>> end_;
};

TEST(AllSchedules, MessagesInTheDryRunsOrderNeverHangAndLoseNoTime) {
    for_each_schedule([](const Schedule& schedule) {
        PassCosts costs = unit_costs(schedule.stages);
        for (std::size_t s = 0; s < costs.stages.size(); ++s) costs.stages[s].forward += static_cast<int>(s) % 2;
        const DryRun run = dry_run(schedule, costs);
        const CommProgram program = test::program_of(schedule, run);
        const CommFault fault = check_rendezvous(program);
        EXPECT_EQ(fault.kind, CommFault::Kind::none) << fault.message;
        EXPECT_EQ(check_in_order_pairs(program).kind, CommFault::Kind::none);
        // Collectives of a shared vocabulary are no messages.
        if (schedule.vocabulary) return;
        EXPECT_EQ(OneStream(schedule, run).makespan(), run.makespan);
    });
}

/// Automatic schedules for drawn times: complete, and within the memory that their name says.
TEST(AllSchedules, AutomaticOnesCompleteForAnyTimes) {
    unsigned state = 12345;
    const auto draw = [&](int least, int most) {
        state = state * 1664525U + 1013904223U;
        return least + static_cast<int>((state >> 8) % static_cast<unsigned>(most - least + 1));
    };
    for (int run = 0; run < 300; ++run) {
        const int p = draw(1, 8);
        const int m = draw(1, 20);
        PassCosts costs;
        for (int s = 0; s < 2 * p; ++s) costs.stages.push_back({draw(0, 20), draw(0, 20), draw(0, 20)});
        costs.hop = draw(0, 5);
        SCOPED_TRACE("p=" + std::to_string(p) + " m=" + std::to_string(m));
        EXPECT_EQ(find_fault(zb_v_schedule(p, m, costs)), "");
        EXPECT_EQ(find_fault(zb_1p_schedule(p, m, costs)), "");
        EXPECT_EQ(find_fault(zb_2p_schedule(p, m, costs)), "");
        EXPECT_EQ(find_fault(v_half_vocabulary_schedule(p, m, costs)), "");
    }
}

}  // namespace
}  // namespace foreshard
