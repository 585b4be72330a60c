#include "traces/trace_memory.hpp"

#include <algorithm>
#include <array>

namespace foreshard {

/// A point is up to three counters, in order; those that did not change are left out.
RankMemory memory_of(const std::vector<CounterPoint>& points) {
    RankMemory memory;
    std::array<ByteCount, 3> now{};
    for (std::size_t i = 0; i < points.size();) {
        const Picoseconds time = points[i].time;
        int last = -1;
        for (; i < points.size() && points[i].time == time && points[i].counter > last; ++i) {
            last = points[i].counter;
            now[static_cast<std::size_t>(last)] = points[i].bytes;
        }
        memory.points.push_back({time, now[0], now[1]});
        if (now[2] <= memory.peak) continue;
        memory.peak = now[2];
        memory.peak_time = time;
        memory.activations = now[0];
        memory.buffers = now[1];
    }
    memory.states.weights = std::max(memory.peak - memory.activations - memory.buffers, ByteCount{0});
    return memory;
}

}  // namespace foreshard
