#include "tests/runtime/comm/plan_sequence.hpp"

#include <algorithm>

#include "runtime/comm/message_groups.hpp"
#include "runtime/issue_order.hpp"
#include "runtime/rank_tasks.hpp"
#include "tests/runtime/comm/recording_transport.hpp"
#include "tests/runtime/null_device.hpp"

namespace foreshard::runtime::test {

namespace {

/// Everything one rank issues in a run of the graph, and when its shards are made whole.
void record_rank(const Plan& plan, const std::vector<std::int32_t>& order, const std::vector<std::int32_t>& groups,
                 CallSequence& sequence, int rank) {
    NullDevice device(ElementType::fp32);
    RecordingTransport transport(sequence, rank);
    ModelOptions options;
    options.poison = Poison::off;
    RankModel model(plan.job, plan.graph, rank, device, transport, options);
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
        if (used[c] == 0 && !copies) unused.push_back("never used: " + to_string(sequence.communicators[c]));
    }
    return unused;
}

}  // namespace

int PlanSequence::calls() const {
    int all = 0;
    for (const auto& mine : sequence.ranks) all += static_cast<int>(mine.size());
    return all;
}

PlanSequence record_sequence(const Plan& plan) {
    const std::vector<std::int32_t> order = issue_order(plan.graph);
    const std::vector<std::int32_t> groups = message_groups(plan.graph, order);
    PlanSequence recorded;
    recorded.groups =
        static_cast<int>(std::count_if(groups.begin(), groups.end(), [](std::int32_t next) { return next >= 0; }));
    recorded.sequence.communicators = communicators_of(plan.job, plan.graph, plan.ranks);
    recorded.sequence.ranks.resize(static_cast<std::size_t>(plan.ranks.count()));
    for (int rank = 0; rank < plan.ranks.count(); ++rank) record_rank(plan, order, groups, recorded.sequence, rank);
    return recorded;
}

std::vector<std::string> sequence_faults(const Job& job, const PlanSequence& recorded) {
    std::vector<std::string> faults = broken_rules(recorded.sequence);
    const std::vector<std::string> unused = unused_communicators(recorded.sequence, job.plan.tp);
    faults.insert(faults.end(), unused.begin(), unused.end());
    return faults;
}

std::vector<std::string> sequence_faults(const Job& job, PlanSequence* recorded) {
    const Schedule schedule = make_schedule(job);
    const TaskGraph graph = lower(job, schedule);
    const Ranks ranks(job);
    PlanSequence sequence = record_sequence({job, schedule, graph, ranks});
    std::vector<std::string> faults = sequence_faults(job, sequence);
    if (recorded != nullptr) *recorded = std::move(sequence);
    return faults;
}

}  // namespace foreshard::runtime::test
