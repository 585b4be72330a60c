#include <algorithm>
#include <functional>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "sim/plan/schedules.hpp"
#include "tests/support/schedule_oracles.hpp"

/// Our own generators at the shapes of the table of other codes' lists.
namespace foreshard {
namespace {

using nlohmann::json;
using test::costs_of;
using test::csv_of;
using test::for_each_oracle;
using test::shape_of;

struct Generator {
    std::function<Schedule(int p, int m, const json& line, const PassCosts& costs)> make;
    bool same_list = false;  ///< it gives the very list, else one that is at least as good
    bool fuses = false;      ///< its list has fused pairs
};

int group_of(const json& line, const char* key) {
    return line[key].get<int>();
}

/// By the table's name of a schedule.
const std::map<std::string, Generator>& generators() {
    static const std::map<std::string, Generator> all = {
        {"naive", {[](int p, int m, auto&, auto&) { return naive_schedule(p, m); }, true}},
        {"gpipe", {[](int p, int m, auto&, auto&) { return gpipe_schedule(p, m); }}},
        {"1f1b", {[](int p, int m, auto&, auto&) { return one_f_one_b_schedule(p, m); }, true}},
        {"1f1b_overlap",
         {[](int p, int m, auto&, auto&) { return overlapped_interleaved_schedule(p, m, 1, m); }, true, true}},
        {"interleaved_1f1b",
         {[](int p, int m, auto& l, auto&) {
              return interleaved_schedule(p, m, l["v"], group_of(l, "microbatch_group_size"));
          },
          true}},
        {"interleaved_1f1b_torch",
         {[](int p, int m, auto& l, auto&) {
              return torch_interleaved_schedule(p, m, l["v"], group_of(l, "microbatch_group_size"));
          },
          true}},
        {"interleaved_1f1b_overlap",
         {[](int p, int m, auto& l, auto&) {
              return overlapped_interleaved_schedule(p, m, l["v"], group_of(l, "microbatch_group_size"));
          },
          true, true}},
        {"looped_bfs", {[](int p, int m, auto& l, auto&) { return breadth_first_schedule(p, m, l["v"]); }}},
        {"pipedream", {[](int p, int m, auto&, auto&) { return pipedream_schedule(p, m); }, true}},
        {"pipedream_2bw", {[](int p, int m, auto&, auto&) { return pipedream_2bw_schedule(p, m); }, true}},
        {"zb_h1", {[](int p, int m, auto&, auto&) { return zb_h1_schedule(p, m); }, true}},
        {"zb_h1_quickstart", {[](int p, int m, auto&, auto&) { return zb_h1_schedule(p, m); }}},
        {"zb_h2", {[](int p, int m, auto&, auto&) { return zb_h2_schedule(p, m); }, true}},
        {"zb_1p_auto", {[](int p, int m, auto&, auto& c) { return zb_1p_schedule(p, m, c); }}},
        {"zb_2p_auto", {[](int p, int m, auto&, auto& c) { return zb_2p_schedule(p, m, c); }}},
        {"interleaved_zero_bubble",
         {[](int p, int m, auto& l, auto&) {
              return interleaved_zb_schedule(p, m, l["v"], group_of(l, "microbatches_per_round"));
          },
          true}},
        {"zbv", {[](int p, int m, auto&, auto& c) { return zb_v_schedule(p, m, c); }}},
        {"zbv_auto", {[](int p, int m, auto&, auto& c) { return zb_v_schedule(p, m, c); }}},
        {"v_half", {[](int p, int m, auto&, auto&) { return v_half_schedule(p, m); }, true}},
        {"v_min", {[](int p, int m, auto&, auto&) { return v_min_schedule(p, m); }, true}},
        {"v_1f1b", {[](int p, int m, auto&, auto&) { return v_half_schedule(p, m); }}},
        {"dualpipe", {[](int p, int m, auto&, auto&) { return dualpipe_schedule(p, m); }, true, true}},
        {"dualpipev", {[](int p, int m, auto&, auto&) { return dualpipe_v_schedule(p, m); }, true, true}},
        {"chimera", {[](int p, int m, auto&, auto&) { return chimera_schedule(p, m); }, true}},
        {"hanayo", {[](int p, int m, auto& l, auto&) { return hanayo_schedule(p, m, l["v"]); }, true}},
    };
    return all;
}

TEST(GeneratorOracle, ListsAreTheReferencesOwn) {
    std::map<std::string, int> compared;
    for_each_oracle("schedule_oracles.jsonl", [&](const json& line) {
        const Generator& generator = generators().at(line["schedule"].get<std::string>());
        if (!generator.same_list) return;
        const Schedule own = generator.make(line["p"], line["m"], line, unit_costs(line["stages"]));
        EXPECT_EQ(to_csv(own), csv_of(line, generator.fuses));
        EXPECT_EQ(find_fault(own), "");
        ++compared[line["schedule"].get<std::string>()];
    });
    for (const auto& [name, count] : compared) RecordProperty(name, count);
}

int most(const std::vector<int>& peaks) {
    return *std::max_element(peaks.begin(), peaks.end());
}

/// Most saved tensors on any rank, in halves of a micro-batch: I gives one half back, W the other. It is what the
/// automatic schedules are limited by.
int peak_halves(const Schedule& schedule) {
    int peak = 0;
    for (const std::vector<Action>& list : schedule.actions) {
        int held = 0;
        for (const Action& action : list) {
            held += action.pass == Pass::forward ? 2 : (action.pass == Pass::backward ? -2 : -1);
            peak = std::max(peak, held);
        }
    }
    return peak;
}

struct Figures {
    Picoseconds makespan = 0;
    Picoseconds span = 0;
    int peak = 0;
};

/// Chosen by their longest rank span, under a limit of memory that counts halves.
bool is_automatic(const std::string& name) {
    return name == "zb_1p_auto" || name == "zb_2p_auto";
}

Figures figures_of(const Schedule& schedule, const PassCosts& costs, bool halves) {
    const DryRun run = dry_run(schedule, costs);
    return {run.makespan, longest_rank_span(run), halves ? peak_halves(schedule) : most(run.peak_in_flight)};
}

void expect_no_worse(const json& line, const json& result) {
    const std::string name = line["schedule"];
    // 1F1B-V has no generator; V-Half holds less and is compared where the passes are of equal length.
    if (name == "v_1f1b" && result["set"] != "A") return;
    const bool automatic = is_automatic(name);
    const PassCosts costs = costs_of(result, line["stages"]);
    const Schedule own = generators().at(name).make(line["p"], line["m"], line, costs);
    ASSERT_EQ(find_fault(own), "");
    const bool fuses = generators().at(name).fuses;
    const Schedule theirs = parse_schedule_csv("oracle", csv_of(line, fuses), shape_of(line, true));
    const Figures mine = figures_of(own, costs, automatic);
    const Figures other = figures_of(theirs, costs, automatic);
    EXPECT_LE(mine.peak, automatic ? 2 * (name == "zb_1p_auto" ? 1 : 2) * own.ranks : other.peak);
    EXPECT_TRUE(mine.makespan <= other.makespan || (automatic && mine.span < other.span)) << result;
    if (automatic) {
        EXPECT_LE(mine.span, other.span) << result;
    }
}

TEST(GeneratorOracle, OwnListsAreAtLeastAsGood) {
    for_each_oracle("schedule_oracles.jsonl", [&](const json& line) {
        for (const json& result : line["results"]) expect_no_worse(line, result);
    });
}

TEST(GeneratorOracle, AutomaticListsHaveThePeersLongestSpan) {
    for_each_oracle("schedule_oracles.jsonl", [&](const json& line) {
        if (!is_automatic(line["schedule"])) return;
        const json& given = line["generated_for"];
        PassCosts costs{
            std::vector<StageTimes::Stage>(line["stages"].get<std::size_t>(),
                                           {given["F"].get<int>(), given["I"].get<int>(), given["W"].get<int>()}),
            0};
        const Schedule own =
            generators().at(line["schedule"].get<std::string>()).make(line["p"], line["m"], line, costs);
        EXPECT_EQ(longest_rank_span(dry_run(own, costs)), line["peer_longest_stage_time"].get<Picoseconds>());
    });
}

}  // namespace
}  // namespace foreshard
