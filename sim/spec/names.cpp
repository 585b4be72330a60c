#include <array>
#include <utility>

#include "sim/spec/cluster_spec.hpp"
#include "sim/spec/job.hpp"
#include "sim/spec/parallel_plan.hpp"

namespace foreshard {

namespace {

constexpr std::array<std::string_view, precision_count> precision_names = {"fp32", "tf32",  "fp16", "bf16",
                                                                           "fp8",  "mxfp8", "nvfp4"};

}  // namespace

std::string_view to_string(Precision precision) {
    return precision_names[static_cast<std::size_t>(precision)];
}

std::optional<Precision> parse_precision(std::string_view text) {
    for (std::size_t i = 0; i < precision_names.size(); ++i) {
        if (precision_names[i] == text) return static_cast<Precision>(i);
    }
    return std::nullopt;
}

std::string_view to_string(DataParallelKind kind) {
    switch (kind) {
        case DataParallelKind::ddp:
            return "ddp";
        case DataParallelKind::dp:
            return "dp";
        case DataParallelKind::horovod:
            return "horovod";
        case DataParallelKind::mirrored:
            return "mirrored";
        case DataParallelKind::fsdp1:
            return "fsdp1";
        case DataParallelKind::fsdp2:
            return "fsdp2";
        case DataParallelKind::hsdp:
            return "hsdp";
        case DataParallelKind::parameter_server:
            return "parameter-server";
        case DataParallelKind::async_sgd:
            return "async-sgd";
        case DataParallelKind::local_sgd:
            return "local-sgd";
    }
    return "";
}

std::string_view to_string(CollectiveKind kind) {
    switch (kind) {
        case CollectiveKind::all_reduce:
            return "all-reduce";
        case CollectiveKind::all_gather:
            return "all-gather";
        case CollectiveKind::reduce_scatter:
            return "reduce-scatter";
        case CollectiveKind::all_to_all:
            return "all-to-all";
        case CollectiveKind::send_recv:
            return "send-recv";
        case CollectiveKind::broadcast:
            return "broadcast";
        case CollectiveKind::reduce:
            return "reduce";
    }
    return "";
}

std::string_view to_string(Placement placement) {
    switch (placement) {
        case Placement::linear:
            return "linear";
        case Placement::loop:
            return "loop";
        case Placement::v:
            return "v";
        case Placement::snake:
            return "snake";
        case Placement::bidirectional:
            return "bidirectional";
    }
    return "";
}

std::string_view to_string(Recompute recompute) {
    switch (recompute) {
        case Recompute::none:
            return "none";
        case Recompute::selective:
            return "selective";
        case Recompute::full:
            return "full";
    }
    return "";
}

}  // namespace foreshard
