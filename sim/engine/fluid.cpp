#include "sim/engine/fluid.hpp"

#include <algorithm>
#include <cmath>
#include <queue>
#include <stdexcept>

#include "sim/cost/variation.hpp"
#include "sim/engine/flow_network.hpp"
#include "sim/engine/fluid_parts.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/stop.hpp"

namespace foreshard {

namespace {

class Fluid {
public:
    Fluid(const TaskGraph& graph, const Durations& durations, const FlowMap& map, const DeviceSharing& device)
        : graph_(graph),
          durations_(durations),
          map_(map),
          device_(device),
          network_(map.capacity),
          next_(graph.streams.size()),
          busy_(graph.streams.size(), false),
          first_waiter_(graph.tasks.size(), -1),
          next_waiter_(graph.streams.size(), -1),
          arrived_(graph.comms.size(), 0),
          computing_(graph.streams.size()),
          phases_(graph.streams.size()),
          transfers_(graph.comms.size()),
          flow_of_(graph.comms.size(), -1),
          ranks_(static_cast<std::size_t>(graph.ranks)) {
        timeline_.start.assign(graph.tasks.size(), 0);
        timeline_.end.assign(graph.tasks.size(), unfinished);
        for (std::size_t s = 0; s < graph.streams.size(); ++s) {
            next_[s] = graph.streams[s].first;
            if (graph.streams[s].lane == Lane::compute) {
                ranks_[static_cast<std::size_t>(graph.streams[s].rank)].compute = static_cast<std::int32_t>(s);
            }
        }
        for (std::size_t s = graph.streams.size(); s-- > 0;) runnable_.push_back(static_cast<std::int32_t>(s));
    }

    Timeline run(const std::stop_token& stop) {
        run_streams();
        while (!events_.empty()) {
            check_stop(stop);
            const Event event = events_.top();
            events_.pop();
            now_ = event.time;
            handle(event);
            run_streams();
        }
        check_complete(graph_, next_);
        timeline_.works = durations_.works;
        set_window(graph_, timeline_);
        return std::move(timeline_);
    }

private:
    /// What a simulated rank's device does now.
    struct Device {
        std::int32_t compute = -1;        ///< stream
        std::int32_t task = -1;           ///< on it now
        std::vector<std::int32_t> comms;  ///< in flight
        int blocks = 0;
        double memory = 0.0;
    };

    void run_streams();
    void advance(std::size_t stream);
    bool inputs_ready(std::size_t stream, const Task& task);
    void start_compute(std::size_t stream, std::int32_t task);
    void start_comm(std::int32_t comm);
    void handle(const Event& event);
    void begin_phase(std::size_t stream);
    void end_phase(std::size_t stream);
    void end_compute(std::size_t stream);
    std::int32_t add_flow(double demand, const Flow& loads, std::int32_t owner);
    void end_transfer(std::int32_t comm);
    void arrive(std::int32_t comm);
    void finish(std::int32_t task);
    void post(Picoseconds time, EventKind kind, std::int32_t id, std::uint32_t version);
    /// From now on at `rate`.
    void proceed(Progress& progress, double rate, EventKind kind, std::int32_t id) {
        const Picoseconds done = progress.change(rate, now_);
        post(done, kind, id, progress.version);
    }
    void take_device(std::int32_t comm, int sign);
    void refresh_compute(Device& device);
    void refresh_comms(const Device& device);
    void follow_network();
    double demand_of(std::int32_t comm) const;
    const Flow& flow(std::int32_t comm) const {
        return map_.flows[static_cast<std::size_t>(map_.flow_of_comm[static_cast<std::size_t>(comm)])];
    }
    Device& device_of(std::int32_t task) { return ranks_[static_cast<std::size_t>(graph_.rank_of(task))]; }
    WorkShares shares_of(const Device& device) const;

