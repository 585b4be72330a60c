#include "sim/engine/flow_network.hpp"

#include <algorithm>
#include <map>
#include <random>

#include <gtest/gtest.h>

/// Max-min fairness (Bertsekas and Gallager, Data Networks, section 6.5.2).
namespace foreshard {
namespace {

constexpr double unlimited = 1e30;

TEST(FlowNetwork, ALoneFlowHasItsDemandOrTheLink) {
    FlowNetwork network(std::vector<double>{10.0});
    const std::vector<LinkUse> uses = {{0, 1.0}};
    const std::int32_t slow = network.add(4.0, uses);
    EXPECT_EQ(network.rate(slow), 4.0);
    network.remove(slow);
    const std::int32_t fast = network.add(25.0, uses);
    EXPECT_DOUBLE_EQ(network.rate(fast), 10.0);
}

TEST(FlowNetwork, TwoFlowsOnOneLinkGetHalfEach) {
    FlowNetwork network(std::vector<double>{10.0});
    const std::vector<LinkUse> uses = {{0, 1.0}};
    const std::int32_t a = network.add(10.0, uses);
    EXPECT_EQ(network.rate(a), 10.0);
    const std::int32_t b = network.add(10.0, uses);
    EXPECT_DOUBLE_EQ(network.rate(a), 5.0);
    EXPECT_DOUBLE_EQ(network.rate(b), 5.0);
    network.remove(b);
    EXPECT_EQ(network.rate(a), 10.0);
}

TEST(FlowNetwork, WhatASmallFlowLeavesGoesToTheOthers) {
    FlowNetwork network(std::vector<double>{10.0});
    const std::vector<LinkUse> uses = {{0, 1.0}};
    const std::int32_t a = network.add(10.0, uses);
    const std::int32_t b = network.add(2.0, uses);
    const std::int32_t c = network.add(10.0, uses);
    EXPECT_DOUBLE_EQ(network.rate(b), 2.0);
    EXPECT_DOUBLE_EQ(network.rate(a), 4.0);
    EXPECT_DOUBLE_EQ(network.rate(c), 4.0);
}

TEST(FlowNetwork, TheLineNetworkHasItsTextbookRates) {
    // Two links of capacity 1 and 2; a long flow crosses both, a short one each: 1/2, 1/2 and 3/2.
    FlowNetwork network(std::vector<double>{1.0, 2.0});
    const std::vector<LinkUse> both = {{0, 1.0}, {1, 1.0}};
    const std::vector<LinkUse> first = {{0, 1.0}};
    const std::vector<LinkUse> second = {{1, 1.0}};
    const std::int32_t c = network.add(unlimited, second);
    const std::int32_t a = network.add(unlimited, both);
    const std::int32_t b = network.add(unlimited, first);
    EXPECT_DOUBLE_EQ(network.rate(a), 0.5);
    EXPECT_DOUBLE_EQ(network.rate(b), 0.5);
    EXPECT_DOUBLE_EQ(network.rate(c), 1.5);
}

TEST(FlowNetwork, AFlowThatLoadsALinkTwiceTakesTwice) {
    FlowNetwork network(std::vector<double>{12.0});
    const std::vector<LinkUse> twice = {{0, 2.0}};
    const std::vector<LinkUse> once = {{0, 1.0}};
    const std::int32_t a = network.add(unlimited, twice);
    const std::int32_t b = network.add(unlimited, once);
    EXPECT_DOUBLE_EQ(network.rate(a), 4.0);
    EXPECT_DOUBLE_EQ(network.rate(b), 4.0);
}

struct RandomFlow {
    double demand = 0.0;
    std::vector<LinkUse> uses;
};

class RandomNetwork : public testing::TestWithParam<std::uint64_t> {
protected:
    int between(int low, int high) { return low + static_cast<int>(dice_() % static_cast<unsigned>(high - low + 1)); }

