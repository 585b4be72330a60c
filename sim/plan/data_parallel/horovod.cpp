#include "sim/plan/data_parallel/horovod.hpp"

#include <algorithm>
#include <cmath>

namespace foreshard {

namespace {

/// Tensors [first, last) fused greedily into buffers.
std::vector<HorovodRound> fuse(const std::vector<ReadyTensor>& tensors, std::size_t first, std::size_t last,
                               std::int64_t most) {
    std::vector<HorovodRound> rounds;
    for (std::size_t i = first; i < last; ++i) {
        const bool fits = !rounds.empty() && rounds.back().bytes + tensors[i].bytes <= most;
        if (!fits) rounds.push_back({{}, {}, {}, 0, static_cast<std::int32_t>(i), 0});
        rounds.back().bytes += tensors[i].bytes;
        ++rounds.back().tensors;
    }
    return rounds;
}

}  // namespace

std::vector<HorovodRound> horovod_rounds(const std::vector<ReadyTensor>& tensors, const HorovodOptions& options,
                                         const std::function<Seconds(std::int64_t)>& reduce) {
    std::vector<HorovodRound> all;
    Seconds free;
    Seconds tick;
    for (std::size_t next = 0; next < tensors.size();) {
        const double cycle = options.cycle.value;
        const double waited = std::max(tensors[next].ready.value, tick.value);
        const double cycles = cycle > 0.0 ? std::max(std::ceil((waited - options.phase.value) / cycle - 1e-9), 0.0) : 0;
        tick = Seconds(cycle > 0.0 ? options.phase.value + cycles * cycle : waited);
        std::size_t last = next;
        while (last < tensors.size() && !(tick < tensors[last].ready)) ++last;
        last = std::max(last, next + 1);
        const Seconds announced = tick + options.negotiation;
        for (HorovodRound& round : fuse(tensors, next, last, options.fusion_bytes)) {
            round.announced = announced;
            round.start = std::max(announced, free);
            round.end = round.start + reduce(round.bytes);
            free = round.end;
            all.push_back(round);
        }
        next = last;
        tick = std::max(Seconds(tick.value + cycle), announced);
    }
    return all;
}

}  // namespace foreshard
