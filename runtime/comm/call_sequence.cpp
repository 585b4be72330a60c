#include "runtime/comm/call_sequence.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include <fmt/format.h>

namespace foreshard::runtime {

namespace {

/// A call by rank and place in its rank's sequence.
struct Place {
    int rank = 0;
    int index = 0;
    auto operator<=>(const Place&) const = default;
};

/// Calls that are one: a collective, or a send and its receive. By communicator, sender and receiver, or -1 for
/// collectives, and number.
using InstanceKey = std::tuple<int, int, int, int>;

bool is_message(CommOp op) {
    return op == CommOp::send || op == CommOp::receive;
}

class Checker {
public:
    explicit Checker(const CallSequence& sequence) : sequence_(sequence) {}

    std::vector<std::string> run();

private:
    void find_instances();
    void check_collectives(int communicator);
    void check_messages(int communicator);
    void check_pairs(const std::map<std::pair<int, int>, std::vector<Place>>& sends,
                     const std::map<std::pair<int, int>, std::vector<Place>>& receives);
    void check_groups();
    void check_waits();
    void check_launch_order();
    std::vector<std::vector<int>> groups_as_nodes();
    void complain(std::string text) { broken_.push_back(std::move(text)); }
    const IssuedCall& at(Place place) const {
        return sequence_.ranks[static_cast<std::size_t>(place.rank)][static_cast<std::size_t>(place.index)];
    }
    std::string name(Place place) const;
    std::string member_name(Place place) const;

