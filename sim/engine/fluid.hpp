#pragma once

#include <stop_token>

#include "sim/cost/flow_map.hpp"
#include "sim/result/timeline.hpp"

namespace foreshard {

/// What collectives take from compute, and compute from collectives, on one device.
struct DeviceSharing {
    bool shared = false;  ///< false: links only
    int sm_count = 0;
};

/// Fluid path: compute and communication hold remaining work; rates change at events, completions are rounded once.
/// Events are ordered by (time, sequence), so that runs repeat bit for bit. Where nothing is shared the timeline is
/// exactly that of simulate(graph, durations).
///
/// Shared devices: a collective takes `blocks` of the SMs, so that compute-bound kernels run (SM - blocks) / SM as fast
/// (waves of a large kernel), and memory bandwidth in proportion to demand, so that the memory-bound share of a pass
/// takes 1 + h as long and so does the collective meanwhile (h: the collectives' demand over the device's bandwidth).
///
/// The exposed collectives of a pass load links where its flow in the map says so: the pass then alternates between
/// kernels and collectives, twice a layer and at most eight times, and only kernels lose SMs and memory bandwidth.
/// @param stop looked at before every event
/// @throws std::logic_error when the graph cannot complete, naming the tasks that wait; Stopped
Timeline simulate_fluid(const TaskGraph& graph, const Durations& durations, const FlowMap& map,
                        const DeviceSharing& device, const std::stop_token& stop = {});

/// Time of a compute task over its time alone, while collectives with `blocks` thread blocks and `memory` of the
/// memory bandwidth run beside it.
double compute_slowdown(const WorkShares& shares, int sm_count, int blocks, double memory);

}  // namespace foreshard
