#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "sim/plan/schedules.hpp"

/// Closed forms of makespan, bubble and peak over grids of shapes and pass times, and formulas in circulation that are
/// wrong.
namespace foreshard {
namespace {

using Times = StageTimes::Stage;

PassCosts even(int stages, Times t, Picoseconds hop = 0) {
    return {std::vector<Times>(static_cast<std::size_t>(stages), t), hop};
}

const std::vector<Times>& all_times() {
    static const std::vector<Times> all = {{1, 1, 1}, {2, 3, 1},  {3, 2, 1}, {2, 2, 1},
                                           {1, 2, 3}, {7, 5, 11}, {4, 1, 2}};
    return all;
}

std::vector<int> counts(int p) {
    std::vector<int> all = {1, 2, p - 1, p, p + 1, 2 * p - 1, 2 * p, 2 * p + 1, 3 * p, 4 * p + 3};
    all.erase(std::remove_if(all.begin(), all.end(), [](int m) { return m < 1; }), all.end());
    return all;
}

Picoseconds work(int m, int chunks, Times t) {
    return static_cast<Picoseconds>(m) * chunks * (t.forward + t.input_grad + t.weight_grad);
}

struct Outcome {
    Picoseconds makespan_bubble = 0;
    Picoseconds span_bubble = 0;
    std::vector<int> peak;
    std::vector<int> peak_to_input_grad;
};

Outcome outcome(const Schedule& schedule, const PassCosts& costs) {
    const DryRun run = dry_run(schedule, costs);
    const Picoseconds ideal = work(schedule.microbatches, schedule.chunks, costs.stages.front());
    return {run.makespan - ideal, longest_rank_span(run) - ideal, run.peak_in_flight, run.peak_in_flight_to_input_grad};
}

int largest(const std::vector<int>& peaks) {
    return *std::max_element(peaks.begin(), peaks.end());
}

TEST(ScheduleForms, BreadthFirst) {
    for (const int p : {2, 3, 4, 8}) {
        for (const int m : counts(p)) {
            for (const int v : {1, 2, 3}) {
                for (const Times& t : all_times()) {
                    const Picoseconds both = t.forward + t.input_grad + t.weight_grad;
                    const Outcome o = outcome(breadth_first_schedule(p, m, v), even(p * v, t));
                    EXPECT_EQ(o.makespan_bubble, (p - 1 + (v - 1) * std::max(0, p - m)) * both);
                    EXPECT_EQ(o.peak, std::vector<int>(p, m * v));
                }
            }
        }
    }
}

TEST(ScheduleForms, BreadthFirstPaysLatencyOncePerTurnOfTheLoop) {
    for (const int p : {2, 3, 4, 8}) {
        for (const int v : {2, 3}) {
            const Times t{1000, 1000, 1000};
            const auto extra = [&](int m) {
                const Schedule schedule = breadth_first_schedule(p, m, v);
                return dry_run(schedule, even(p * v, t, 1)).makespan - dry_run(schedule, even(p * v, t)).makespan;
            };
            EXPECT_EQ(extra(p), 2 * (p * v - 1));
            EXPECT_EQ(extra(2 * p), 2 * (p - 1));
        }
    }
}

TEST(ScheduleForms, InterleavedWithLargerGroupsHidesLatencyAtThePriceOfMemory) {
    for (const int p : {2, 3, 4, 8}) {
        for (const int v : {2, 3}) {
            const Times t{1000, 1000, 1000};
            const auto extra = [&](int group) {
                const Schedule schedule = interleaved_schedule(p, 4 * p, v, group);
                return dry_run(schedule, even(p * v, t, 1)).makespan - dry_run(schedule, even(p * v, t)).makespan;
            };
            EXPECT_EQ(extra(p), 2 * (p * v - 1));
            EXPECT_EQ(extra(2 * p), 2 * (p - 1));
            const auto peak = [&](int group) {
                return largest(outcome(interleaved_schedule(p, 4 * p, v, group), even(p * v, t)).peak);
            };
            EXPECT_EQ(peak(2 * p) - peak(p), std::min((v - 1) * p, 4 * p * v - peak(p)));
        }
    }
}

TEST(ScheduleForms, ZeroBubbleH1) {
    for (const int p : {2, 3, 4, 5, 8}) {
        for (const int m : counts(p)) {
            for (const Times& t : all_times()) {
                const Outcome o = outcome(zb_h1_schedule(p, m), even(p, t));
                for (int r = 0; r < p; ++r) {
                    EXPECT_EQ(o.peak_to_input_grad[r], std::min(m, p - r));
                    if (m >= p) {
                        EXPECT_EQ(o.peak[r], p);
                    }
                }
                if (m < 2 * p) continue;
                const Picoseconds each = t.input_grad + std::max<Picoseconds>(0, t.forward - t.weight_grad);
                const Picoseconds bubble = (p - 1) * each;
                EXPECT_EQ(o.span_bubble, bubble);
                // Ranks start (p-1) f apart, and that is the least that the whole pipeline can lose.
                EXPECT_EQ(o.makespan_bubble, std::max(bubble, (p - 1) * t.forward));
                // The paper's formula is the same for w <= f, and too small elsewhere.
                const Picoseconds paper = (p - 1) * (t.forward + t.input_grad - t.weight_grad);
                EXPECT_EQ(bubble == paper, t.weight_grad <= t.forward);
                EXPECT_GE(bubble, paper);
            }
            if (m >= p) {
                EXPECT_EQ(outcome(zb_h1_schedule(p, m), unit_costs(p)).makespan_bubble, p - 1);
            }
        }
    }
}

TEST(ScheduleForms, ZeroBubbleH2) {
    for (const int p : {2, 3, 4, 5, 8}) {
        for (const int m : {2 * p - 1, 2 * p, 3 * p, 5 * p + 1}) {
            const Outcome o = outcome(zb_h2_schedule(p, m), unit_costs(p));
            EXPECT_EQ(o.span_bubble, 0);
            EXPECT_EQ(o.makespan_bubble, p - 1);
            for (int r = 0; r < p; ++r) {
                EXPECT_EQ(o.peak[r], 2 * p - 1);
                EXPECT_EQ(o.peak_to_input_grad[r], 2 * (p - r) - 1);
            }
            for (const Times& t : {Times{2, 3, 1}, Times{3, 2, 1}, Times{2, 2, 1}}) {
                const Picoseconds paper = (p - 1) * (t.forward + t.input_grad - 2 * t.weight_grad);
                EXPECT_EQ(outcome(zb_h2_schedule(p, m), even(p, t)).span_bubble, paper) << p << " " << m;
            }
            // For long weight gradients the paper's formula is negative, the truth is not.
            EXPECT_EQ(outcome(zb_h2_schedule(p, m), even(p, {1, 2, 3})).span_bubble, p - 1);
        }
    }
}

TEST(ScheduleForms, AutomaticZeroBubble) {
    for (const int p : {2, 3, 4, 5, 8}) {
        for (const int m : {2 * p - 1, 2 * p, 3 * p, 4 * p + 1}) {
            EXPECT_EQ(outcome(zb_1p_schedule(p, m, unit_costs(p)), unit_costs(p)).span_bubble, p - 1);
            EXPECT_EQ(outcome(zb_2p_schedule(p, m, unit_costs(p)), unit_costs(p)).span_bubble, 0);
        }
        EXPECT_EQ(outcome(zb_1p_schedule(p, p, unit_costs(p)), unit_costs(p)).span_bubble, p - 1);
    }
}

TEST(ScheduleForms, AutomaticZeroBubbleFollowsTheTimes) {
    // One stage twice as long as the others: the schedule made for these times beats the one made for equal times.
    const int p = 4;
    const int m = 12;
    PassCosts costs = even(p, {10, 10, 10});
    costs.stages[2] = {20, 20, 20};
    const auto span = [&](const Schedule& schedule) { return longest_rank_span(dry_run(schedule, costs)); };
    EXPECT_LE(span(zb_2p_schedule(p, m, costs)), span(zb_2p_schedule(p, m, unit_costs(p))));
    EXPECT_LE(span(zb_1p_schedule(p, m, costs)), span(zb_h1_schedule(p, m)));
}

TEST(ScheduleForms, InterleavedZeroBubble) {
    for (const int p : {2, 3, 4, 8}) {
        for (const int m : {p, p + 1, 2 * p, 3 * p, 4 * p}) {
            for (const int v : {1, 2, 3}) {
                const int group = torch_group_size(p, m);
                if (m % group != 0) continue;
                const Outcome o = outcome(interleaved_zb_schedule(p, m, v, group), unit_costs(p * v));
                EXPECT_EQ(o.makespan_bubble, p - 1);
                EXPECT_EQ(o.peak, std::vector<int>(p, std::min(m * v, (v - 1) * group + p)));
            }
        }
    }
}

TEST(ScheduleForms, ZeroBubbleV) {
    for (const int p : {2, 3, 4, 5, 8}) {
        for (const int m : {2 * p - 1, 2 * p, 3 * p, 4 * p + 1}) {
            const Outcome o = outcome(zb_v_schedule(p, m, unit_costs(2 * p)), unit_costs(2 * p));
            EXPECT_EQ(o.span_bubble, 0);
            EXPECT_EQ(o.makespan_bubble, p - 1);
            EXPECT_EQ(o.peak, std::vector<int>(p, 2 * p));
            EXPECT_EQ(outcome(zb_v_handmade_schedule(p, m), even(2 * p, {2, 2, 1})).span_bubble, 2 * (p - 1));
        }
    }
    // Where the padded list is cut, the greedy one is better.
    EXPECT_EQ(outcome(zb_v_handmade_schedule(4, 4), unit_costs(8)).span_bubble, 6);
    EXPECT_EQ(outcome(zb_v_schedule(4, 4, unit_costs(8)), unit_costs(8)).span_bubble, 3);
}

TEST(ScheduleForms, ControllableMemoryV) {
    for (int p = 2; p <= 12; ++p) {
        for (const int m : {2 * p, 3 * p}) {
            const Outcome half = outcome(v_half_schedule(p, m), unit_costs(2 * p));
            const Picoseconds even_form = p == 2 ? 1 : 3 * p - 7;
            EXPECT_EQ(half.span_bubble, p % 2 == 0 ? even_form : 3 * p - 4) << p << " " << m;
            EXPECT_EQ(largest(half.peak), 2 * ((p + 2) / 2));
            const Outcome least = outcome(v_min_schedule(p, m), unit_costs(2 * p));
            EXPECT_EQ(least.span_bubble, p % 3 == 0 ? 4 * p - 7 : 4 * p - 5) << p << " " << m;
            EXPECT_EQ(largest(least.peak), 2 * ((p + 4) / 3));
        }
    }
    EXPECT_EQ(outcome(v_min_schedule(8, 32), even(16, {2, 3, 1})).span_bubble, 252);
}

/// Duration of a fused pair is that of its passes.
TEST(ScheduleForms, DualPipe) {
    for (const int p : {2, 4, 6, 8}) {
        for (const int m : {2 * p, 2 * p + 2, 3 * p, 4 * p}) {
            for (const Times& t : {Times{1, 1, 1}, Times{2, 2, 1}, Times{3, 3, 2}, Times{5, 5, 3}}) {
                const Picoseconds backward = t.input_grad + t.weight_grad;
                const Picoseconds pair = t.forward + backward;
                const DryRun run = dry_run(dualpipe_schedule(p, m), even(p, t));
                EXPECT_EQ(run.makespan, m * pair + (p / 2 - 1) * (pair + backward - 3 * t.weight_grad));
                EXPECT_EQ(run.peak_in_flight, std::vector<int>(p, p + 1));
            }
        }
    }
}

TEST(ScheduleForms, DualPipeV) {
    for (const int p : {1, 2, 3, 4, 5, 8}) {
        for (const int m : {2 * p, 2 * p + 1, 3 * p, 4 * p}) {
            for (const Times& t : {Times{1, 1, 1}, Times{2, 2, 1}, Times{3, 3, 2}, Times{5, 5, 3}}) {
                const Picoseconds backward = t.input_grad + t.weight_grad;
                const Picoseconds pair = t.forward + backward;
                const Outcome o = outcome(dualpipe_v_schedule(p, m), even(2 * p, t));
                EXPECT_EQ(o.makespan_bubble, (p - 1) * (pair + backward - 3 * t.weight_grad));
                if (m > 2 * p || p > 1) {
                    EXPECT_EQ(o.peak, std::vector<int>(p, 2 * p + 1));
                }
            }
        }
    }
}

Schedule without_pairs(Schedule schedule) {
    for (std::vector<Action>& list : schedule.actions) {
        for (Action& action : list) action.fused_with_next = false;
    }
    return schedule;
}

TEST(ScheduleForms, DualPipeWithoutFusedPairs) {
    for (const int p : {2, 4, 8}) {
        const int m = 3 * p;
        EXPECT_EQ(dry_run(without_pairs(dualpipe_schedule(p, m)), unit_costs(p)).makespan, 3 * m + p / 2 - 1);
        EXPECT_EQ(outcome(without_pairs(dualpipe_v_schedule(p, m)), unit_costs(2 * p)).makespan_bubble, p - 1);
    }
}

TEST(ScheduleForms, DualPipeListsAreCompleteBelowWhatTheCodeAsksFor) {
    for (const int p : {2, 4, 6, 8}) EXPECT_EQ(find_fault(dualpipe_schedule(p, 2 * p - 2)), "");
    for (const int p : {1, 2, 3, 4}) EXPECT_EQ(find_fault(dualpipe_v_schedule(p, 2 * p - 1)), "");
}

TEST(ScheduleForms, Chimera) {
    for (const int p : {2, 4, 6, 8}) {
        for (const int units : {1, 2, 3}) {
            const int m = units * p;
            const DryRun equal = dry_run(chimera_schedule(p, m), even(p, {2, 1, 1}));
            EXPECT_EQ(equal.makespan, 2 * (2 * m + p - 2));
            const DryRun run = dry_run(chimera_schedule(p, m), unit_costs(p));
            EXPECT_EQ(run.makespan - 3 * m, (p - 2) * (units + 1));
            for (int r = 0; r < p; ++r) EXPECT_EQ(run.peak_in_flight[r], std::min(r, p - 1 - r) + p / 2 + 1);
        }
        for (const int m : {1, p - 1, p + 1, 2 * p + 1}) EXPECT_EQ(find_fault(chimera_schedule(p, m)), "");
    }
}

TEST(ScheduleForms, Hanayo) {
    for (const int p : {2, 3, 4, 8}) {
        for (const int v : {2, 4, 6}) {
            for (const int units : {1, 2, 3}) {
                const int m = units * p;
                EXPECT_EQ(outcome(hanayo_schedule(p, m, v), even(p * v, {2, 1, 1})).makespan_bubble, 2 * (2 * p - 2));
                const Outcome o = outcome(hanayo_schedule(p, m, v), unit_costs(p * v));
                EXPECT_EQ(o.makespan_bubble, 2 * (p - 1) * (units + 1));
                for (int r = 0; r < p; ++r) EXPECT_EQ(o.peak[r], (v - 1) * p + r + 1);
            }
            for (const int m : {1, p - 1, p + 1}) EXPECT_EQ(find_fault(hanayo_schedule(p, m, v)), "");
        }
    }
}

/// Formulas and codes that are in circulation and wrong.
TEST(ScheduleForms, AFusedBackwardIsChargedBothParts) {
    EXPECT_EQ(dry_run(one_f_one_b_schedule(4, 4), unit_costs(4)).makespan, 21);  // 14 when only I is charged
}

TEST(ScheduleForms, InterleavedBubbleWithAShortLastGroupIsNotCalculons) {
    // calculon llm.py: (p-1) + (v-1)(p - m mod p) chunk times of F and B.
    const int p = 4;
    const int v = 2;
    const auto bubble = [&](int m) {
        return outcome(interleaved_schedule(p, m, v, p), unit_costs(p * v)).makespan_bubble;
    };
    const auto calculon = [&](int m) { return 3 * (p - 1 + (v - 1) * (p - m % p)); };
    EXPECT_EQ(bubble(5), calculon(5));
    EXPECT_EQ(bubble(6), 19);
    EXPECT_EQ(calculon(6), 15);
    EXPECT_EQ(bubble(7), 11);
    EXPECT_EQ(calculon(7), 12);
    EXPECT_EQ(bubble(9), 20);
    EXPECT_EQ(calculon(9), 18);
    EXPECT_EQ(bubble(8), 9);
    // With PyTorch's flexible groups there is no such extra.
    EXPECT_EQ(outcome(interleaved_schedule(p, 10, v, torch_group_size(p, 10)), unit_costs(p * v)).makespan_bubble, 9);
}

TEST(ScheduleForms, TheLastRankOf1F1BStartsWithMicroBatchZero) {
    // PyTorch's Schedule1F1B._get_pipeline_order (visualisation) lists F1..Fm there.
    const Schedule schedule = one_f_one_b_schedule(4, 8);
    EXPECT_EQ(schedule.actions[3].front(), (Action{3, 0, Pass::forward}));
}

TEST(ScheduleForms, ZeroBubbleIsZeroOnlyWhenSkewIsFree) {
    const Outcome o = outcome(zb_h2_schedule(8, 32), unit_costs(8));
    EXPECT_EQ(o.span_bubble, 0);
    EXPECT_EQ(o.makespan_bubble, 7);
}

TEST(ScheduleForms, ReadmeBubbleRatesAreAsymptotic) {
    // sail README: V-Half has half the bubble of 1F1B.
    EXPECT_EQ(outcome(v_half_schedule(4, 8), unit_costs(8)).span_bubble, 5);
    EXPECT_EQ(6 * (4 - 1), 18);
    EXPECT_EQ(outcome(v_half_schedule(8, 16), unit_costs(16)).span_bubble, 17);
    EXPECT_EQ(6 * (8 - 1), 42);
}

}  // namespace
}  // namespace foreshard
