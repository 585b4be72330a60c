#include "tests/support/all_schedules.hpp"

namespace foreshard::test {

namespace {

void add_looped(int p, int m, std::vector<Schedule>& all) {
    for (const int v : {2, 3}) {
        all.push_back(breadth_first_schedule(p, m, v));
        if (m % torch_group_size(p, m) == 0) all.push_back(interleaved_zb_schedule(p, m, v, torch_group_size(p, m)));
        if (m % torch_group_size(p, m) == 0) all.push_back(torch_interleaved_schedule(p, m, v, torch_group_size(p, m)));
        if (m % p == 0) all.push_back(interleaved_schedule(p, m, v, p));
        if (m % p == 0 && m > p) all.push_back(overlapped_interleaved_schedule(p, m, v, p));
        if (m % p == 0) all.push_back(interleaved_schedule(p, m, v, m));
    }
}

void add_v(int p, int m, std::vector<Schedule>& all) {
    all.push_back(zb_v_schedule(p, m, unit_costs(2 * p)));
    all.push_back(zb_v_handmade_schedule(p, m));
    all.push_back(v_half_schedule(p, m));
    all.push_back(v_min_schedule(p, m));
    all.push_back(v_half_vocabulary_schedule(p, m, unit_costs(2 * p)));
    if (m >= 2 * p) all.push_back(dualpipe_v_schedule(p, m));
    all.push_back(hanayo_schedule(p, m, 2));
    all.push_back(hanayo_schedule(p, m, 4));
}

}  // namespace

std::vector<Schedule> all_schedules(int p, int m) {
    std::vector<Schedule> all = {naive_schedule(p, m),
                                 gpipe_schedule(p, m),
                                 one_f_one_b_schedule(p, m),
                                 pipedream_schedule(p, m),
                                 pipedream_2bw_schedule(p, m),
                                 zb_h1_schedule(p, m),
                                 zb_h2_schedule(p, m),
                                 zb_1p_schedule(p, m, unit_costs(p)),
                                 zb_2p_schedule(p, m, unit_costs(p))};
    for (const VocabularySplit split :
         {VocabularySplit::two_barriers, VocabularySplit::one_barrier, VocabularySplit::interlaced}) {
        all.push_back(vocabulary_schedule(p, m, split));
    }
    add_looped(p, m, all);
    add_v(p, m, all);
    if (p % 2 == 0) all.push_back(chimera_schedule(p, m));
    if (p % 2 == 0 && m % 2 == 0 && m >= 2 * p) all.push_back(dualpipe_schedule(p, m));
    return all;
}

std::vector<std::pair<int, int>> schedule_shapes() {
    std::vector<std::pair<int, int>> shapes;
    for (const int p : {2, 3, 4, 6, 8}) {
        for (const int m : {1, p - 1, p, p + 1, 2 * p - 1, 2 * p, 3 * p}) shapes.emplace_back(p, m);
    }
    return shapes;
}

CommProgram program_of(const Schedule& schedule, const DryRun& run) {
    CommProgram program;
    for (int r = 0; r < schedule.ranks; ++r) {
        std::vector<CommStep>& steps = program.ranks.emplace_back();
        const std::vector<Action>& list = schedule.actions[r];
        std::size_t next = 0;
        const auto compute_until = [&](Picoseconds key) {
            while (next < list.size() && (run.start[r][next] < key || (next > 0 && list[next - 1].fused_with_next))) {
                steps.push_back({to_string(list[next++]), {}});
            }
        };
        for (const Message& m : run.messages) {
            if (m.from_rank != r && m.to_rank != r) continue;
            compute_until(m.key);
            const std::string tag =
                (m.forward ? "f" : "b") + std::to_string(m.to_stage) + "." + std::to_string(m.microbatch);
            steps.push_back({"", {{m.from_rank == r, m.from_rank == r ? m.to_rank : m.from_rank, tag}}});
        }
        compute_until(run.makespan + 1);
    }
    return program;
}

}  // namespace foreshard::test
