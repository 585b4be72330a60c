#include "sim/cost/flow_map.hpp"

#include <algorithm>
#include <cassert>
#include <map>
#include <utility>

#include "sim/cost/link_loads.hpp"
#include "sim/cost/link_network.hpp"
#include "sim/cost/pass_flows.hpp"
#include "sim/plan/rank_grid.hpp"

namespace foreshard {

namespace {

/// Local memory traffic of a ring at bus bandwidth B: the neighbour's write, its read, and the read of the own input or
/// the write of the output; 3 B (estimate). A message is read once by its sender and written once at its receiver.
constexpr double memory_passes_collective = 3.0;
constexpr double memory_passes_message = 1.0;

class FlowMapper {
public:
    FlowMapper(const Job& job, const TaskGraph& graph, const Durations& durations)
        : job_(job), graph_(graph), durations_(durations), grid_(rank_grid(job)), links_(job) {}

    FlowMap run() {
        number_flows();
        for (std::size_t f = 0; f < examples_.size(); ++f) add_flow(examples_[f], static_cast<std::int32_t>(f));
        PassFlows passes(job_, graph_, durations_, grid_, links_);
        replicas_.insert(replicas_.end(), passes.shapes().begin(), passes.shapes().end());
        map_.flows.resize(replicas_.size());
        merge_links();
        passes.add_to(map_);
        return std::move(map_);
    }

private:
    void number_flows();
    void add_flow(std::int32_t comm, std::int32_t number);
    FlowLoads pipeline_loads(const CommClass& kind, std::int32_t comm) const;
    void add_pipeline(const CommClass& kind, const std::vector<RankPlace>& places, RankPosition at, FlowLoads& flow,
                      Loads& loads) const;
    FlowLoads group_loads(const CommClass& kind, std::int32_t rank) const;
    void add_message(int from, int to, double load, FlowLoads& flow, Loads& loads) const;
    void add_ring(const CommClass& kind, std::vector<int> members, FlowLoads& flow, Loads& loads) const;
    void add_use(int link, double load, FlowLoads& flow, Loads& loads) const {
        loads.add(link, load);
        flow.largest_share = std::max(flow.largest_share, load / links_.capacity[static_cast<std::size_t>(link)]);
    }
    void merge_links();

