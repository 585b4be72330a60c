#include "sim/cost/pass_flows.hpp"

#include <algorithm>

namespace foreshard {

namespace {

constexpr double demand_rounding = 1e-9;

/// Global ranks of the member's group on an axis of `size` ranks that are `stride` apart.
std::vector<int> group_of(int member, int stride, int size) {
    std::vector<int> group;
    group.reserve(static_cast<std::size_t>(size));
    const int first = member - member / stride % size * stride;
    for (int i = 0; i < size; ++i) group.push_back(first + i * stride);
    return group;
}

}  // namespace

PassFlows::PassFlows(const Job& job, const TaskGraph& graph, const Durations& durations, const RankGrid& grid,
                     const Links& links)
    : job_(job), graph_(graph), durations_(durations), grid_(grid), links_(links) {
    for (const Stream& stream : graph.streams) {
        if (stream.lane != Lane::compute) continue;
        for (std::int32_t id = stream.first; id < stream.last; ++id) {
            add(stream.rank, graph.tasks[static_cast<std::size_t>(id)].work);
        }
    }
}

void PassFlows::add(std::int32_t rank, std::int32_t work) {
    const PassTraffic& traffic = durations_.traffic[static_cast<std::size_t>(work)];
    const double bytes = std::max({traffic.tp, traffic.cp, traffic.ep});
    const Picoseconds time = durations_.works[static_cast<std::size_t>(work)].collectives();
    if (bytes <= 0.0 || time <= 0) return;
    const auto [known, added] = known_flows_.emplace(std::pair(rank, work), flows_.size());
    if (!added) return;
    const std::size_t shape = shape_of(rank, {traffic.tp / bytes, traffic.cp / bytes, traffic.ep / bytes});
    const double alone = bytes / to_seconds(time).value;
    flows_.push_back({rank, work, shape, std::min(alone, 1.0 / largest_share_[shape])});
}

std::size_t PassFlows::shape_of(std::int32_t rank, const Ratios& ratios) {
    const auto [known, added] = known_shapes_.emplace(std::pair(rank, ratios), shapes_.size());
    if (!added) return known->second;
    const RankPlace place = graph_.places[static_cast<std::size_t>(rank)];
    const int first = std::max(place.replica, 0);
    const int last = place.replica < 0 ? std::max(job_.plan.dp, 1) - 1 : place.replica;
    shapes_.emplace_back();
    largest_share_.push_back(0.0);
    for (int dp = first; dp <= last; ++dp) shapes_.back().push_back(replica_loads({0, 0, dp, place.pp}, ratios));
    return known->second;
}

/// Loads of all tensor and context parallel positions of a replica's pipeline rank; notes the largest share.
std::vector<LinkUse> PassFlows::replica_loads(RankPosition at, const Ratios& ratios) {
    Loads all;
    for (at.cp = 0; at.cp < job_.plan.cp; ++at.cp) {
        for (at.tp = 0; at.tp < job_.plan.tp; ++at.tp) {
            const std::vector<LinkUse> uses = member_loads(grid_.rank(at), ratios);
            for (const LinkUse& use : uses) note_share(use);
            all.add(uses);
        }
    }
    return all.summed();
}

/// A leaf may be thinner than one flow.
void PassFlows::note_share(const LinkUse& use) {
    if (links_.is_leaf(use.link)) return;
    double& largest = largest_share_.back();
    largest = std::max(largest, use.load / links_.capacity[static_cast<std::size_t>(use.link)]);
}

std::vector<LinkUse> PassFlows::member_loads(int member, const Ratios& ratios) const {
    Loads loads;
    add_ring(member, group_of(member, grid_.tp, job_.plan.tp), ratios[0], loads);
    add_ring(member, group_of(member, grid_.cp, job_.plan.cp), ratios[1], loads);
    add_all_to_all(member, group_of(member, grid_.ep, job_.plan.ep), ratios[2], loads);
    return loads.summed();
}

/// As between passes (docs/contention.md): with g members in a domain 1/g of the ring's bytes pass each member's NIC.
void PassFlows::add_ring(int member, const std::vector<int>& group, double load, Loads& loads) const {
    if (load <= 0.0 || group.size() <= 1) return;
    const auto inside = std::count_if(group.begin(), group.end(),
                                      [&](int other) { return grid_.domain_of(other) == grid_.domain_of(member); });
    const bool alone = inside == static_cast<std::ptrdiff_t>(group.size());
    const double through_nic = alone ? 0.0 : 1.0 / static_cast<double>(inside);
    const bool leaves_block =
        std::any_of(group.begin(), group.end(), [&](int other) { return links_.block(other) != links_.block(member); });
    for (const bool send : {true, false}) {
        if (through_nic < 1.0) loads.add(links_.port(member, send), (1.0 - through_nic) * load);
        if (alone) continue;
        loads.add(links_.nic(member, send), through_nic * load);
        if (leaves_block) loads.add(links_.leaf(member, send), through_nic * load);
    }
}

/// Every member sends each other one as much.
void PassFlows::add_all_to_all(int member, const std::vector<int>& group, double load, Loads& loads) const {
    if (load <= 0.0 || group.size() <= 1) return;
    double inside = 0.0;
    double block = 0.0;
    for (const int other : group) {
        if (other == member) continue;
        if (grid_.domain_of(other) == grid_.domain_of(member)) inside += 1.0;
        if (links_.block(other) == links_.block(member)) block += 1.0;
    }
    const auto others = static_cast<double>(group.size() - 1);
    for (const bool send : {true, false}) {
        if (inside > 0.0) loads.add(links_.port(member, send), load * inside / others);
        if (inside < others) loads.add(links_.nic(member, send), load * (others - inside) / others);
        if (block < others && inside < others) loads.add(links_.leaf(member, send), load * (others - block) / others);
    }
}

/// Per link, what all flows ask for at most: a rank is in one pass at a time, and on each lane in one comm.
std::vector<double> PassFlows::most_demanded(const FlowMap& map) const {
    std::vector<double> demanded(map.capacity.size(), 0.0);
    const std::size_t comms = map.flows.size() - shapes_.size();
    for (std::size_t f = 0; f < comms; ++f) {
        const Flow& flow = map.flows[f];
        for (std::uint32_t u = flow.first_use; u < flow.first_use + flow.uses; ++u) {
            demanded[static_cast<std::size_t>(map.uses[u].link)] += flow.demand * map.uses[u].load;
        }
    }
    std::map<std::pair<std::int32_t, std::int32_t>, double> of_rank;  // (rank, link)
    for (const PassFlow& pass : flows_) {
        const Flow& shape = map.flows[comms + pass.shape];
        for (std::uint32_t u = shape.first_use; u < shape.first_use + shape.uses; ++u) {
            double& most = of_rank[{pass.rank, map.uses[u].link}];
            most = std::max(most, pass.demand * map.uses[u].load);
        }
    }
    for (const auto& [place, most] : of_rank) demanded[static_cast<std::size_t>(place.second)] += most;
    return demanded;
}

void PassFlows::add_to(FlowMap& map) const {
    if (flows_.empty()) return;
    const std::vector<double> demanded = most_demanded(map);
    const std::size_t comms = map.flows.size() - shapes_.size();
    std::vector<std::int32_t> numbers;
    numbers.reserve(flows_.size());
    for (const PassFlow& pass : flows_) {
        Flow flow = map.flows[comms + pass.shape];
        flow.demand = pass.demand;
        bool contended = false;
        for (std::uint32_t u = flow.first_use; u < flow.first_use + flow.uses; ++u) {
            const auto link = static_cast<std::size_t>(map.uses[u].link);
            contended = contended || demanded[link] > (1.0 + demand_rounding) * map.capacity[link];
        }
        numbers.push_back(contended ? static_cast<std::int32_t>(map.flows.size()) : -1);
        if (contended) map.flows.push_back(flow);
    }
    map.flow_of_task.assign(graph_.tasks.size(), -1);
    for (const Stream& stream : graph_.streams) {
        if (stream.lane != Lane::compute) continue;
        for (std::int32_t id = stream.first; id < stream.last; ++id) {
            const auto found = known_flows_.find({stream.rank, graph_.tasks[static_cast<std::size_t>(id)].work});
            if (found != known_flows_.end()) {
                map.flow_of_task[static_cast<std::size_t>(id)] = numbers[found->second];
            }
        }
    }
}

}  // namespace foreshard
