#include <algorithm>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/comm/call_sequence.hpp"
#include "runtime/comm/message_groups.hpp"
#include "runtime/cpu/cpu_device.hpp"
#include "runtime/executor.hpp"
#include "runtime/issue_order.hpp"
#include "runtime/rank_tasks.hpp"
#include "runtime/trainer.hpp"
#include "tests/runtime/check_grid.hpp"
#include "tests/runtime/comm/recording_transport.hpp"
#include "tests/support/jobs.hpp"

/// What every plan would issue to NCCL, recorded rank by rank and held against its rules.
namespace foreshard::runtime {
namespace {

using testing::IsEmpty;

/// Everything one rank issues in a run of the graph, and when its shards are made whole.
void record_rank(const Plan& plan, const std::vector<std::int32_t>& order, const std::vector<std::int32_t>& groups,
                 CallSequence& sequence, int rank) {
    const std::unique_ptr<Device> device = make_cpu_device(ElementType::fp32);
    test::RecordingTransport transport(sequence, rank);
    ModelOptions options;
    options.poison = Poison::off;
    RankModel model(plan.job, plan.graph, rank, *device, transport, options);
    RankTasks tasks(plan.job, plan.graph, plan.ranks, model, transport);
    const TaskRange range = tasks_of(plan.graph, plan.ranks.position(rank).pp);
    std::int32_t group_ends = -1;
    for (const std::int32_t task : order) {
        if (task < range.first || task >= range.last) continue;
        const std::int32_t next = groups[static_cast<std::size_t>(task)];
        if (next >= 0) transport.begin_group();
        tasks.perform(task);
        if (task == group_ends) transport.end_group();
        if (next >= 0) group_ends = next;
    }
    tasks.make_whole();
}

CallSequence record(const Plan& plan, const std::vector<std::int32_t>& order, const std::vector<std::int32_t>& groups) {
    CallSequence sequence;
    sequence.communicators = communicators_of(plan.job, plan.graph, plan.ranks);
    sequence.ranks.resize(static_cast<std::size_t>(plan.ranks.count()));
    for (int rank = 0; rank < plan.ranks.count(); ++rank) record_rank(plan, order, groups, sequence, rank);
    return sequence;
}

std::vector<std::string> unused_communicators(const CallSequence& sequence, int tp) {
    std::vector<char> used(sequence.communicators.size());
    for (const auto& calls : sequence.ranks) {
        for (const IssuedCall& call : calls) used[static_cast<std::size_t>(call.communicator)] = 1;
    }
    std::vector<std::string> unused;
    for (std::size_t c = 0; c < used.size(); ++c) {
        // Copies of a KV head are added up where their gradients lie, which may be on other replicas.
        const Channel channel = sequence.communicators[c].channel;
        const bool copies = channel.axis == Axis::tp && static_cast<int>(sequence.communicators[c].members.size()) < tp;
        if (used[c] == 0 && !copies) unused.push_back(to_string(sequence.communicators[c]));
    }
    return unused;
}

int groups_in(const std::vector<std::int32_t>& groups) {
    return static_cast<int>(std::count_if(groups.begin(), groups.end(), [](std::int32_t next) { return next >= 0; }));
}

TEST(PlanSequence, EveryPlanOfTheCoveringSetKeepsTheRules) {
    int plans = 0;
    int calls = 0;
    int groups_found = 0;
    for (const GridPoint& point : covering_points(4000, 7)) {
        SCOPED_TRACE(to_string(point));
        const std::optional<Job> job = job_of(point);
        const Schedule schedule = make_schedule(*job);
        const TaskGraph graph = lower(*job, schedule);
        const Ranks ranks(*job);
        const std::vector<std::int32_t> order = issue_order(graph);
        const std::vector<std::int32_t> groups = message_groups(graph, order);
        const CallSequence sequence = record({*job, schedule, graph, ranks}, order, groups);
        EXPECT_THAT(broken_rules(sequence), IsEmpty());
        EXPECT_THAT(unused_communicators(sequence, job->plan.tp), IsEmpty());
        ++plans;
        groups_found += groups_in(groups);
        for (const auto& mine : sequence.ranks) calls += static_cast<int>(mine.size());
    }
    RecordProperty("plans", plans);
    RecordProperty("calls", calls);
    RecordProperty("groups", groups_found);
    EXPECT_GT(plans, 50);
    EXPECT_GT(calls, 10000);
    EXPECT_GT(groups_found, 100);
}

/// With f = 1 and a whole backward of 2, the second to last stage of 1F1B has done a forward when the last one has done
/// a backward: from the first backward to the last forward they exchange both in one group.
TEST(MessageGroups, SteadyStateOf1f1bSendsForwardAndReceivesBackwardTogether) {
    constexpr int m = 8;
    JobRequest request = foreshard::test::tiny_request(2, m);
    request.schedule = std::string("1f1b");
    const Job job = foreshard::test::valid_job(request);
    const TaskGraph graph = lower(job, make_schedule(job));
    const std::vector<std::int32_t> groups = message_groups(graph, issue_order(graph));
    int pairs = 0;
    for (std::size_t first = 0; first < groups.size(); ++first) {
        if (groups[first] < 0) continue;
        const Task& a = graph.tasks[first];
        const Task& b = graph.tasks[static_cast<std::size_t>(groups[first])];
        EXPECT_NE(a.kind, b.kind);
        EXPECT_NE(a.pass == Pass::forward, b.pass == Pass::forward);
        EXPECT_EQ(graph.stream_of(static_cast<std::int32_t>(first)).peer, graph.stream_of(groups[first]).peer);
        ++pairs;
    }
    EXPECT_EQ(pairs % 2, 0) << "both ranks group the same messages";
    EXPECT_GE(pairs / 2, m - 3);
}

/// A plan whose issue is spoiled must be found out, or the test above says nothing.
class SpoiledPlan : public testing::Test {
protected:
    SpoiledPlan() : job_(make_job()), schedule_(make_schedule(job_)), graph_(lower(job_, schedule_)), ranks_(job_) {
        const std::vector<std::int32_t> order = issue_order(graph_);
        sequence_ = record({job_, schedule_, graph_, ranks_}, order, message_groups(graph_, order));
    }