    const Job& job_;
    const TaskGraph& graph_;
    const Durations& durations_;
    RankGrid grid_;
    Links links_;
    FlowMap map_;
    std::vector<std::int32_t> examples_;                       ///< per flow: a comm of it
    std::vector<std::vector<std::vector<LinkUse>>> replicas_;  ///< [flow][replica] loads on links before merging
};

void FlowMapper::number_flows() {
    std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> number;
    for (std::int32_t c = 0; c < static_cast<std::int32_t>(graph_.comms.size()); ++c) {
        const std::pair key(graph_.comms[static_cast<std::size_t>(c)].comm_class,
                            graph_.rank_of(graph_.members_of(c)[0]));
        const auto next = static_cast<std::int32_t>(number.size());
        const auto [known, added] = number.emplace(key, next);
        map_.flow_of_comm.push_back(known->second);
        if (added) examples_.push_back(c);
    }
    map_.flows.resize(number.size());
    replicas_.resize(number.size());
}

/// Loads count in connections: 1 on both ports of the sender and the receiver.
void FlowMapper::add_message(int from, int to, double load, FlowLoads& flow, Loads& loads) const {
    if (grid_.domain_of(from) == grid_.domain_of(to)) {
        add_use(links_.port(from, true), load, flow, loads);
        add_use(links_.port(to, false), load, flow, loads);
        return;
    }
    add_use(links_.nic(from, true), load, flow, loads);
    add_use(links_.nic(to, false), load, flow, loads);
    if (links_.block(from) == links_.block(to)) return;
    loads.add(links_.leaf(from, true), load);
    loads.add(links_.leaf(to, false), load);
}

/// Of a ring's bytes every member sends and receives the same; with g members in a domain, as many rings enter and
/// leave it, each through another member's NIC, so that 1/g of them pass a member's NIC and the rest its NVLink.
void FlowMapper::add_ring(const CommClass& kind, std::vector<int> members, FlowLoads& flow, Loads& loads) const {
    std::sort(members.begin(), members.end());
    std::map<int, int> inside;
    for (const int member : members) ++inside[grid_.domain_of(member)];
    const bool alone = inside.size() == 1;
    double largest = 0.0;
    for (const auto& [domain, count] : inside) {
        const double through_nic = alone ? 0.0 : 1.0 / count;
        largest = std::max({largest, through_nic, 1.0 - through_nic});
    }
    flow.bytes = ring_factor(kind.kind, static_cast<int>(members.size())) * kind.message.value * largest;
    for (std::size_t i = 0; i < members.size(); ++i) {
        const int member = members[i];
        const double through_nic = alone ? 0.0 : 1.0 / inside[grid_.domain_of(member)];
        for (const bool send : {true, false}) {
            if (through_nic < 1.0) add_use(links_.port(member, send), (1.0 - through_nic) / largest, flow, loads);
            if (alone) continue;
            add_use(links_.nic(member, send), through_nic / largest, flow, loads);
            // The next (or previous) domain of the ring lies behind the last (or first) member of this one.
            std::size_t other = i;
            while (grid_.domain_of(members[other]) == grid_.domain_of(member)) {
                other = (other + (send ? 1 : members.size() - 1)) % members.size();
            }
            if (links_.block(members[other]) == links_.block(member)) continue;
            loads.add(links_.leaf(member, send), through_nic / largest);
        }
    }
}

/// Members of one pipeline (two that exchange a message, or several in a collective) at every tensor and context
/// parallel position.
FlowLoads FlowMapper::pipeline_loads(const CommClass& kind, std::int32_t comm) const {
    std::vector<RankPlace> places;
    for (const std::int32_t member : graph_.members_of(comm)) {
        places.push_back(graph_.places[static_cast<std::size_t>(graph_.rank_of(member))]);
    }
    FlowLoads flow;
    const int replica = places.front().replica;
    const int last = replica < 0 ? std::max(job_.plan.dp, 1) - 1 : replica;
    for (int dp = std::max(replica, 0); dp <= last; ++dp) {
        Loads loads;
        for (int cp = 0; cp < job_.plan.cp; ++cp) {
            for (int tp = 0; tp < job_.plan.tp; ++tp) add_pipeline(kind, places, {tp, cp, dp, 0}, flow, loads);
        }
        flow.replicas.push_back(loads.summed());
    }
    return flow;
}

/// One message or ring, of the pipeline ranks at one position of the other axes.
void FlowMapper::add_pipeline(const CommClass& kind, const std::vector<RankPlace>& places, RankPosition at,
                              FlowLoads& flow, Loads& loads) const {
    std::vector<int> ranks;
    ranks.reserve(places.size());
    for (const RankPlace& place : places) {
        at.pp = place.pp;
        ranks.push_back(grid_.rank(at));
    }
    if (kind.kind == CollectiveKind::send_recv) {
        flow.bytes = kind.message.value;
        add_message(ranks[0], ranks[1], 1.0, flow, loads);
    } else {
        add_ring(kind, std::move(ranks), flow, loads);
    }
}

/// Groups of data and context parallel ranks of a pipeline rank, at every tensor parallel position.
FlowLoads FlowMapper::group_loads(const CommClass& kind, std::int32_t rank) const {
    const RankPlace place = graph_.places[static_cast<std::size_t>(rank)];
    FlowLoads flow;
    for (const std::vector<int>& group : replica_groups(job_, kind.axis)) {
        if (place.replica >= 0 && std::find(group.begin(), group.end(), place.replica) == group.end()) continue;
        Loads loads;
        for (int tp = 0; tp < job_.plan.tp; ++tp) {
            std::vector<int> members;
            for (const int dp : group) {
                for (int cp = 0; cp < job_.plan.cp; ++cp) members.push_back(grid_.rank({tp, cp, dp, place.pp}));
            }
            if (members.size() > 1) add_ring(kind, std::move(members), flow, loads);
        }
        flow.replicas.push_back(loads.summed());
    }
    return flow;
}

void FlowMapper::add_flow(std::int32_t comm, std::int32_t number) {
    const std::int32_t comm_class = graph_.comms[static_cast<std::size_t>(comm)].comm_class;
    const std::int32_t first = graph_.members_of(comm)[0];
    const CommClass& kind = graph_.comm_classes[static_cast<std::size_t>(comm_class)];
    const CommDuration& duration = durations_.comms[static_cast<std::size_t>(comm_class)];
    const bool pipeline = kind.axis == Axis::pp || kind.axis == Axis::embedding || kind.axis == Axis::replica;
    if (kind.axis == Axis::host) return;  // copy engines and PCIe are nobody else's
    FlowLoads loads = pipeline ? pipeline_loads(kind, comm) : group_loads(kind, graph_.rank_of(first));
    Flow& flow = map_.flows[static_cast<std::size_t>(number)];
    flow.blocks = duration.blocks;
    if (!pipeline) flow.least_slowdown = 1.0 + job_.software.numbers.dp_contention_ratio;
    if (duration.busy > 0 && loads.bytes > 0.0) {
        const double alone = loads.bytes / kind.every / to_seconds(duration.busy).value;
        // No communication takes more of a port or NIC than there is; what is faster than the model of these loads them
        // fully. A leaf may be thinner than one flow.
        flow.demand = std::min(alone, 1.0 / loads.largest_share);
        const double passes = kind.kind == CollectiveKind::send_recv ? memory_passes_message : memory_passes_collective;
        flow.memory = passes * alone / job_.cluster.device.memory_bandwidth.value;
    }
    replicas_[static_cast<std::size_t>(number)] = std::move(loads.replicas);
}

/// Links on which all flows put the same loads, and which carry the same, are one.
void FlowMapper::merge_links() {
    std::vector<std::vector<std::pair<std::int32_t, double>>> columns(links_.capacity.size());
    std::vector<std::vector<LinkUse>> sums(replicas_.size());
    for (std::size_t f = 0; f < replicas_.size(); ++f) {
        Loads all;
        for (const auto& replica : replicas_[f]) all.add(replica);
        sums[f] = all.summed();
        for (const LinkUse& use : sums[f]) {
            columns[static_cast<std::size_t>(use.link)].emplace_back(static_cast<std::int32_t>(f), use.load);
        }
    }
    std::map<std::pair<double, std::vector<std::pair<std::int32_t, double>>>, std::int32_t> merged;
    std::vector<std::int32_t> group(columns.size(), -1);
    for (std::size_t link = 0; link < columns.size(); ++link) {
        if (columns[link].empty()) continue;
        const auto next = static_cast<std::int32_t>(merged.size());
        const auto [known, added] = merged.emplace(std::pair(links_.capacity[link], columns[link]), next);
        group[link] = known->second;
        if (added) map_.capacity.push_back(links_.capacity[link]);
    }
    const auto grouped = [&](std::vector<LinkUse> uses) {
        for (LinkUse& use : uses) use.link = group[static_cast<std::size_t>(use.link)];
        std::sort(uses.begin(), uses.end(), [](const LinkUse& a, const LinkUse& b) {
            return std::pair(a.link, a.load) < std::pair(b.link, b.load);
        });
        return uses;
    };
    for (std::size_t f = 0; f < replicas_.size(); ++f) {
        for (std::size_t r = 1; r < replicas_[f].size() && map_.replicas_alike; ++r) {
            map_.replicas_alike = grouped(replicas_[f][r]) == grouped(replicas_[f][0]);
        }
        std::vector<LinkUse> uses = grouped(sums[f]);
        uses.erase(std::unique(uses.begin(), uses.end()), uses.end());
        map_.flows[f].first_use = static_cast<std::uint32_t>(map_.uses.size());
        map_.flows[f].uses = static_cast<std::uint32_t>(uses.size());
        map_.uses.insert(map_.uses.end(), uses.begin(), uses.end());
    }
}

}  // namespace

FlowMap map_flows(const Job& job, const TaskGraph& graph, const Durations& durations) {
    return FlowMapper(job, graph, durations).run();
}

}  // namespace foreshard
