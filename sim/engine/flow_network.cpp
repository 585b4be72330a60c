#include "sim/engine/flow_network.hpp"

#include <algorithm>
#include <cassert>
#include <limits>

namespace foreshard {

namespace {

/// Sums of shares that should be equal differ by roundings.
constexpr double tolerance = 1e-9;

}  // namespace

FlowNetwork::FlowNetwork(std::span<const double> capacity) {
    links_.resize(capacity.size());
    for (std::size_t l = 0; l < capacity.size(); ++l) links_[l].capacity = capacity[l];
}

bool FlowNetwork::may_fill(const Link& link) const {
    return link.demanded > link.capacity * (1.0 + tolerance);
}

void FlowNetwork::change_demand(const ActiveFlow& flow, double by) {
    for (const LinkUse& use : flow.uses) links_[static_cast<std::size_t>(use.link)].demanded += by * use.load;
}

std::int32_t FlowNetwork::add(double demand, std::span<const LinkUse> uses) {
    assert(demand > 0.0);
    std::int32_t id = 0;
    if (unused_.empty()) {
        id = static_cast<std::int32_t>(flows_.size());
        flows_.emplace_back();
    } else {
        id = unused_.back();
        unused_.pop_back();
    }
    ActiveFlow& flow = flows_[static_cast<std::size_t>(id)];
    flow = ActiveFlow{};
    flow.demand = flow.rate = demand;
    flow.uses = uses;
    change_demand(flow, demand);
    for (const LinkUse& use : uses) links_[static_cast<std::size_t>(use.link)].flows.push_back(id);
    affected_.clear();
    affected_links_.clear();
    visit_links(flow);
    update(id);
    return id;
}

void FlowNetwork::remove(std::int32_t id) {
    ActiveFlow& flow = flows_[static_cast<std::size_t>(id)];
    affected_.clear();
    affected_links_.clear();
    visit_links(flow);
    change_demand(flow, -flow.demand);
    for (const LinkUse& use : flow.uses) {
        Link& link = links_[static_cast<std::size_t>(use.link)];
        link.flows.erase(std::find(link.flows.begin(), link.flows.end(), id));
        // Nothing is left of roundings on an idle link.
        if (link.flows.empty()) link.demanded = 0.0;
    }
    unused_.push_back(id);
    update(-1);
}

void FlowNetwork::set_demand(std::int32_t id, double demand) {
    ActiveFlow& flow = flows_[static_cast<std::size_t>(id)];
    affected_.clear();
    affected_links_.clear();
    visit_links(flow);
    change_demand(flow, demand - flow.demand);
    flow.demand = demand;
    flow.rate = demand;
    visit_links(flow);
    update(id);
}

/// Links of the flow that may be full, before or after a change.
void FlowNetwork::visit_links(const ActiveFlow& flow) {
    for (const LinkUse& use : flow.uses) {
        Link& link = links_[static_cast<std::size_t>(use.link)];
        if (link.visited || !may_fill(link)) continue;
        link.visited = true;
        affected_links_.push_back(use.link);
    }
}

/// Completes the component of flows and links that may be full, and shares it anew.
void FlowNetwork::update(std::int32_t changed) {
    const auto visit = [&](std::int32_t id) {
        ActiveFlow& flow = flows_[static_cast<std::size_t>(id)];
        if (flow.visited) return;
        flow.visited = true;
        affected_.push_back(id);
    };
    if (changed >= 0) visit(changed);
    std::size_t seen_flows = 0;
    std::size_t seen_links = 0;
    while (seen_links < affected_links_.size()) {  // which grow as flows are visited
        const auto link = static_cast<std::size_t>(affected_links_[seen_links++]);
        for (const std::int32_t id : links_[link].flows) visit(id);
        for (; seen_flows < affected_.size(); ++seen_flows) {
            visit_links(flows_[static_cast<std::size_t>(affected_[seen_flows])]);
        }
    }
    if (!affected_links_.empty()) fill();
    for (const std::int32_t id : affected_) flows_[static_cast<std::size_t>(id)].visited = false;
    for (const std::int32_t l : affected_links_) links_[static_cast<std::size_t>(l)].visited = false;
}

void FlowNetwork::freeze(std::int32_t id, double rate) {
    ActiveFlow& flow = flows_[static_cast<std::size_t>(id)];
    flow.frozen = true;
    flow.rate = rate;
    for (const LinkUse& use : flow.uses) {
        Link& link = links_[static_cast<std::size_t>(use.link)];
        if (!link.visited) continue;
        link.left -= rate * use.load;
        link.filling -= use.load;
    }
}

/// All flows grow together until a link is full or a demand is met; those concerned stop, the others grow on.
void FlowNetwork::fill() {
    for (const std::int32_t l : affected_links_) {
        Link& link = links_[static_cast<std::size_t>(l)];
        link.left = link.capacity;
        link.filling = 0.0;
    }
    std::vector<std::int32_t> growing = affected_;
    for (const std::int32_t id : growing) {
        ActiveFlow& flow = flows_[static_cast<std::size_t>(id)];
        flow.frozen = false;
        for (const LinkUse& use : flow.uses) {
            Link& link = links_[static_cast<std::size_t>(use.link)];
            if (link.visited) link.filling += use.load;
        }
    }
    std::vector<std::int32_t> open = affected_links_;
    while (!growing.empty()) {
        double level = std::numeric_limits<double>::infinity();
        for (const std::int32_t id : growing) level = std::min(level, flows_[static_cast<std::size_t>(id)].demand);
        for (const std::int32_t l : open) {
            const Link& link = links_[static_cast<std::size_t>(l)];
            level = std::min(level, std::max(link.left, 0.0) / link.filling);
        }
        const double reached = level * (1.0 + tolerance);
        std::vector<std::int32_t> full;
        for (const std::int32_t l : open) {
            const Link& link = links_[static_cast<std::size_t>(l)];
            if (link.left <= reached * link.filling) full.push_back(l);
        }
        for (const std::int32_t id : growing) {
            ActiveFlow& flow = flows_[static_cast<std::size_t>(id)];
            if (flow.demand <= reached) freeze(id, flow.demand);
        }
        for (const std::int32_t l : full) {
            for (const std::int32_t id : links_[static_cast<std::size_t>(l)].flows) {
                if (!flows_[static_cast<std::size_t>(id)].frozen) freeze(id, level);
            }
        }
        std::erase_if(growing, [&](std::int32_t id) { return flows_[static_cast<std::size_t>(id)].frozen; });
        std::erase_if(open, [&](std::int32_t l) {
            const Link& link = links_[static_cast<std::size_t>(l)];
            return link.filling <= tolerance || std::find(full.begin(), full.end(), l) != full.end();
        });
    }
}

}  // namespace foreshard
