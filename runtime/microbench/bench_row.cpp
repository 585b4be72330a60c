#include "runtime/microbench/bench_row.hpp"

#include <algorithm>

namespace foreshard::runtime {

BenchTimes times_of(std::vector<double> samples_us) {
    BenchTimes times;
    if (samples_us.empty()) return times;
    std::sort(samples_us.begin(), samples_us.end());
    const std::size_t count = samples_us.size();
    times.samples = static_cast<int>(count);
    times.median_us =
        count % 2 == 1 ? samples_us[count / 2] : (samples_us[count / 2 - 1] + samples_us[count / 2]) / 2.0;
    times.min_us = samples_us.front();
    times.p90_us = samples_us[std::min(count - 1, (count * 9 + 9) / 10 - 1)];
    return times;
}

void fork_queue(Device& device, int queue) {
    device.use_queue(0);
    device.record(0);
    device.use_queue(queue);
    if (queue != 0) device.wait(0);
}

void join_queue(Device& device, int queue) {
    device.use_queue(queue);
    device.record(1);
    device.use_queue(0);
    if (queue != 0) device.wait(1);
}

}  // namespace foreshard::runtime