    static Job make_job() {
        JobRequest request = foreshard::test::tiny_request(2, 4);
        request.gpus = 8;
        request.dp = 2;
        request.tp = 2;
        request.software = std::string("foreshard");
        request.precision = "fp32";
        request.overlap_grad_reduce = true;
        request.bucket_mb = 0.02;
        request.schedule = std::string("1f1b");
        return foreshard::test::valid_job(request);
    }

    Job job_;
    Schedule schedule_;
    TaskGraph graph_;
    Ranks ranks_;
    CallSequence sequence_;
};

/// Exchanging two neighbouring calls of a rank on different communicators that both wait for the same ranks.
TEST_F(SpoiledPlan, AnySwapOfNeighboursThatMattersIsFound) {
    ASSERT_THAT(broken_rules(sequence_), IsEmpty());
    int found = 0;
    for (std::size_t i = 1; i < sequence_.ranks[0].size(); ++i) {
        CallSequence spoiled = sequence_;
        std::swap(spoiled.ranks[0][i - 1], spoiled.ranks[0][i]);
        const auto& a = sequence_.communicators[static_cast<std::size_t>(sequence_.ranks[0][i - 1].communicator)];
        const auto& b = sequence_.communicators[static_cast<std::size_t>(sequence_.ranks[0][i].communicator)];
        const bool same_members =
            std::set(a.members.begin(), a.members.end()) == std::set(b.members.begin(), b.members.end());
        const bool grouped =
            sequence_.ranks[0][i].group >= 0 && sequence_.ranks[0][i].group == sequence_.ranks[0][i - 1].group;
        if (a == b || !same_members || grouped) continue;
        EXPECT_FALSE(broken_rules(spoiled).empty()) << "calls " << i - 1 << " and " << i;
        ++found;
    }
    EXPECT_GT(found, 0);
}

TEST_F(SpoiledPlan, AnyCallThatIsLeftOutIsFound) {
    for (std::size_t i = 0; i < sequence_.ranks[1].size(); i += 3) {
        CallSequence spoiled = sequence_;
        spoiled.ranks[1].erase(spoiled.ranks[1].begin() + static_cast<std::ptrdiff_t>(i));
        EXPECT_FALSE(broken_rules(spoiled).empty()) << "call " << i;
    }
}

TEST_F(SpoiledPlan, AnyOtherSizeIsFound) {
    for (std::size_t i = 0; i < sequence_.ranks[2].size(); i += 3) {
        CallSequence spoiled = sequence_;
        ++spoiled.ranks[2][i].call.count;
        EXPECT_FALSE(broken_rules(spoiled).empty()) << "call " << i;
    }
}

}  // namespace
}  // namespace foreshard::runtime
