#include <algorithm>
#include <array>
#include <optional>

#include "sim/spec/json_specs.hpp"
#include "traces/measurement_readers.hpp"

/// foreshard.microbench: kernels and communication by themselves.
namespace foreshard {

namespace {

/// Which ops of a plan a benchmark stands for. Amounts are counted as the op lists count them (sim/plan/layer_ops.cpp,
/// attention_ops.cpp): `bytes` and `flops` multiply those of the benchmark. Norms stand for RMSNorm and LayerNorm, GELU
/// for every activation; a measured run of the model itself is better.
struct Stands {
    std::string_view group;
    std::string_view bench;
    std::string_view op;
    double flops = 1.0;
    double bytes = 1.0;
};
constexpr double norm_reads = 2.0 / 3.0;       ///< one read and one write, of three in the benchmark
constexpr double norm_grad = 5.0 / 3.0;        ///< gradient and input are read twice
constexpr double activation_grad = 5.0 / 3.0;  ///< five tensors, of three
constexpr std::array<Stands, 24> table = {{{"gemm", "forward", "gemm.forward"},
                                           {"gemm", "input_grad", "gemm.input_grad"},
                                           {"gemm", "weight_grad", "gemm.weight_grad"},
                                           {"attention", "flash_forward", "flash_attention"},
                                           {"attention", "flash_backward", "flash_attention_grad"},
                                           {"attention", "scores", "attention_scores"},
                                           {"attention", "softmax", "attention_softmax"},
                                           {"attention", "context", "attention_context"},
                                           {"attention", "scores", "attention.matmul"},
                                           {"attention", "context", "attention.matmul"},
                                           {"memory", "copy", "memory.any"},
                                           {"memory", "rotate", "positions"},
                                           {"memory", "rotate", "positions_grad"},
                                           {"memory", "gelu", "activation"},
                                           {"memory", "gelu_grad", "activation_grad", 1.0, activation_grad},
                                           {"memory", "add_residual", "bias_dropout_residual"},
                                           {"memory", "add", "bias_dropout_residual_grad"},
                                           {"memory", "rms_norm", "norm", 1.0, norm_reads},
                                           {"memory", "rms_norm", "final_norm", 1.0, norm_reads},
                                           {"memory", "rms_norm_grad", "norm_grad", 1.0, norm_grad},
                                           {"memory", "rms_norm_grad", "final_norm_grad", 1.0, norm_grad},
                                           {"optimizer", "adamw", "optimizer"},
                                           {"launch", "fill_one", "launch"},
                                           {"memory", "fill", ""}}};

/// A row of the results.
struct Row {
    std::string group;
    std::string op;
    double flops = 0.0;
    double bytes = 0.0;
    double elements = 0.0;
    double message = 0.0;
    int group_size = 0;
    bool causal = false;
    double median_us = 0.0;
};

Row read_row(JsonObject object) {
    Row row;
    row.group = object.required<std::string>("group");
    row.op = object.required<std::string>("op");
    row.flops = object.optional<double>("flops", Range::not_negative).value_or(0.0);
    row.bytes = object.optional<double>("bytes", Range::not_negative).value_or(0.0);
    row.elements = object.optional<double>("elements", Range::not_negative).value_or(0.0);
    row.message = object.optional<double>("message_bytes", Range::not_negative).value_or(0.0);
    row.group_size = object.optional<int>("group_size", Range::not_negative).value_or(0);
    row.causal = object.optional<int>("causal").value_or(0) != 0;
    row.median_us = object.object("time_us").required<double>("median");
    return row;
}

std::optional<CollectiveKind> kind_of(const std::string& op) {
    if (op == "all_reduce") return CollectiveKind::all_reduce;
    if (op == "all_gather") return CollectiveKind::all_gather;
    if (op == "reduce_scatter") return CollectiveKind::reduce_scatter;
    if (op == "send_recv") return CollectiveKind::send_recv;
    return std::nullopt;
}

class MicrobenchReader {
public:
    MicrobenchReader(const std::string& file, Measurements& into) : file_(file), into_(into) {}

