#include "sim/plan/rank_grid.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/jobs.hpp"

/// Placement of groups against an enumeration of every rank.
namespace foreshard {
namespace {

struct Degrees {
    int tp, cp, ep, dp, pp, gpus_per_node;
};

Job placed_job(const std::string& order, const Degrees& d) {
    Job job = resolve(test::tiny_request(1, 1));
    job.plan.order = order;
    job.plan.tp = d.tp;
    job.plan.cp = d.cp;
    job.plan.ep = d.ep;
    job.plan.dp = d.dp;
    job.plan.pp = d.pp;
    job.gpus = d.tp * d.cp * d.dp * d.pp;
    job.cluster.gpus_per_node = d.gpus_per_node;
    job.cluster.gpus_per_nvlink_domain = d.gpus_per_node;
    return job;
}

using Coordinates = std::map<std::string, int>;

/// Coordinates of every global rank, counted up axis by axis.
std::vector<Coordinates> enumerate(const std::string& order, Coordinates degrees, int gpus) {
    std::vector<std::string> axes;
    for (std::size_t begin = 0; begin < order.size(); begin += 3) axes.push_back(order.substr(begin, 2));
    std::vector<Coordinates> all;
    for (int rank = 0; rank < gpus; ++rank) {
        Coordinates at;
        int rest = rank;
        for (const std::string& axis : axes) {
            at[axis] = rest % degrees[axis];
            rest /= degrees[axis];
        }
        all.push_back(at);
    }
    return all;
}

/// The worst group over the named axes: ranks that agree on all others.
GroupPlacement brute_force(const std::vector<Coordinates>& ranks, const std::set<std::string>& axes, int domain) {
    std::map<Coordinates, std::map<int, int>> groups;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
        Coordinates others = ranks[rank];
        for (const std::string& axis : axes) others.erase(axis);
        ++groups[others][static_cast<int>(rank) / domain];
    }
    GroupPlacement worst{1, 1, 0};
    for (const auto& [others, domains] : groups) {
        GroupPlacement group{0, 1 << 20, static_cast<int>(domains.size())};
        for (const auto& [where, count] : domains) {
            group.size += count;
            group.per_domain = std::min(group.per_domain, count);
        }
        if (group.domains > worst.domains || (group.domains == worst.domains && group.per_domain < worst.per_domain)) {
            worst = group;
        }
    }
    return worst;
}

class RankOrder : public testing::TestWithParam<Degrees> {};
INSTANTIATE_TEST_SUITE_P(Shapes, RankOrder,
                         testing::Values(Degrees{2, 1, 1, 4, 2, 8}, Degrees{16, 1, 1, 2, 2, 8},
                                         Degrees{2, 2, 2, 2, 4, 8}, Degrees{3, 1, 1, 5, 2, 8},
                                         Degrees{1, 3, 1, 4, 2, 8}, Degrees{2, 1, 4, 6, 2, 6}));

TEST_P(RankOrder, EveryPermutationPlacesGroupsWhereCountingDoes) {
    const Degrees d = GetParam();
    std::vector<std::string> axes = {"cp", "dp", "ep", "pp", "tp"};
    do {
        const std::string order = axes[0] + "-" + axes[1] + "-" + axes[2] + "-" + axes[3] + "-" + axes[4];
        const Job job = placed_job(order, d);
        const auto dense =
            enumerate(order, {{"tp", d.tp}, {"cp", d.cp}, {"ep", 1}, {"dp", d.dp}, {"pp", d.pp}}, job.gpus);
        const std::map<Axis, std::set<std::string>> groups = {
            {Axis::tp, {"tp"}}, {Axis::cp, {"cp"}}, {Axis::dp, {"dp", "cp"}}, {Axis::pp, {"pp"}}};
        for (const auto& [axis, named] : groups) {
            EXPECT_EQ(group_placement(job, axis), brute_force(dense, named, d.gpus_per_node))
                << order << " " << to_string(axis);
        }
        const int expert_dp = expert_data_parallel(job);
        const auto expert =
            enumerate(order, {{"tp", d.tp}, {"cp", 1}, {"ep", d.ep}, {"dp", expert_dp}, {"pp", d.pp}}, job.gpus);
        if (d.tp * d.ep * expert_dp * d.pp == job.gpus) {
            EXPECT_EQ(group_placement(job, Axis::ep), brute_force(expert, {"ep"}, d.gpus_per_node)) << order;
        }
    } while (std::next_permutation(axes.begin(), axes.end()));
}

TEST_P(RankOrder, RanksAreNumberedAsCounted) {
    const Degrees d = GetParam();
    std::vector<std::string> axes = {"cp", "dp", "ep", "pp", "tp"};
    do {
        const std::string order = axes[0] + "-" + axes[1] + "-" + axes[2] + "-" + axes[3] + "-" + axes[4];
        const Job job = placed_job(order, d);
        const RankGrid grid = rank_grid(job);
        const auto dense =
            enumerate(order, {{"tp", d.tp}, {"cp", d.cp}, {"ep", 1}, {"dp", d.dp}, {"pp", d.pp}}, job.gpus);
        for (int rank = 0; rank < job.gpus; ++rank) {
            Coordinates at = dense[static_cast<std::size_t>(rank)];
            ASSERT_EQ(grid.rank({at["tp"], at["cp"], at["dp"], at["pp"]}), rank) << order;
        }
    } while (std::next_permutation(axes.begin(), axes.end()));
}

TEST_P(RankOrder, PipelineNeighboursShareADomainOnlyIfAllOfThemDo) {
    const Degrees d = GetParam();
    std::vector<std::string> axes = {"cp", "dp", "ep", "pp", "tp"};
    do {
        const std::string order = axes[0] + "-" + axes[1] + "-" + axes[2] + "-" + axes[3] + "-" + axes[4];
        const Job job = placed_job(order, d);
        const RankGrid grid = rank_grid(job);
        for (int a = 0; a < d.pp; ++a) {
            const int b = (a + 1) % d.pp;
            bool all = true;
            for (int dp = 0; dp < d.dp; ++dp) {
                bool replica = true;
                for (int cp = 0; cp < d.cp; ++cp) {
                    for (int tp = 0; tp < d.tp; ++tp) {
                        replica = replica && grid.domain_of(grid.rank({tp, cp, dp, a})) ==
                                                 grid.domain_of(grid.rank({tp, cp, dp, b}));
                    }
                }
                EXPECT_EQ(share_domain(job, a, b, dp), replica) << order << " replica " << dp;
                all = all && replica;
            }
            EXPECT_EQ(share_domain(job, a, b), all) << order;
        }
    } while (std::next_permutation(axes.begin(), axes.end()));
}

TEST(RankOrder, AMeshOutermostFirstIsTheOrderReversed) {
    EXPECT_EQ(order_of(parse_mesh("pp=2,dp=8,tp=4")), "tp-cp-ep-dp-pp");
    EXPECT_EQ(order_of(parse_mesh("dp=8,pp=2,tp=4")), "tp-cp-ep-pp-dp");
    EXPECT_EQ(order_of(parse_mesh("tp=4,dp=8")), "cp-ep-dp-tp-pp");
    EXPECT_EQ(order_of(parse_mesh("dp=8")), "tp-cp-ep-dp-pp");
}

TEST(RankOrder, AMeshSaysTheDegrees) {
    JobRequest request = test::tiny_request(2, 16);
    request.pp.reset();
    request.gpus.reset();
    request.mesh = "dp=4,pp=2,tp=2";
    const Job job = test::valid_job(request);
    EXPECT_EQ(job.plan.dp, 4);
    EXPECT_EQ(job.plan.pp, 2);
    EXPECT_EQ(job.plan.tp, 2);
    EXPECT_EQ(job.gpus, 16);
    EXPECT_EQ(job.plan.order, "tp-cp-ep-pp-dp");
    // dp is outermost: replicas lie 4 ranks apart, two to a node.
    EXPECT_EQ(group_placement(job, Axis::dp), (GroupPlacement{4, 2, 2}));
    EXPECT_EQ(group_placement(job, Axis::pp), (GroupPlacement{2, 2, 1}));
}

}  // namespace
}  // namespace foreshard
