#include "runtime/arena_size.hpp"

#include <algorithm>
#include <limits>

namespace foreshard::runtime {

namespace {

std::int32_t start_of(std::int32_t task) {
    return 2 * task;
}
std::int32_t end_of(std::int32_t task) {
    return 2 * task + 1;
}

/// Starts and ends of tasks, and which comes before which: by the order of streams, by dependencies, and because
/// members of a communication end together, behind the start of the last.
class EventOrder {
public:
    explicit EventOrder(const TaskGraph& graph) : graph_(graph), after_(2 * graph.tasks.size()) {
        for (const Stream& stream : graph.streams) {
            for (std::int32_t task = stream.first; task < stream.last; ++task) add_task(stream, task);
        }
        sort();
    }

    /// Every event behind all that it comes after.
    const std::vector<std::int32_t>& sorted() const { return sorted_; }
    const std::vector<std::int32_t>& after(std::int32_t event) const { return after_[static_cast<std::size_t>(event)]; }

private:
    void add(std::int32_t from, std::int32_t to) { after_[static_cast<std::size_t>(from)].push_back(to); }

    void add_task(const Stream& stream, std::int32_t id) {
        const Task& task = graph_.tasks[static_cast<std::size_t>(id)];
        if (id > stream.first) add(end_of(id - 1), start_of(id));
        for (std::uint32_t d = 0; d < task.deps; ++d) add(end_of(graph_.deps[task.first_dep + d]), start_of(id));
        add(start_of(id), end_of(id));
        if (task.comm < 0) return;
        for (const std::int32_t member : graph_.members_of(task.comm)) {
            if (member != id) add(start_of(id), end_of(member));
        }
    }

    void sort() {
        std::vector<int> missing(after_.size());
        for (const std::vector<std::int32_t>& next : after_) {
            for (const std::int32_t event : next) ++missing[static_cast<std::size_t>(event)];
        }
        sorted_.reserve(after_.size());
        for (std::size_t event = 0; event < after_.size(); ++event) {
            if (missing[event] == 0) sorted_.push_back(static_cast<std::int32_t>(event));
        }
        for (std::size_t i = 0; i < sorted_.size(); ++i) {
            for (const std::int32_t event : after(sorted_[i])) {
                if (--missing[static_cast<std::size_t>(event)] == 0) sorted_.push_back(event);
            }
        }
    }

