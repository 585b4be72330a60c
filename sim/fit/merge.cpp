#include "sim/fit/merge.hpp"

#include <algorithm>

namespace foreshard {

namespace {

/// Appends points, which keep to say which input they are of.
template <class Point>
void append_points(std::vector<Point> points, int inputs_before, std::vector<Point>& all) {
    for (Point& point : points) point.origin.input += inputs_before;
    all.insert(all.end(), points.begin(), points.end());
}

template <class Value>
void append_values(const std::vector<Value>& values, std::vector<Value>& all) {
    all.insert(all.end(), values.begin(), values.end());
}

/// Fields that inputs know or do not know.
void fill(std::string& known, const std::string& found) {
    if (known.empty()) known = found;
}

void merge_machine(const MeasuredMachine& from, MeasuredMachine& into) {
    fill(into.processor, from.processor);
    fill(into.gpu, from.gpu);
    fill(into.backend, from.backend);
    fill(into.dtype, from.dtype);
    fill(into.software, from.software);
    into.cores = std::max(into.cores, from.cores);
}

void merge_computing(const Measurements& run, int inputs, Measurements& all) {
    merge_machine(run.machine, all.machine);
    if (!all.cluster) all.cluster = run.cluster;
    if (!all.kernels) all.kernels = run.kernels;
    append_points(run.ops, inputs, all.ops);
    append_points(run.optimizer, inputs, all.optimizer);
    append_values(run.launch_us, all.launch_us);
    append_values(run.pass_overhead_us, all.pass_overhead_us);
    append_values(run.rejected, all.rejected);
    append_values(run.inputs, all.inputs);
    append_values(run.steps, all.steps);
}

void merge_communication(const Measurements& run, int inputs, Measurements& all) {
    append_points(run.communication, inputs, all.communication);
    append_points(run.overlap, inputs, all.overlap);
    append_values(run.step_overhead_us, all.step_overhead_us);
    append_values(run.wakeup_us, all.wakeup_us);
    append_values(run.rank_wait_ratio, all.rank_wait_ratio);
    append_values(run.rank_leads, all.rank_leads);
}

}  // namespace

Measurements merged(const std::vector<const Measurements*>& runs, const std::string& comm) {
    const bool own =
        std::any_of(runs.begin(), runs.end(), [&](const Measurements* run) { return run->machine.comm == comm; });
    Measurements all;
    for (const Measurements* run : runs) {
        const auto inputs = static_cast<int>(all.inputs.size());
        const bool taken = !own || run->machine.comm == comm || run->machine.comm.empty();
        merge_computing(*run, inputs, all);
        if (taken) merge_communication(*run, inputs, all);
        for (std::size_t i = 0; !taken && i < run->inputs.size(); ++i) {
            all.other_transports.insert(inputs + static_cast<int>(i));
        }
    }
    all.machine.comm = comm;
    return all;
}

}  // namespace foreshard