    void read(JsonObject root);

private:
    void take(const Row& row, int index);
    void take_kernel(const Row& row, const Origin& origin);
    void take_communication(const Row& row, const Origin& origin);
    void finish_overlap();
    void read_environment(JsonObject environment);

    const std::string& file_;
    Measurements& into_;
    OverlapPoint overlap_;
    double width_ = 1.0;  ///< of a number over that of the plan
};

void MicrobenchReader::read_environment(JsonObject environment) {
    if (into_.machine.processor.empty()) {
        into_.machine.processor = environment.optional<std::string>("processor").value_or("");
        into_.machine.cores = environment.optional<int>("cores").value_or(0);
    }
    if (auto gpu = environment.optional_object("gpu")) {
        agree_on(file_, "environment.gpu", into_.machine.gpu, gpu->optional<std::string>("name").value_or(""));
    }
}

void MicrobenchReader::read(JsonObject root) {
    const auto dtype = root.required<std::string>("dtype");
    agree_on(file_, "dtype", into_.machine.dtype, dtype);
    agree_on(file_, "backend", into_.machine.backend, root.required<std::string>("backend"));
    agree_on(file_, "comm", into_.machine.comm, root.required<std::string>("comm"));
    width_ = dtype == "fp64" ? 2.0 : 1.0;
    if (auto environment = root.optional_object("environment")) read_environment(*environment);
    if (root.has("cluster") && !into_.cluster) {
        into_.cluster = read_cluster(root.at("cluster"), file_, root.path_of("cluster"));
    }
    int index = 0;
    for (const JsonObject& entry : root.objects("results")) take(read_row(entry), index++);
    into_.inputs.back().rows = index;
    finish_overlap();
}

void MicrobenchReader::take(const Row& row, int index) {
    const Origin origin{input_index(into_), index};
    if (const std::string reason = reason_against_time(row.median_us); !reason.empty()) {
        return reject_value(into_, index, row.group + " " + row.op, row.median_us, reason);
    }
    if (row.group == "collective" || row.group == "message") return take_communication(row, origin);
    if (row.group != "overlap") return take_kernel(row, origin);
    overlap_.origin = origin;
    if (row.op == "compute_alone") overlap_.compute_alone_us = row.median_us;
    if (row.op == "communication_alone") overlap_.communication_alone_us = row.median_us;
    if (row.op.find("beside") != std::string::npos)
        overlap_.together_us = std::max(overlap_.together_us, row.median_us);
}

void MicrobenchReader::take_kernel(const Row& row, const Origin& origin) {
    bool known = false;
    for (const Stands& stands : table) {
        if (stands.group != row.group || stands.bench != row.op) continue;
        known = true;
        if (stands.op.empty()) continue;
        if (stands.op == "launch") {
            into_.launch_us.push_back(row.median_us);
        } else if (stands.op == "optimizer") {
            into_.optimizer.push_back({row.elements, row.median_us, 1.0, origin});
        } else {
            // Op lists count whole score products, masked or not.
            const bool half = row.causal && (row.op == "scores" || row.op == "context");
            into_.ops.push_back({std::string(stands.op), row.flops * stands.flops * (half ? 2.0 : 1.0),
                                 row.bytes * stands.bytes / width_, row.median_us, 1.0, origin});
        }
    }
    if (!known) reject_value(into_, origin.row, row.group + " " + row.op, row.median_us, "no op of a plan is like it");
}

void MicrobenchReader::take_communication(const Row& row, const Origin& origin) {
    const auto kind = kind_of(row.op);
    if (!kind || row.group_size < 2 || !(row.message > 0.0)) {
        reject_value(into_, origin.row, row.group + " " + row.op, row.median_us, "no collective of a plan is like it");
        return;
    }
    into_.communication.push_back({*kind, row.group_size, row.message / width_, row.median_us, origin});
}

void MicrobenchReader::finish_overlap() {
    if (overlap_.compute_alone_us > 0.0 && overlap_.communication_alone_us > 0.0 && overlap_.together_us > 0.0) {
        into_.overlap.push_back(overlap_);
    }
}

}  // namespace

void read_microbench(const Json& document, const std::string& file, Measurements& into) {
    MicrobenchReader(file, into).read(JsonObject(document, file));
}

}  // namespace foreshard