    const CallSequence& sequence_;
    std::vector<std::string> broken_;
    std::map<InstanceKey, int> instance_ids_;
    std::vector<std::vector<int>> instances_;  ///< per rank and call
};

int member_at(const Communicator& communicator, int place) {
    const bool there = place >= 0 && place < static_cast<int>(communicator.members.size());
    return there ? communicator.members[static_cast<std::size_t>(place)] : -1;
}

/// "rank 1, call 7: send of 4 bytes to rank 2 on pp (send forward) of ranks 1 to 2"
std::string Checker::name(Place place) const {
    return fmt::format("rank {}, call {}: {}", place.rank, place.index, member_name(place));
}

std::string Checker::member_name(Place place) const {
    const IssuedCall& issued = at(place);
    const Communicator& communicator = sequence_.communicators[static_cast<std::size_t>(issued.communicator)];
    const CommCall& call = issued.call;
    std::string text = fmt::format("{} of {} {}", to_string(call.op), call.count,
                                   call.type ? std::string(to_string(*call.type)) + " elements" : "bytes");
    if (call.op == CommOp::send) text += fmt::format(" to rank {}", member_at(communicator, call.peer));
    if (call.op == CommOp::receive) text += fmt::format(" from rank {}", member_at(communicator, call.peer));
    return text + " on " + to_string(communicator);
}

bool same_collective(const CommCall& a, const CommCall& b) {
    return a.op == b.op && a.count == b.count && a.type == b.type && a.reduction == b.reduction && a.peer == b.peer;
}

void Checker::check_collectives(int communicator) {
    const Communicator& kind = sequence_.communicators[static_cast<std::size_t>(communicator)];
    std::vector<std::vector<Place>> calls;
    for (const int rank : kind.members) {
        std::vector<Place>& mine = calls.emplace_back();
        const auto& issued = sequence_.ranks[static_cast<std::size_t>(rank)];
        for (int i = 0; i < static_cast<int>(issued.size()); ++i) {
            const IssuedCall& call = issued[static_cast<std::size_t>(i)];
            if (call.communicator == communicator && !is_message(call.call.op)) mine.push_back({rank, i});
        }
    }
    for (std::size_t m = 1; m < calls.size(); ++m) {
        const std::size_t both = std::min(calls[m].size(), calls[0].size());
        std::size_t i = 0;
        while (i < both && same_collective(at(calls[m][i]).call, at(calls[0][i]).call)) ++i;
        if (i < both) {
            complain(fmt::format("collective {} differs: {}, but {}", i, name(calls[0][i]), name(calls[m][i])));
        } else if (calls[m].size() != calls[0].size()) {
            complain(fmt::format("rank {} issues {} collectives on {}, but rank {} {}", kind.members[0],
                                 calls[0].size(), to_string(kind), kind.members[m], calls[m].size()));
        }
    }
}

void Checker::check_messages(int communicator) {
    const Communicator& kind = sequence_.communicators[static_cast<std::size_t>(communicator)];
    std::map<std::pair<int, int>, std::vector<Place>> sends;
    std::map<std::pair<int, int>, std::vector<Place>> receives;
    for (const int rank : kind.members) {
        const auto& issued = sequence_.ranks[static_cast<std::size_t>(rank)];
        for (int i = 0; i < static_cast<int>(issued.size()); ++i) {
            const IssuedCall& call = issued[static_cast<std::size_t>(i)];
            if (call.communicator != communicator || !is_message(call.call.op)) continue;
            const int peer = member_at(kind, call.call.peer);
            if (peer < 0 || peer == rank) {
                complain(name({rank, i}) + ": there is no such peer");
            } else if (call.call.op == CommOp::send) {
                sends[{rank, peer}].push_back({rank, i});
            } else {
                receives[{peer, rank}].push_back({rank, i});
            }
        }
    }
    check_pairs(sends, receives);
}

void Checker::check_pairs(const std::map<std::pair<int, int>, std::vector<Place>>& sends,
                          const std::map<std::pair<int, int>, std::vector<Place>>& receives) {
    std::set<std::pair<int, int>> pairs;
    for (const auto& [pair, list] : sends) pairs.insert(pair);
    for (const auto& [pair, list] : receives) pairs.insert(pair);
    const auto list_of = [](const auto& map, const std::pair<int, int>& pair) {
        const auto found = map.find(pair);
        return found == map.end() ? std::vector<Place>{} : found->second;
    };
    for (const std::pair<int, int>& pair : pairs) {
        const std::vector<Place> out = list_of(sends, pair);
        const std::vector<Place> in = list_of(receives, pair);
        if (out.size() != in.size()) {
            complain(fmt::format("rank {} sends {} messages, but rank {} receives {}, on {}", pair.first, out.size(),
                                 pair.second, in.size(),
                                 to_string(sequence_.communicators[static_cast<std::size_t>(
                                     at(out.empty() ? in.front() : out.front()).communicator)])));
            continue;
        }
        for (std::size_t i = 0; i < out.size(); ++i) {
            const CommCall& sent = at(out[i]).call;
            const CommCall& received = at(in[i]).call;
            if (sent.count == received.count && sent.type == received.type) continue;
            complain(fmt::format("message {} differs: {}, but {}", i, name(out[i]), name(in[i])));
            break;
        }
    }
}

void Checker::find_instances() {
    instances_.resize(sequence_.ranks.size());
    for (int rank = 0; rank < static_cast<int>(sequence_.ranks.size()); ++rank) {
        std::map<std::tuple<int, int, int>, int> made;
        for (const IssuedCall& issued : sequence_.ranks[static_cast<std::size_t>(rank)]) {
            const Communicator& kind = sequence_.communicators[static_cast<std::size_t>(issued.communicator)];
            const int peer = is_message(issued.call.op) ? member_at(kind, issued.call.peer) : -1;
            const int from = peer < 0 ? -1 : issued.call.op == CommOp::send ? rank : peer;
            const int to = peer < 0 ? -1 : issued.call.op == CommOp::send ? peer : rank;
            const int number = made[{issued.communicator, from, to}]++;
            const InstanceKey key{issued.communicator, from, to, number};
            const int id = instance_ids_.try_emplace(key, static_cast<int>(instance_ids_.size())).first->second;
            instances_[static_cast<std::size_t>(rank)].push_back(id);
        }
    }
}

/// The messages between two ranks that one of them groups must be one group of the other.
void Checker::check_groups() {
    std::map<int, std::vector<Place>> calls_of;  // per instance
    for (int rank = 0; rank < static_cast<int>(instances_.size()); ++rank) {
        const auto& mine = instances_[static_cast<std::size_t>(rank)];
        for (int i = 0; i < static_cast<int>(mine.size()); ++i)
            calls_of[mine[static_cast<std::size_t>(i)]].push_back({rank, i});
    }
    std::map<std::tuple<int, int, int>, std::pair<Place, int>>
        towards;  // rank, group, peer: a call, and the peer's group
    for (const auto& [instance, places] : calls_of) {
        if (places.size() != 2 || !is_message(at(places[0]).call.op)) continue;
        for (const auto& [mine, theirs] : {std::pair(places[0], places[1]), std::pair(places[1], places[0])}) {
            if (at(mine).group < 0) continue;
            const std::tuple key{mine.rank, at(mine).group, theirs.rank};
            const auto [known, fresh] = towards.try_emplace(key, mine, at(theirs).group);
            const bool alone = !fresh && (at(theirs).group < 0 || at(theirs).group != known->second.second);
            if (!alone) continue;
            complain(
                fmt::format("grouped on one side only: {} and {}, whose other ends rank {} does not issue as one "
                            "group",
                            name(known->second.first), member_name(mine), theirs.rank));
        }
    }
}

/// Per rank the nodes in order of issue; a node is a call or a group, as first index and number of calls.
std::vector<std::vector<std::pair<int, int>>> nodes_of(const CallSequence& sequence) {
    std::vector<std::vector<std::pair<int, int>>> nodes;
    for (const auto& calls : sequence.ranks) {
        auto& mine = nodes.emplace_back();
        for (int i = 0; i < static_cast<int>(calls.size()); ++i) {
            const int group = calls[static_cast<std::size_t>(i)].group;
            const bool goes_on = i > 0 && group >= 0 && calls[static_cast<std::size_t>(i) - 1].group == group;
            if (goes_on) {
                ++mine.back().second;
            } else {
                mine.emplace_back(i, 1);
            }
        }
    }
    return nodes;
}

/// A node starts when the nodes before it on its communicators are done, and is done when all that its calls meet have
/// started.
class WaitGraph {
public:
    WaitGraph(const CallSequence& sequence, const std::vector<std::vector<int>>& instances)
        : sequence_(sequence), instances_(instances), nodes_(nodes_of(sequence)) {
        for (std::size_t rank = 0; rank < nodes_.size(); ++rank) {
            state_.emplace_back(nodes_[rank].size(), State::waits);
            for (const int instance : instances_[rank]) ++awaited_[instance];
        }
    }

