#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/result/timeline.hpp"

/// Lanes (threads) of a trace.
namespace foreshard {

inline constexpr int compute_lane = 0;
inline constexpr int collectives_lane = 1;  ///< of tensor, context and expert parallelism, inside passes
inline constexpr int first_stream_lane = 2;

struct TraceLane {
    int rank = 0;
    int lane = 0;  ///< number inside the rank, from the top
    std::string name;
};

struct TraceLanes {
    std::vector<TraceLane> lanes;
    std::vector<std::int32_t> lane_of;  ///< like TaskGraph::tasks: number inside the task's rank
};

/// Puts every task on a lane so that spans of a lane do not overlap. Messages of a stream follow each other while
/// earlier ones are in flight, so a stream has as many lanes as it has messages in flight.
TraceLanes trace_lanes(const TaskGraph& graph, const Timeline& timeline);

/// Exposed time of collectives inside a work.
Picoseconds collectives_time(const WorkDuration& work);

}  // namespace foreshard