    const TaskGraph& graph_;
    std::vector<std::vector<std::int32_t>> after_;
    std::vector<std::int32_t> sorted_;
};

/// Where events lie among the compute tasks 0 to n - 1 of a rank: an event comes after the tasks below `earliest`, and
/// before the tasks from `latest` on.
struct EventPlaces {
    std::vector<std::int32_t> earliest;
    std::vector<std::int32_t> latest;
};

EventPlaces event_places(const TaskGraph& graph, const Stream& compute) {
    const EventOrder order(graph);
    const std::size_t events = 2 * graph.tasks.size();
    EventPlaces places{std::vector<std::int32_t>(events, 0),
                       std::vector<std::int32_t>(events, std::numeric_limits<std::int32_t>::max())};
    for (std::int32_t task = compute.first; task < compute.last; ++task) {
        places.earliest[static_cast<std::size_t>(end_of(task))] = task - compute.first + 1;
        places.latest[static_cast<std::size_t>(start_of(task))] = task - compute.first;
    }
    for (const std::int32_t event : order.sorted()) {
        for (const std::int32_t next : order.after(event)) {
            std::int32_t& place = places.earliest[static_cast<std::size_t>(next)];
            place = std::max(place, places.earliest[static_cast<std::size_t>(event)]);
        }
    }
    for (auto event = order.sorted().rbegin(); event != order.sorted().rend(); ++event) {
        std::int32_t& place = places.latest[static_cast<std::size_t>(*event)];
        for (const std::int32_t next : order.after(*event)) {
            place = std::min(place, places.latest[static_cast<std::size_t>(next)]);
        }
    }
    return places;
}

/// Bytes held during every compute task, and in every gap: gap k lies before task k.
struct HeldBytes {
    std::vector<ByteCount> task;
    std::vector<ByteCount> gap;
};

HeldBytes held_bytes(const TaskGraph& graph, const BufferPlan& plan, const Stream& compute) {
    const EventPlaces places = event_places(graph, compute);
    const auto tasks = static_cast<std::int32_t>(compute.last - compute.first);
    HeldBytes held{std::vector<ByteCount>(static_cast<std::size_t>(tasks) + 1),
                   std::vector<ByteCount>(static_cast<std::size_t>(tasks) + 2)};
    const auto add = [](std::vector<ByteCount>& sums, std::int32_t first, std::int32_t last, ByteCount bytes) {
        sums[static_cast<std::size_t>(first)] += bytes;
        sums[static_cast<std::size_t>(last)] -= bytes;
    };
    for (const Holding& holding : plan.holdings) {
        if (graph.rank_of(holding.from) != compute.rank) continue;
        // What is received or gathered has its place from its task's turn on, which the plan counts from its arrival.
        const std::int32_t from = holding.from_end ? end_of(holding.from) : start_of(holding.from);
        const std::int32_t to = holding.until_start ? start_of(holding.to) : end_of(holding.to);
        const std::int32_t first = places.earliest[static_cast<std::size_t>(from)];
        const std::int32_t last = std::min(places.latest[static_cast<std::size_t>(to)], tasks);
        if (first < last) add(held.task, first, last, holding.bytes);
        if (first <= last) add(held.gap, first, last + 1, holding.bytes);
    }
    for (std::vector<ByteCount>* sums : {&held.task, &held.gap}) {
        for (std::size_t i = 1; i < sums->size(); ++i) (*sums)[i] += (*sums)[i - 1];
    }
    return held;
}

const Stream& compute_stream(const TaskGraph& graph, int simulated_rank) {
    return *std::find_if(graph.streams.begin(), graph.streams.end(), [&](const Stream& stream) {
        return stream.rank == simulated_rank && stream.lane == Lane::compute;
    });
}

constexpr ByteCount rounding = 1 << 20;

}  // namespace

ByteCount most_held(const TaskGraph& graph, const BufferPlan& plan, int simulated_rank) {
    const Stream& compute = compute_stream(graph, simulated_rank);
    const HeldBytes held = held_bytes(graph, plan, compute);
    const StateBytes& states = plan.states[static_cast<std::size_t>(simulated_rank)];
    ByteCount saved = 0;
    ByteCount most = held.gap.front();
    for (std::int32_t task = compute.first; task < compute.last; ++task) {
        const Task& at = graph.tasks[static_cast<std::size_t>(task)];
        const auto place = static_cast<std::size_t>(task - compute.first);
        ByteCount working = at.kind == TaskKind::optimizer ? states.optimizer_step : 0;
        if (at.kind == TaskKind::pass) {
            const PassBuffers& pass = plan.works[static_cast<std::size_t>(at.work)];
            saved += pass.acquired;
            working = std::max(pass.transient, pass.tail - pass.released);
            most = std::max(most, saved + working + held.task[place]);
            saved -= pass.released;
        }
        most = std::max({most, saved + working + held.task[place], saved + held.gap[place + 1]});
    }
    return states.total() + most;
}

ByteCount arena_bytes(const Job& job, const TaskGraph& graph, int simulated_rank, ElementType type) {
    const ByteCount planned = most_held(graph, plan_buffers(job, graph), simulated_rank);
    // A run in fp64 has a plan in fp32; plans of other types count their own elements.
    const ByteCount scale = type == ElementType::fp64 ? 2 : 1;
    return planned * scale / 4 * 5 + rounding;
}

}  // namespace foreshard::runtime
