#pragma once

#include <string>

#include "sim/result/spans.hpp"
#include "traces/trace_events.hpp"

/// What an event of a trace is about.
namespace foreshard {

enum class TraceSort : std::uint8_t {
    ours,           ///< of a trace that this program wrote
    kernel,         ///< compute on a GPU
    communication,  ///< on a GPU: NCCL and its like
    copy,           ///< memory copies and fills of a GPU
    gpu_range,      ///< an annotation, as long as its kernels
    cpu_range,      ///< an annotation, as long as the CPU was in it
    cpu,            ///< other work of a CPU in a profile of GPUs
    plain,          ///< anything else
};

struct TraceRole {
    TraceSort sort = TraceSort::plain;
    SpanLane lane = SpanLane::other;
    SpanKind kind = SpanKind::other;
    std::int32_t stage = -1;
    std::int32_t microbatch = -1;
    std::int32_t chunk = -1;
    std::int32_t step = -1;  ///< of our traces, or the N of a range ProfilerStep#N
    bool is_step = false;    ///< a range ProfilerStep#N
    std::string name;        ///< without the micro-batch's number, if it has one
};

/// @param thread name of the event's thread, or empty: tells a send from a receive in our traces
TraceRole role_of(const TraceEvent& event, const std::string& thread);

}  // namespace foreshard