    /// Places of calls that never start; empty when all get done.
    std::vector<Place> stuck();

private:
    enum class State : std::uint8_t { waits, started, done };

    bool advance(std::size_t rank);
    template <typename Visit>
    void visit_calls(std::size_t rank, std::size_t node, const Visit& visit) const {
        const auto [first, count] = nodes_[rank][node];
        for (int i = first; i < first + count; ++i) visit(static_cast<std::size_t>(i));
    }

    const CallSequence& sequence_;
    const std::vector<std::vector<int>>& instances_;
    std::vector<std::vector<std::pair<int, int>>> nodes_;
    std::vector<std::vector<State>> state_;
    std::map<int, int> awaited_;  ///< per instance, calls that have not started
};

/// One look at a rank's nodes, in order; a node that is not done bars its communicators to those behind it.
bool WaitGraph::advance(std::size_t rank) {
    bool moved = false;
    std::set<int> barred;
    for (std::size_t node = 0; node < nodes_[rank].size(); ++node) {
        State& state = state_[rank][node];
        if (state == State::done) continue;
        bool free = true;
        bool met = true;
        visit_calls(rank, node,
                    [&](std::size_t i) { free &= !barred.contains(sequence_.ranks[rank][i].communicator); });
        if (state == State::waits && free) {
            visit_calls(rank, node, [&](std::size_t i) { --awaited_[instances_[rank][i]]; });
            state = State::started;
            moved = true;
        }
        visit_calls(rank, node, [&](std::size_t i) { met &= awaited_[instances_[rank][i]] == 0; });
        if (state == State::started && met) {
            state = State::done;
            moved = true;
            continue;
        }
        visit_calls(rank, node, [&](std::size_t i) { barred.insert(sequence_.ranks[rank][i].communicator); });
    }
    return moved;
}

std::vector<Place> WaitGraph::stuck() {
    bool moved = true;
    while (moved) {
        moved = false;
        for (std::size_t rank = 0; rank < nodes_.size(); ++rank) moved |= advance(rank);
    }
    std::vector<Place> places;
    for (std::size_t rank = 0; rank < nodes_.size(); ++rank) {
        const auto first =
            std::find_if(state_[rank].begin(), state_[rank].end(), [](State state) { return state != State::done; });
        if (first == state_[rank].end()) continue;
        places.push_back(
            {static_cast<int>(rank), nodes_[rank][static_cast<std::size_t>(first - state_[rank].begin())].first});
    }
    return places;
}

void Checker::check_waits() {
    const std::vector<Place> stuck = WaitGraph(sequence_, instances_).stuck();
    if (stuck.empty()) return;
    std::string text = "deadlock: ranks wait for each other";
    for (const Place& place : stuck) text += "; " + name(place);
    complain(std::move(text));
}

/// Per rank the numbers of its nodes, where calls that are one and calls of a group have the same number.
std::vector<std::vector<int>> Checker::groups_as_nodes() {
    std::vector<int> parent(instance_ids_.size());
    std::iota(parent.begin(), parent.end(), 0);
    const auto root = [&](int node) {
        while (parent[static_cast<std::size_t>(node)] != node) node = parent[static_cast<std::size_t>(node)];
        return node;
    };
    for (std::size_t rank = 0; rank < instances_.size(); ++rank) {
        const auto& calls = sequence_.ranks[rank];
        for (std::size_t i = 1; i < calls.size(); ++i) {
            if (calls[i].group < 0 || calls[i].group != calls[i - 1].group) continue;
            parent[static_cast<std::size_t>(root(instances_[rank][i]))] = root(instances_[rank][i - 1]);
        }
    }
    std::vector<std::vector<int>> nodes(instances_.size());
    for (std::size_t rank = 0; rank < instances_.size(); ++rank) {
        for (const int instance : instances_[rank]) nodes[rank].push_back(root(instance));
    }
    return nodes;
}

/// Takes away what stands first on all its ranks until nothing is left.
void Checker::check_launch_order() {
    const std::vector<std::vector<int>> nodes = groups_as_nodes();
    std::map<int, int> calls_left;
    for (const auto& mine : nodes) {
        for (const int node : mine) ++calls_left[node];
    }
    std::vector<std::size_t> next(nodes.size());
    std::map<int, int> at_front;
    const auto step_up = [&](std::size_t rank) {  // counts all calls of the node that stand first, one behind another
        for (std::size_t i = next[rank]; i < nodes[rank].size() && nodes[rank][i] == nodes[rank][next[rank]]; ++i) {
            ++at_front[nodes[rank][i]];
        }
    };
    for (std::size_t rank = 0; rank < nodes.size(); ++rank) step_up(rank);
    bool moved = true;
    while (moved) {
        moved = false;
        for (std::size_t rank = 0; rank < nodes.size(); ++rank) {
            while (next[rank] < nodes[rank].size() &&
                   at_front[nodes[rank][next[rank]]] == calls_left[nodes[rank][next[rank]]]) {
                const int node = nodes[rank][next[rank]];
                while (next[rank] < nodes[rank].size() && nodes[rank][next[rank]] == node) ++next[rank];
                step_up(rank);
                moved = true;
            }
        }
    }
    std::string text;
    for (std::size_t rank = 0; rank < nodes.size(); ++rank) {
        if (next[rank] == nodes[rank].size()) continue;
        text += fmt::format("; {}", name({static_cast<int>(rank), static_cast<int>(next[rank])}));
    }
    if (!text.empty()) complain("ranks issue in different orders; none of these comes first on all its ranks" + text);
}

std::vector<std::string> Checker::run() {
    for (int c = 0; c < static_cast<int>(sequence_.communicators.size()); ++c) {
        check_collectives(c);
        check_messages(c);
    }
    if (!broken_.empty()) return broken_;
    find_instances();
    check_groups();
    check_waits();
    check_launch_order();
    return broken_;
}

}  // namespace

std::vector<std::string> broken_rules(const CallSequence& sequence) {
    return Checker(sequence).run();
}

}  // namespace foreshard::runtime