    RandomFlow roll(int links) {
        RandomFlow flow;
        flow.demand = between(1, 40) / 4.0;
        for (int link = 0; link < links; ++link) {
            if (between(0, 2) == 0) flow.uses.push_back({link, between(1, 4) / 2.0});
        }
        if (flow.uses.empty()) flow.uses.push_back({between(0, links - 1), 1.0});
        return flow;
    }

    std::mt19937_64 dice_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Seeds, RandomNetwork, testing::Range(std::uint64_t{1}, std::uint64_t{201}));

/// Feasible, and every flow has its demand or a full link on which it is among the fastest. This characterises the
/// max-min fair allocation, which is unique.
void expect_max_min(const std::vector<double>& capacity, const std::map<std::int32_t, RandomFlow>& flows,
                    const FlowNetwork& network) {
    constexpr double close = 1e-6;
    std::vector<double> used(capacity.size(), 0.0);
    std::vector<double> fastest(capacity.size(), 0.0);
    for (const auto& [id, flow] : flows) {
        EXPECT_LE(network.rate(id), flow.demand * (1.0 + close));
        for (const LinkUse& use : flow.uses) {
            used[static_cast<std::size_t>(use.link)] += use.load * network.rate(id);
            fastest[static_cast<std::size_t>(use.link)] =
                std::max(fastest[static_cast<std::size_t>(use.link)], network.rate(id));
        }
    }
    for (std::size_t l = 0; l < capacity.size(); ++l) EXPECT_LE(used[l], capacity[l] * (1.0 + close));
    for (const auto& [id, flow] : flows) {
        const double rate = network.rate(id);
        const bool bottleneck = std::any_of(flow.uses.begin(), flow.uses.end(), [&](const LinkUse& use) {
            const auto l = static_cast<std::size_t>(use.link);
            return used[l] >= capacity[l] * (1.0 - close) && rate >= fastest[l] * (1.0 - close);
        });
        EXPECT_TRUE(rate >= flow.demand * (1.0 - close) || bottleneck) << "flow " << id << " at " << rate;
    }
}

TEST_P(RandomNetwork, StaysMaxMinFairAsFlowsComeAndGo) {
    const int links = between(1, 8);
    std::vector<double> capacity;
    for (int l = 0; l < links; ++l) capacity.push_back(between(1, 20));
    FlowNetwork network(capacity);
    std::map<std::int32_t, RandomFlow> flows;
    for (int step = 0; step < 60; ++step) {
        const int what = between(0, 5);
        if (flows.empty() || what < 3) {
            // The network keeps views of the uses; moving a vector leaves its elements where they are.
            RandomFlow flow = roll(links);
            const std::int32_t id = network.add(flow.demand, flow.uses);
            ASSERT_FALSE(flows.contains(id));
            flows.emplace(id, std::move(flow));
        } else {
            auto chosen = std::next(flows.begin(), between(0, static_cast<int>(flows.size()) - 1));
            if (what == 3) {
                chosen->second.demand = between(1, 40) / 4.0;
                network.set_demand(chosen->first, chosen->second.demand);
            } else {
                network.remove(chosen->first);
                flows.erase(chosen);
            }
        }
        expect_max_min(capacity, flows, network);
    }
}

TEST_P(RandomNetwork, TheOrderInWhichFlowsComeDoesNotMatter) {
    const int links = between(1, 6);
    std::vector<double> capacity;
    for (int l = 0; l < links; ++l) capacity.push_back(between(1, 20));
    std::vector<RandomFlow> flows;
    for (int f = 0; f < 12; ++f) flows.push_back(roll(links));
    FlowNetwork forwards(capacity);
    FlowNetwork backwards(capacity);
    for (const RandomFlow& flow : flows) forwards.add(flow.demand, flow.uses);
    for (std::size_t f = flows.size(); f-- > 0;) backwards.add(flows[f].demand, flows[f].uses);
    for (std::int32_t f = 0; f < 12; ++f) EXPECT_NEAR(forwards.rate(f), backwards.rate(11 - f), 1e-6);
}

}  // namespace
}  // namespace foreshard
