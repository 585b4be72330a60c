#pragma once

#include <string>
#include <utility>
#include <vector>

#include "runtime/microbench/bench_sizes.hpp"

/// One figure of a micro-benchmark.
namespace foreshard::runtime {

/// Of one call, over samples.
struct BenchTimes {
    int samples = 0;
    double median_us = 0.0;
    double min_us = 0.0;
    double p90_us = 0.0;  ///< nearest rank
};
BenchTimes times_of(std::vector<double> samples_us);

struct BenchRow {
    std::string group;  ///< gemm, attention, memory, optimizer, launch, collective, message, overlap
    std::string op;
    std::vector<std::pair<std::string, std::int64_t>> shape;  ///< JSON key (with its unit) and value
    double flops = 0.0;                                       ///< of a call; 0: none that count
    double bytes = 0.0;  ///< that a call must read and write, or that a rank must send; 0: not counted
    BenchTimes time;
    std::string channel = {};                    ///< of communication, as to_string(Channel)
    std::vector<std::vector<int>> members = {};  ///< ranks of the groups that work at a time
};

/// A run of the device begins and ends on its first queue: another one that is to be used joins between the two.
void fork_queue(Device& device, int queue);
void join_queue(Device& device, int queue);

/// Times calls on a queue of the device: one run of it, stamps around every sample. Device memory must be there.
/// @param issue makes one call
template <class Issue>
BenchTimes time_calls(Device& device, int queue, const Repeats& repeats, const Issue& issue) {
    device.begin_run(Recording::on);
    fork_queue(device, queue);
    for (int i = 0; i < repeats.warmup; ++i) issue();
    for (int sample = 0; sample < repeats.samples; ++sample) {
        device.stamp(sample);
        for (int i = 0; i < repeats.inner; ++i) issue();
    }
    device.stamp(repeats.samples);
    join_queue(device, queue);
    device.end_run();
    const auto stamps = device.stamps(repeats.samples + 1);
    std::vector<double> samples_us;
    samples_us.reserve(static_cast<std::size_t>(repeats.samples));
    for (std::size_t i = 1; i < stamps.size(); ++i) {
        samples_us.push_back(std::chrono::duration<double, std::micro>(stamps[i] - stamps[i - 1]).count() /
                             repeats.inner);
    }
    return times_of(std::move(samples_us));
}

}  // namespace foreshard::runtime
