#include "runtime/comm/communicators.hpp"

#include <algorithm>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/executor.hpp"
#include "sim/spec/data_parallel.hpp"

namespace foreshard::runtime {

namespace {

class Finder {
public:
    Finder(const Job& job, const TaskGraph& graph, const Ranks& ranks) : job_(job), graph_(graph), ranks_(ranks) {}

    void add_tasks(int rank);
    void add_tensor_parallel(int rank);
    void add_shard_group(int rank);
    std::vector<Communicator> list() const { return {found_.begin(), found_.end()}; }

private:
    void add(Communicator communicator) {
        if (communicator.members.size() > 1) found_.insert(std::move(communicator));
    }

    const Job& job_;
    const TaskGraph& graph_;
    const Ranks& ranks_;
    std::set<Communicator> found_;
};

/// Tasks of a stream with the same class of communication meet the same ranks.
void Finder::add_tasks(int rank) {
    const TaskRange range = tasks_of(graph_, ranks_.position(rank).pp);
    std::set<std::pair<std::int32_t, std::int32_t>> seen;
    for (std::int32_t id = range.first; id < range.last; ++id) {
        const Task& task = graph_.tasks[static_cast<std::size_t>(id)];
        if (task.comm < 0) continue;
        if (!seen.insert({task.stream, graph_.comms[static_cast<std::size_t>(task.comm)].comm_class}).second) continue;
        const Meeting meeting = meeting_of(graph_, ranks_, rank, id);
        if (meeting.kind != CollectiveKind::send_recv) {
            add(group_communicator(meeting.channel, meeting.group));
        } else if (task.kind == TaskKind::send) {
            add(message_communicator(meeting.channel, rank, meeting.peer));
        } else {
            add(message_communicator(meeting.channel, meeting.peer, rank));
        }
    }
}

/// Collectives inside passes, and sums over the copies of a KV head.
void Finder::add_tensor_parallel(int rank) {
    const std::vector<int> group = ranks_.group(rank, Axis::tp);
    const Channel channel{Axis::tp, Lane::compute};
    add(group_communicator(channel, group));
    const auto copies = static_cast<std::ptrdiff_t>(job_.plan.tp / std::max<std::int64_t>(job_.model.kv_heads, 1));
    if (copies < 2) return;
    const auto first = group.begin() + ranks_.position(rank).tp / copies * copies;
    add(group_communicator(channel, std::vector<int>(first, first + copies)));
}

/// Where shards are made whole after a run, to be compared or saved.
void Finder::add_shard_group(int rank) {
    if (job_.plan.dp == 1 || (!shards_optimizer(job_.plan) && !shards_parameters(job_.plan))) return;
    const Axis axis = inner_group_size(job_.plan) == job_.plan.dp ? Axis::dp : Axis::dp_shard;
    add(group_communicator({axis, Lane::compute}, ranks_.group(rank, axis)));
}

}  // namespace

bool Communicator::operator<(const Communicator& other) const {
    return std::tie(channel.axis, channel.lane, message, members) <
           std::tie(other.channel.axis, other.channel.lane, other.message, other.members);
}

std::string to_string(const Communicator& communicator) {
    return fmt::format("{} of ranks {}", to_string(communicator.channel),
                       fmt::join(communicator.members, communicator.message ? " to " : ", "));
}

Communicator message_communicator(Channel channel, int sender, int receiver) {
    return {channel, true, {sender, receiver}};
}

Communicator group_communicator(Channel channel, std::span<const int> group) {
    return {channel, false, {group.begin(), group.end()}};
}

std::vector<Communicator> communicators_of(const Job& job, const TaskGraph& graph, const Ranks& ranks) {
    Finder finder(job, graph, ranks);
    for (int rank = 0; rank < ranks.count(); ++rank) {
        finder.add_tasks(rank);
        finder.add_tensor_parallel(rank);
        finder.add_shard_group(rank);
    }
    return finder.list();
}

std::vector<std::vector<int>> split_rounds(const std::vector<Communicator>& communicators) {
    std::vector<std::vector<int>> rounds;
    std::vector<std::set<int>> busy;  // ranks of a round
    for (std::size_t c = 0; c < communicators.size(); ++c) {
        const std::vector<int>& members = communicators[c].members;
        std::size_t round = 0;
        while (round < rounds.size() &&
               std::any_of(members.begin(), members.end(), [&](int member) { return busy[round].contains(member); })) {
            ++round;
        }
        if (round == rounds.size()) {
            rounds.emplace_back();
            busy.emplace_back();
        }
        rounds[round].push_back(static_cast<int>(c));
        busy[round].insert(members.begin(), members.end());
    }
    return rounds;
}

}  // namespace foreshard::runtime
