#include "sim/cost/pass_time.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <iterator>

#include "sim/cost/link_network.hpp"
#include "sim/cost/tp_overlap.hpp"
#include "sim/spec/calibration.hpp"

namespace foreshard {

namespace {

int collectives(const std::vector<Op>& ops, bool recomputed) {
    return static_cast<int>(std::count_if(ops.begin(), ops.end(), [&](const Op& op) {
        return op.kind == OpKind::collective && op.exposed_share >= 1.0 && op.recompute == recomputed;
    }));
}

double share_of(Seconds part, Seconds whole) {
    return whole.value > 0.0 ? std::min(part / whole, 1.0) : 0.0;
}

bool recomputes_fully(const OpBlock& block) {
    return block.working_set > 0;
}

/// Its kernels, not what it waits for.
PassTime slowed(PassTime time, double factor) {
    time.compute = time.compute * factor;
    time.recompute = time.recompute * factor;
    time.memory = time.memory * factor;
    return time;
}

std::vector<Op> recomputed_ops(const OpBlock& block) {
    std::vector<Op> ops;
    const auto again = [](const Op& op) { return op.recompute; };
    std::copy_if(block.input_grad.begin(), block.input_grad.end(), std::back_inserter(ops), again);
    return ops;
}

}  // namespace

PassTime& PassTime::operator+=(const PassTime& other) {
    compute += other.compute;
    recompute += other.recompute;
    tp += other.tp;
    cp += other.cp;
    ep += other.ep;
    host += other.host;
    memory += other.memory;
    nvlink += other.nvlink;
    nic += other.nic;
    tp_bytes += other.tp_bytes;
    cp_bytes += other.cp_bytes;
    ep_bytes += other.ep_bytes;
    return *this;
}

PassTime operator*(const PassTime& time, double times) {
    return {time.compute * times, time.recompute * times, time.tp * times,       time.cp * times,
            time.ep * times,      time.host * times,      time.memory * times,   time.nvlink * times,
            time.nic * times,     time.tp_bytes * times,  time.cp_bytes * times, time.ep_bytes * times};
}

Seconds with_host_floor(Seconds device, Seconds host) {
    const double larger = std::max(device.value, host.value);
    if (larger <= 0.0) return Seconds(0.0);
    const double ratio = std::min(device.value, host.value) / larger;
    return Seconds(larger * std::sqrt(std::sqrt(1.0 + ratio * ratio * ratio * ratio)));
}

PassTimer::PassTimer(const Job& job, const CostModel& cost, const NetworkModel& network)
    : job_(job),
      cost_(cost),
      network_(network),
      groups_{group_placement(job, Axis::tp), group_placement(job, Axis::cp), group_placement(job, Axis::ep)} {}

const GroupPlacement& PassTimer::group(Axis axis) const {
    assert(axis == Axis::tp || axis == Axis::cp || axis == Axis::ep);
    if (axis == Axis::tp) return groups_.tp;
    return axis == Axis::cp ? groups_.cp : groups_.ep;
}

PassTimer::Exposed PassTimer::exposed(const Op& op, Seconds previous) const {
    const CommTime alone = network_.collective(op.collective, op.message, group(op.axis));
    Seconds time = alone.total() * op.exposed_share;
    Seconds wire = alone.wire * op.exposed_share;
    Seconds whole = alone.total();
    if (op.axis == Axis::tp) {
        const double tp_share = 1.0 - job_.software.numbers.tp_overlap_ratio;
        time = time * job_.software.numbers.tp_time_factor * tp_share;
        wire = wire * job_.software.numbers.tp_time_factor * tp_share;
        whole = whole * job_.software.numbers.tp_time_factor;
    }
    if (op.behind_previous) time = Seconds(std::max(time.value - previous.value, 0.0));
    return {time, std::min(wire, time), share_of(time, whole)};
}

/// In tiles under its GEMM, whose own time is counted apart; smaller tiles make the GEMM slower, which is counted here.
PassTimer::Exposed PassTimer::exposed_in_tiles(const Op& op, const Op& gemm) const {
    const CommTime alone = network_.collective(op.collective, op.message, group(op.axis));
    const double factor = job_.software.numbers.tp_time_factor;
    const int tiles = job_.plan.tp;
    const int together = std::min(tile_streams, tiles);
    const Seconds tile = cost_.time(row_tiles(gemm, together, tiles)).seconds / together;
    const Seconds whole = tiled_time(tile, alone.total() * factor, tiles);
    const Seconds time(std::max(whole.value - cost_.time(gemm).seconds.value, 0.0));
    return {time, std::min(alone.wire * factor, time), share_of(time, alone.total() * factor)};
}

void PassTimer::add(const Op& op, const Exposed& comm, PassTime& total) const {
    const GroupPlacement& members = group(op.axis);
    const Bytes sent = op.message * (ring_factor(op.collective, members.size) * comm.share);
    (op.axis == Axis::tp ? total.tp : (op.axis == Axis::cp ? total.cp : total.ep)) += comm.time;
    (op.axis == Axis::tp ? total.tp_bytes : (op.axis == Axis::cp ? total.cp_bytes : total.ep_bytes)) += sent;
    (members.domains > 1 ? total.nic : total.nvlink) += comm.wire;
}

/// Tensor parallel ranks meet many times a pass, each time when the slowest is there.
void PassTimer::add_waiting(PassTime& total) const {
    if (job_.plan.tp == 1 || job_.calibration == nullptr) return;
    const double ratio = job_.calibration->rank_wait_ratio.value_or(0.0);
    total.tp += (total.compute + total.recompute) * ratio;
}

PassTime PassTimer::sum(const std::vector<Op>& ops) const {
    PassTime total;
    Seconds previous;
    for (std::size_t i = 0; i < ops.size(); ++i) {
        const Op& op = ops[i];
        Seconds* share = op.recompute ? &total.recompute : &total.compute;
        Seconds time;
        if (op.kind == OpKind::collective) {
            const int gemm = job_.plan.tp_comm_overlap ? overlapped_gemm(ops, static_cast<int>(i)) : -1;
            const Exposed comm =
                gemm >= 0 ? exposed_in_tiles(op, ops[static_cast<std::size_t>(gemm)]) : exposed(op, previous);
            add(op, comm, total);
            previous = comm.time;
            continue;
        } else {
            const OpTime kernel = cost_.time(op);
            time = kernel.seconds;
            if (kernel.bound == Bound::memory) total.memory += time;
        }
        *share += time;
        previous = time;
    }
    add_waiting(total);
    return total;
}

/// Layers only: the host cost of embedding and head is part of the per-layer fit. Without a pipeline the host runs
/// ahead over forward and backward together; in a pipeline every pass ends at a synchronisation.
void PassTimer::add_host(BlockTimes& times, const OpBlock& block) const {
    if (block.kind == BlockKind::embedding || block.kind == BlockKind::head) return;
    const ProfileNumbers& numbers = job_.software.numbers;
    const Seconds forward = numbers.host_forward + numbers.host_collective * collectives(block.forward, false);
    Seconds backward = numbers.host_backward + numbers.host_collective * collectives(block.input_grad, false);
    if (recomputes_fully(block)) backward += forward;
    const Seconds device_forward = times.forward.device();
    const Seconds device_backward = times.backward.device();
    if (job_.plan.pp > 1) {
        times.forward.host = with_host_floor(device_forward, forward) - device_forward;
        times.backward.host = with_host_floor(device_backward, backward) - device_backward;
    } else {
        const Seconds device = device_forward + device_backward;
        const Seconds excess = with_host_floor(device, forward + backward) - device;
        const double share = device.value > 0.0 ? device_forward / device : 0.5;
        times.forward.host = excess * share;
        times.backward.host = excess * (1.0 - share);
    }
    // Split backward: each half is launched on its own and carries half of the host's work.
    const Seconds half = backward * 0.5;
    times.input_grad.host = with_host_floor(times.input_grad.device(), half) - times.input_grad.device();
    times.weight_grad.host = with_host_floor(times.weight_grad.device(), half) - times.weight_grad.device();
}

/// Vocabulary parallelism has collectives beside the layers of every micro-batch, whose kernels wait on the device
/// until all ranks are there (measured pass times: arXiv 2411.05288, artifact).
double vocabulary_slowdown(const Job& job) {
    if (vocabulary_shares(job.plan) == 1) return 0.0;
    const ProfileNumbers& numbers = job.software.numbers;
    return vocabulary_split(job.plan.schedule) == VocabularySplit::interlaced ? numbers.interlaced_slowdown_ratio
                                                                              : numbers.vocabulary_slowdown_ratio;
}

double PassTimer::slowdown(const OpBlock& block) const {
    const bool layers = block.kind == BlockKind::layer || block.kind == BlockKind::mtp;
    return layers ? vocabulary_slowdown(job_) : 0.0;
}

BlockTimes PassTimer::time(const OpBlock& block) const {
    BlockTimes times;
    const double factor = 1.0 + slowdown(block);
    times.forward = slowed(sum(block.forward), factor);
    times.input_grad = slowed(sum(block.input_grad), factor);
    times.weight_grad = slowed(sum(block.weight_grad), factor);
    times.backward = times.input_grad;
    times.backward += times.weight_grad;
    // A split backward rebuilds a fully recomputed layer for I and again for W (pytorch/torchtitan issue 773).
    if (recomputes_fully(block)) times.weight_grad += slowed(sum(recomputed_ops(block)), factor);
    add_host(times, block);
    return times;
}

}  // namespace foreshard
