#include "traces/trace_lanes.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace foreshard {

namespace {

std::string stream_name(const Stream& stream) {
    switch (stream.lane) {
        case Lane::compute:
        case Lane::dp:
        case Lane::dp_replica:
        case Lane::embedding:
        case Lane::vocabulary:
        case Lane::offload:
        case Lane::reload:
            return std::string(to_string(stream.lane));
        case Lane::send_forward:
        case Lane::send_backward:
            return fmt::format("{} to {}", to_string(stream.lane), stream.peer);
        case Lane::recv_forward:
        case Lane::recv_backward:
            return fmt::format("{} from {}", to_string(stream.lane), stream.peer);
    }
    return "";
}

class Placer {
public:
    Placer(const TaskGraph& graph, const Timeline& timeline) : graph_(graph), timeline_(timeline) {
        result_.lane_of.assign(graph.tasks.size(), 0);
    }

    TraceLanes place() {
        int rank = -1;
        for (const Stream& stream : graph_.streams) {
            if (stream.rank != rank) next_lane_ = first_stream_lane;
            rank = stream.rank;
            place_stream(stream);
        }
        return std::move(result_);
    }

private:
    void place_stream(const Stream& stream);
    void open_lane(const Stream& stream);
    bool has_collectives(const Stream& stream) const;

    const TaskGraph& graph_;
    const Timeline& timeline_;
    TraceLanes result_;
    int next_lane_ = first_stream_lane;
    std::size_t first_ = 0;             ///< in result_.lanes, of the stream at hand
    std::vector<Picoseconds> free_at_;  ///< per lane of the stream at hand
};

void Placer::open_lane(const Stream& stream) {
    std::string name = stream_name(stream);
    if (!free_at_.empty()) name += fmt::format(" ({})", free_at_.size() + 1);
    const bool top = stream.lane == Lane::compute && free_at_.empty();
    result_.lanes.push_back({stream.rank, top ? compute_lane : next_lane_++, std::move(name)});
    free_at_.push_back(0);
}

/// First fit. Tasks of a stream start in order.
void Placer::place_stream(const Stream& stream) {
    if (stream.lane == Lane::compute && has_collectives(stream)) {
        result_.lanes.push_back({stream.rank, collectives_lane, "collectives inside passes"});
    }
    first_ = result_.lanes.size();
    free_at_.clear();
    for (std::int32_t id = stream.first; id < stream.last; ++id) {
        const auto task = static_cast<std::size_t>(id);
        const Picoseconds start = timeline_.start[task];
        const auto fits = [&](Picoseconds free) { return free <= start; };
        const auto found = std::find_if(free_at_.begin(), free_at_.end(), fits);
        const auto at = static_cast<std::size_t>(found - free_at_.begin());
        if (at == free_at_.size()) open_lane(stream);
        free_at_[at] = timeline_.end[task];
        result_.lane_of[task] = result_.lanes[first_ + at].lane;
    }
}

bool Placer::has_collectives(const Stream& stream) const {
    const auto first = graph_.tasks.begin() + stream.first;
    return !timeline_.works.empty() && std::any_of(first, graph_.tasks.begin() + stream.last, [&](const Task& task) {
        return collectives_time(timeline_.works[static_cast<std::size_t>(task.work)]) > 0;
    });
}

}  // namespace

TraceLanes trace_lanes(const TaskGraph& graph, const Timeline& timeline) {
    return Placer(graph, timeline).place();
}

Picoseconds collectives_time(const WorkDuration& work) {
    Picoseconds time = 0;
    for (const Spent spent : {Spent::exposed_tp, Spent::exposed_cp, Spent::exposed_ep}) {
        time += work.spent[static_cast<std::size_t>(spent)];
    }
    return time;
}

}  // namespace foreshard
