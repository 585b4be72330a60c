#include "traces/trace_roles.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <optional>

#include <fmt/format.h>

namespace foreshard {

namespace {

std::optional<SpanKind> kind_of_pass(char letter) {
    switch (letter) {
        case 'F':
            return SpanKind::forward;
        case 'B':
            return SpanKind::backward;
        case 'I':
            return SpanKind::input_grad;
        case 'W':
            return SpanKind::weight_grad;
        case 'S':
        case 'T':
            return SpanKind::vocabulary;
        default:
            return std::nullopt;
    }
}

/// Takes a whole number from the front of a text. Numbers over a million are none of ours.
std::optional<std::int32_t> take_number(std::string_view& text) {
    std::int32_t value = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || value < 0 || value > 1'000'000) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
    return value;
}

bool take(std::string_view& text, std::string_view prefix) {
    if (!text.starts_with(prefix)) return false;
    text.remove_prefix(prefix.size());
    return true;
}

std::string lower(std::string_view text) {
    std::string result(text);
    for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return result;
}

std::string without_number(std::string_view name) {
    return std::string(name.substr(0, name.find_last_not_of("0123456789") + 1));
}

struct Axis {
    std::string_view name;
    SpanLane lane;
    SpanKind kind;
};

constexpr std::array<Axis, 12> axes = {{{"tp", SpanLane::tp, SpanKind::tp},
                                        {"tensor", SpanLane::tp, SpanKind::tp},
                                        {"cp", SpanLane::cp_ep, SpanKind::cp},
                                        {"context", SpanLane::cp_ep, SpanKind::cp},
                                        {"ep", SpanLane::cp_ep, SpanKind::ep},
                                        {"expert", SpanLane::cp_ep, SpanKind::ep},
                                        {"pp", SpanLane::p2p, SpanKind::p2p},
                                        {"pipeline", SpanLane::p2p, SpanKind::p2p},
                                        {"dp", SpanLane::dp, SpanKind::dp},
                                        {"data", SpanLane::dp, SpanKind::dp},
                                        {"fsdp", SpanLane::dp, SpanKind::dp},
                                        {"embedding", SpanLane::dp, SpanKind::dp}}};

/// The first word of a text ("mesh_pp", "TENSOR_MODEL_PARALLEL_GROUP", "dp-shard") that names an axis.
const Axis* axis_in(std::string_view text) {
    const std::string words = lower(text);
    for (std::size_t at = 0; at < words.size();) {
        const std::size_t end = std::min(words.find_first_of(" _-.:/", at), words.size());
        const std::string_view word = std::string_view(words).substr(at, end - at);
        const auto named = [&](const Axis& axis) { return axis.name == word; };
        const auto* found = std::find_if(axes.begin(), axes.end(), named);
        if (found != axes.end()) return found;
        at = end + 1;
    }
    return nullptr;
}

/// Fills a role from stage, pass letter and micro-batch.
void set_pass(TraceRole& role, char letter, std::int32_t stage, std::int32_t microbatch) {
    role.lane = SpanLane::compute;
    role.kind = kind_of_pass(letter).value_or(SpanKind::other);
    role.stage = stage;
    role.microbatch = microbatch;
    role.name = stage >= 0 ? fmt::format("{}{}", stage, letter) : std::string(1, letter);
}

/// "2F0", "2SEND_F0", "3RECV_B1": what PyTorch's pipelining puts behind "PP:".
bool set_torch_action(TraceRole& role, std::string_view text) {
    const auto stage = take_number(text);
    if (!stage || text.empty()) return false;
    const bool send = take(text, "SEND_");
    const bool receive = !send && take(text, "RECV_");
    if (text.empty() || !kind_of_pass(text.front())) return false;
    const char letter = text.front();
    text.remove_prefix(1);
    const auto microbatch = take_number(text);
    if (!microbatch) return false;
    set_pass(role, letter, *stage, *microbatch);
    if (!send && !receive) return true;
    role.lane = SpanLane::p2p;
    role.kind = SpanKind::p2p;
    role.name = (send ? "send " : "receive ") + role.name;
    return true;
}

/// "F mb3 c0", "F3", "B12", "F3.0.17" (micro-batch, chunk, number).
bool set_plain_pass(TraceRole& role, std::string_view text) {
    if (text.size() < 2 || !kind_of_pass(text.front())) return false;
    const char letter = text.front();
    text.remove_prefix(1);
    take(text, " ");
    take(text, "mb");
    const auto microbatch = take_number(text);
    if (!microbatch) return false;
    std::optional<std::int32_t> chunk;
    if (take(text, " c") || take(text, ".")) {
        chunk = take_number(text);
        if (!chunk) return false;
    }
    if (take(text, ".") && !take_number(text)) return false;
    if (!text.empty()) return false;
    set_pass(role, letter, -1, *microbatch);
    role.chunk = chunk.value_or(-1);
    return true;
}

bool set_range(TraceRole& role, std::string_view name) {
    if (take(name, "PP:")) return set_torch_action(role, name);
    if (take(name, "ProfilerStep#")) {
        role.step = take_number(name).value_or(0);
        role.is_step = true;
        return true;
    }
    if (!name.starts_with("Optimizer.step")) return set_plain_pass(role, name);
    role.lane = SpanLane::compute;
    role.kind = SpanKind::optimizer;
    role.name = "optimizer";
    return true;
}

/// Lower case; `word` is.
bool contains_at(std::string_view text, std::size_t at, std::string_view word) {
    if (text.size() - at < word.size()) return false;
    for (std::size_t i = 0; i < word.size(); ++i) {
        const char c = text[at + i];
        if ((c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c) != word[i]) return false;
    }
    return true;
}

/// Names of libraries that move data between GPUs; NCCL's kernels are called ncclKernel... or ncclDevKernel...
/// Every kernel of a trace is asked, so nothing is copied.
bool is_communication(std::string_view name) {
    constexpr std::array<std::string_view, 7> libraries = {"nccl",   "rccl",     "nvshmem",  "deep_ep",
                                                           "deepep", "hybridep", "hybrid_ep"};
    constexpr std::string_view first_letters = "nNrRdDhH";
    for (std::size_t at = name.find_first_of(first_letters); at != std::string_view::npos;
         at = name.find_first_of(first_letters, at + 1)) {
        for (const std::string_view library : libraries) {
            if (contains_at(name, at, library)) return true;
        }
    }
    return false;
}

/// The group's description decides, else the kind of collective.
void set_communication(TraceRole& role, const TraceEvent& event) {
    const std::string text = lower(event.collective.empty() ? event.name : event.collective);
    const Axis* axis = axis_in(event.group);
    const bool message = text.find("send") != std::string::npos || text.find("recv") != std::string::npos;
    const bool all_to_all = text.find("alltoall") != std::string::npos ||
                            text.find("all_to_all") != std::string::npos || text.find("_ep") != std::string::npos;
    role.lane = axis != nullptr ? axis->lane : message ? SpanLane::p2p : all_to_all ? SpanLane::cp_ep : SpanLane::dp;
    role.kind = axis != nullptr ? axis->kind : message ? SpanKind::p2p : all_to_all ? SpanKind::ep : SpanKind::dp;
}

bool is_cpu_category(std::string_view category) {
    constexpr std::array<std::string_view, 8> all = {"cpu_op",          "cuda_runtime",      "cuda_driver",
                                                     "python_function", "cpu_instant_event", "Trace",
                                                     "overhead",        "cuda_sync"};
    return std::find(all.begin(), all.end(), category) != all.end();
}

bool is_ours(const TraceEvent& event) {
    if (event.step < 0) return false;
    constexpr std::array<std::string_view, 12> all = {"pass", "step", "tp",        "cp",       "ep",         "pp",
                                                      "host", "dp",   "embedding", "dp-shard", "dp-replica", "replica"};
    return std::find(all.begin(), all.end(), event.category) != all.end();
}

/// Names are those that a simulation gives its tasks, so that both can be compared.
void set_ours(TraceRole& role, const TraceEvent& event, const std::string& thread) {
    role.sort = TraceSort::ours;
    role.step = event.step;
    role.stage = event.stage;
    role.microbatch = event.microbatch;
    const char letter = event.pass.empty() ? '?' : event.pass.front();
    const std::string action = fmt::format("{}{}", event.stage, letter);
    role.name = event.microbatch >= 0 ? without_number(event.name) : event.name;
    if (event.category == "pass") {
        set_pass(role, letter, event.stage, event.microbatch);
        role.chunk = role.kind == SpanKind::vocabulary ? -1 : event.chunk;
    } else if (event.category == "step") {
        role.lane = SpanLane::compute;
        role.kind = event.name == "optimizer" ? SpanKind::optimizer : SpanKind::host;
    } else if (event.category == "pp" && event.name.starts_with("vocabulary")) {
        role.lane = SpanLane::p2p;
        role.kind = SpanKind::vocabulary;
    } else if (event.category == "pp") {
        role.lane = SpanLane::p2p;
        role.kind = SpanKind::p2p;
        role.name = (thread.starts_with("send") ? "send " : "receive ") + action;
    } else if (event.category == "host") {
        role.kind = SpanKind::offload;
    } else {
        const Axis* axis = axis_in(event.category);
        role.lane = axis != nullptr ? axis->lane : SpanLane::dp;
        role.kind = axis != nullptr ? axis->kind : SpanKind::dp;
        const bool inside_a_pass = event.name.starts_with(event.category + " of ");
        if (inside_a_pass) role.name = fmt::format("{} {}", event.category, action);
    }
}

}  // namespace

TraceRole role_of(const TraceEvent& event, const std::string& thread) {
    TraceRole role;
    if (is_ours(event)) {
        set_ours(role, event, thread);
        return role;
    }
    if (event.category == "kernel") {
        const bool communicates = is_communication(event.name);
        role.sort = communicates ? TraceSort::communication : TraceSort::kernel;
        if (communicates) set_communication(role, event);
    } else if (event.category == "gpu_memcpy" || event.category == "gpu_memset") {
        role.sort = TraceSort::copy;
    } else if (event.category == "gpu_user_annotation") {
        role.sort = TraceSort::gpu_range;
        set_range(role, event.name);
    } else if (event.category == "user_annotation") {
        role.sort = TraceSort::cpu_range;
        set_range(role, event.name);
    } else if (is_cpu_category(event.category)) {
        role.sort = event.name.starts_with("PP:") ? TraceSort::cpu_range : TraceSort::cpu;
        set_range(role, event.name);
    } else {
        set_range(role, event.name);
    }
    if (role.name.empty()) role.name = event.name;
    return role;
}

}  // namespace foreshard
