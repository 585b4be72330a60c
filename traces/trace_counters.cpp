#include "traces/trace_counters.hpp"

#include <array>
#include <string_view>

namespace foreshard {

namespace {

ByteCount held(const MemoryPoint& point) {
    return point.activations + point.buffers;
}

class Counters {
public:
    Counters(const RankReport& rank, EventStream& events) : rank_(rank), events_(events) {}

    /// Of points at one moment, the last is written, and the highest before it when it is a peak. The very first,
    /// before anything runs, is written too.
    void add_all() {
        const std::vector<MemoryPoint>& points = rank_.memory.points;
        if (!points.empty()) add(points.front());
        for (std::size_t i = 0; i < points.size();) {
            const std::size_t first = i;
            std::size_t highest = i;
            for (; i < points.size() && points[i].time == points[first].time; ++i) {
                if (held(points[i]) > held(points[highest])) highest = i;
            }
            const bool rises = first == 0 || held(points[highest]) > held(points[first - 1]);
            if (rises && held(points[highest]) > held(points[i - 1])) add(points[highest]);
            add(points[i - 1]);
        }
    }

private:
    void add(const MemoryPoint& point) {
        add(0, "activations_bytes", point.time, point.activations);
        add(1, "buffers_bytes", point.time, point.buffers);
        add(2, "allocated_bytes", point.time, rank_.memory.states.total() + held(point));
    }

    void add(std::size_t counter, std::string_view name, Picoseconds time, ByteCount value) {
        if (written_[counter] == value) return;
        written_[counter] = value;
        events_.add(R"({{"ph":"C","pid":{},"tid":0,"ts":{},"name":"{}","args":{{"bytes":{}}}}})", rank_.rank,
                    Microseconds{time}, name, value);
    }

    const RankReport& rank_;
    EventStream& events_;
    std::array<ByteCount, 3> written_{-1, -1, -1};
};

}  // namespace

void add_memory_counters(const RankReport& rank, EventStream& events) {
    Counters(rank, events).add_all();
}

}  // namespace foreshard