    const TaskGraph& graph_;
    const Durations& durations_;
    const FlowMap& map_;
    DeviceSharing device_;
    FlowNetwork network_;
    Timeline timeline_;
    std::vector<std::int32_t> next_;  ///< per stream: first task that has not started, or that it is busy with
    std::vector<bool> busy_;
    std::vector<std::int32_t> first_waiter_;  ///< per task: stream
    std::vector<std::int32_t> next_waiter_;   ///< per stream: stream
    std::vector<std::int32_t> arrived_;       ///< per comm
    std::vector<Progress> computing_;         ///< per stream
    std::vector<Phases> phases_;              ///< per stream: of the pass at hand
    std::vector<Progress> transfers_;         ///< per comm
    std::vector<std::int32_t> flow_of_;       ///< per comm in flight: its number in the network
    std::vector<std::int32_t> owner_;         ///< per number in the network: comm, or -1 - stream of a pass
    std::vector<Device> ranks_;
    std::vector<std::int32_t> runnable_;
    std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
    std::uint64_t sequence_ = 0;
    Picoseconds now_ = 0;
};

void Fluid::post(Picoseconds time, EventKind kind, std::int32_t id, std::uint32_t version) {
    events_.push({time, sequence_++, kind, id, version});
}

void Fluid::run_streams() {
    while (!runnable_.empty()) {
        const std::int32_t stream = runnable_.back();
        runnable_.pop_back();
        advance(static_cast<std::size_t>(stream));
    }
}

bool Fluid::inputs_ready(std::size_t stream, const Task& task) {
    for (std::uint32_t d = 0; d < task.deps; ++d) {
        const auto dep = static_cast<std::size_t>(graph_.deps[task.first_dep + d]);
        if (timeline_.end[dep] != unfinished) continue;
        next_waiter_[stream] = first_waiter_[dep];
        first_waiter_[dep] = static_cast<std::int32_t>(stream);
        return false;
    }
    return true;
}

/// Starts the stream's next task if it can.
void Fluid::advance(std::size_t stream) {
    if (busy_[stream] || next_[stream] == graph_.streams[stream].last) return;
    const std::int32_t id = next_[stream];
    const Task& task = graph_.tasks[static_cast<std::size_t>(id)];
    if (!inputs_ready(stream, task)) return;
    busy_[stream] = true;
    if (task.comm < 0) {
        start_compute(stream, id);
        return;
    }
    if (++arrived_[static_cast<std::size_t>(task.comm)] == graph_.comms[static_cast<std::size_t>(task.comm)].members) {
        start_comm(task.comm);
    }
}

void Fluid::start_compute(std::size_t stream, std::int32_t task) {
    timeline_.start[static_cast<std::size_t>(task)] = now_;
    const Task& pass = graph_.tasks[static_cast<std::size_t>(task)];
    const Picoseconds whole = task_time(graph_, durations_, task);
    Phases& phases = phases_[stream];
    phases = {};
    if (!map_.flow_of_task.empty() && map_.flow_of_task[static_cast<std::size_t>(task)] >= 0) {
        const WorkDuration& work = durations_.works[static_cast<std::size_t>(pass.work)];
        phases.collectives = scaled(work.collectives(), whole, work.total());
        phases.cycles = std::clamp(2 * graph_.works[static_cast<std::size_t>(pass.work)].units, 1, most_cycles);
    }
    phases.kernels = whole - phases.collectives;
    device_of(task).task = task;
    begin_phase(stream);
}

void Fluid::begin_phase(std::size_t stream) {
    Phases& phases = phases_[stream];
    Progress& progress = computing_[stream];
    progress.left = static_cast<double>(phases.length());
    progress.rate = 1.0;
    progress.since = now_;
    proceed(progress, 1.0, EventKind::computed, static_cast<std::int32_t>(stream));
    Device& device = device_of(next_[stream]);
    if (phases.communicates()) {
        const Flow& loads =
            map_.flows[static_cast<std::size_t>(map_.flow_of_task[static_cast<std::size_t>(device.task)])];
        phases.flow = add_flow(loads.demand, loads, -1 - static_cast<std::int32_t>(stream));
    }
    if (!device_.shared || device.comms.empty()) return;
    refresh_compute(device);
    refresh_comms(device);
}

void Fluid::end_phase(std::size_t stream) {
    Phases& phases = phases_[stream];
    if (phases.flow >= 0) {
        network_.remove(phases.flow);
        phases.flow = -1;
        follow_network();
    }
    if (++phases.at < phases.count()) {
        begin_phase(stream);
    } else {
        end_compute(stream);
    }
}

std::int32_t Fluid::add_flow(double demand, const Flow& loads, std::int32_t owner) {
    const std::int32_t number = network_.add(demand, std::span(map_.uses).subspan(loads.first_use, loads.uses));
    if (owner_.size() <= static_cast<std::size_t>(number)) owner_.resize(static_cast<std::size_t>(number) + 1);
    owner_[static_cast<std::size_t>(number)] = owner;
    if (owner >= 0) flow_of_[static_cast<std::size_t>(owner)] = number;
    follow_network();
    return number;
}

void Fluid::start_comm(std::int32_t comm) {
    for (const std::int32_t member : graph_.members_of(comm)) timeline_.start[static_cast<std::size_t>(member)] = now_;
    const CommDuration& duration =
        durations_.comms[static_cast<std::size_t>(graph_.comms[static_cast<std::size_t>(comm)].comm_class)];
    Progress& progress = transfers_[static_cast<std::size_t>(comm)];
    progress.left = static_cast<double>(duration.busy);
    progress.since = now_;
    proceed(progress, 1.0, EventKind::transferred, comm);
    const Flow& loads = flow(comm);
    if (loads.demand <= 0.0) return;
    if (device_.shared) take_device(comm, 1);
    add_flow(demand_of(comm), loads, comm);
}

/// Gives transfers, and collectives inside passes, the rates that the network has just changed.
void Fluid::follow_network() {
    for (const std::int32_t number : network_.affected()) {
        const std::int32_t owner = owner_[static_cast<std::size_t>(number)];
        const bool inside = owner < 0;
        const auto stream = static_cast<std::size_t>(-1 - owner);
        const double alone = inside ? network_.demand(number) : flow(owner).demand;
        const double rate = network_.rate(number);
        Progress& progress = inside ? computing_[stream] : transfers_[static_cast<std::size_t>(owner)];
        const double share = rate == alone ? 1.0 : rate / alone;
        if (share == progress.rate) continue;
        proceed(progress, share, inside ? EventKind::computed : EventKind::transferred, inside ? -1 - owner : owner);
    }
}

/// Of the phase that the device's pass is in.
WorkShares Fluid::shares_of(const Device& device) const {
    if (device.task < 0) return {0.0, 0.0, 0.0, 0.0};
    const Phases& phases = phases_[static_cast<std::size_t>(device.compute)];
    if (phases.communicates()) return {0.0, 0.0, 0.0, 0.0};
    const std::int32_t work = graph_.tasks[static_cast<std::size_t>(device.task)].work;
    WorkShares shares = durations_.shares[static_cast<std::size_t>(work)];
    if (phases.collectives == 0 || phases.kernels == 0) return shares;
    const double scale = static_cast<double>(phases.kernels + phases.collectives) / static_cast<double>(phases.kernels);
    shares.kernels = std::min(shares.kernels * scale, 1.0);
    shares.memory = std::min(shares.memory * scale, shares.kernels);
    return shares;
}

/// A collective moves at the pace of the member whose memory is busiest.
double Fluid::demand_of(std::int32_t comm) const {
    const double alone = flow(comm).demand;
    if (!device_.shared) return alone;
    double slowest = 1.0;
    for (const std::int32_t member : graph_.members_of(comm)) {
        const Device& device = ranks_[static_cast<std::size_t>(graph_.rank_of(member))];
        slowest = std::max(slowest, 1.0 + shares_of(device).memory * device.memory);
    }
    return alone / slowest;
}

void Fluid::take_device(std::int32_t comm, int sign) {
    const Flow& loads = flow(comm);
    for (const std::int32_t member : graph_.members_of(comm)) {
        Device& device = device_of(member);
        if (sign > 0) {
            device.comms.push_back(comm);
        } else {
            device.comms.erase(std::find(device.comms.begin(), device.comms.end(), comm));
        }
        device.blocks += sign * loads.blocks;
        device.memory = device.comms.empty() ? 0.0 : device.memory + sign * loads.memory;
        refresh_compute(device);
        refresh_comms(device);
    }
}

void Fluid::refresh_compute(Device& device) {
    if (device.task < 0 || phases_[static_cast<std::size_t>(device.compute)].communicates()) return;
    const WorkShares shares = shares_of(device);
    double slowdown = compute_slowdown(shares, device_.sm_count, device.blocks, device.memory);
    for (const std::int32_t comm : device.comms) {
        slowdown = std::max(slowdown, 1.0 + shares.kernels * (flow(comm).least_slowdown - 1.0));
    }
    const double rate = 1.0 / slowdown;
    Progress& progress = computing_[static_cast<std::size_t>(device.compute)];
    if (rate == progress.rate) return;
    proceed(progress, rate, EventKind::computed, device.compute);
}

void Fluid::refresh_comms(const Device& device) {
    for (const std::int32_t comm : device.comms) {
        const std::int32_t number = flow_of_[static_cast<std::size_t>(comm)];
        if (number < 0) continue;
        const double demand = demand_of(comm);
        if (demand == network_.demand(number)) continue;
        network_.set_demand(number, demand);
        follow_network();
    }
}

void Fluid::finish(std::int32_t task) {
    const auto t = static_cast<std::size_t>(task);
    timeline_.end[t] = now_;
    for (std::int32_t s = first_waiter_[t]; s >= 0; s = next_waiter_[static_cast<std::size_t>(s)]) {
        runnable_.push_back(s);
    }
}

void Fluid::end_compute(std::size_t stream) {
    const std::int32_t task = next_[stream];
    Device& device = device_of(task);
    device.task = -1;
    if (device_.shared && !device.comms.empty()) refresh_comms(device);
    busy_[stream] = false;
    ++next_[stream];
    finish(task);
    runnable_.push_back(static_cast<std::int32_t>(stream));
}

void Fluid::end_transfer(std::int32_t comm) {
    std::int32_t& number = flow_of_[static_cast<std::size_t>(comm)];
    if (number >= 0) {
        network_.remove(number);
        number = -1;
        follow_network();
        if (device_.shared) take_device(comm, -1);
    }
    for (const std::int32_t member : graph_.members_of(comm)) {
        const auto stream = static_cast<std::size_t>(graph_.tasks[static_cast<std::size_t>(member)].stream);
        busy_[stream] = false;
        ++next_[stream];
        runnable_.push_back(static_cast<std::int32_t>(stream));
    }
    const CommDuration& duration =
        durations_.comms[static_cast<std::size_t>(graph_.comms[static_cast<std::size_t>(comm)].comm_class)];
    if (duration.latency == 0) {
        arrive(comm);
    } else {
        post(now_ + duration.latency, EventKind::arrived, comm, 0);
    }
}

void Fluid::arrive(std::int32_t comm) {
    for (const std::int32_t member : graph_.members_of(comm)) finish(member);
}

void Fluid::handle(const Event& event) {
    switch (event.kind) {
        case EventKind::computed:
            if (event.version == computing_[static_cast<std::size_t>(event.id)].version) {
                end_phase(static_cast<std::size_t>(event.id));
            }
            break;
        case EventKind::transferred:
            if (event.version == transfers_[static_cast<std::size_t>(event.id)].version) end_transfer(event.id);
            break;
        case EventKind::arrived:
            arrive(event.id);
            break;
    }
}

}  // namespace

double compute_slowdown(const WorkShares& shares, int sm_count, int blocks, double memory) {
    // NCCL never has more channels than half of any device in the catalogue; kernels keep that half.
    const int taken = std::min(blocks, sm_count / 2);
    const double fewer_sms = taken > 0 ? static_cast<double>(taken) / (sm_count - taken) : 0.0;
    return 1.0 + (shares.kernels - shares.memory) * fewer_sms + shares.memory * memory;
}

Timeline simulate_fluid(const TaskGraph& graph, const Durations& durations, const FlowMap& map,
                        const DeviceSharing& device, const std::stop_token& stop) {
    return Fluid(graph, durations, map, device).run(stop);
}

}  // namespace foreshard
