#include "runtime/memory_meter.hpp"

#include <algorithm>
#include <numeric>

namespace foreshard::runtime {

std::string_view to_string(MemoryKind kind) {
    switch (kind) {
        case MemoryKind::weights:
            return "weights";
        case MemoryKind::gradients:
            return "gradients";
        case MemoryKind::optimizer:
            return "optimizer";
        case MemoryKind::activations:
            return "activations";
        case MemoryKind::messages:
            return "messages";
    }
    return "";
}

std::int64_t MemoryUse::total() const {
    return std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0});
}

MemoryUse& MemoryUse::operator+=(const MemoryUse& other) {
    for (std::size_t kind = 0; kind < memory_kinds; ++kind) bytes[kind] += other.bytes[kind];
    return *this;
}

void MemoryMeter::Part::count(std::size_t kind, std::int64_t bytes) {
    now.bytes[kind] += bytes;
    if (now.total() > most.total()) most = now;
}

void MemoryMeter::raise(const MemoryUse& use) {
    if (use.total() > high_.total()) high_ = use;
}

void MemoryMeter::count(MemoryKind kind, std::int64_t bytes) {
    const std::lock_guard lock(mutex_);
    const std::thread::id caller = std::this_thread::get_id();
    now_.bytes[static_cast<std::size_t>(kind)] += bytes;
    most_ = std::max(most_, now_.of(MemoryKind::activations));
    if (log_ != nullptr) log_->push_back({MemoryEvent::What::change, kind, bytes, -1, caller});
    if (computes_ == std::thread::id()) {
        raise(now_);
        return;
    }
    (caller == computes_ ? own_ : others_).count(static_cast<std::size_t>(kind), bytes);
    MemoryUse together = own_.most;
    raise(together += others_.most);
}

void MemoryMeter::begin_task(std::int32_t task, TaskKind kind) {
    const std::lock_guard lock(mutex_);
    const std::thread::id caller = std::this_thread::get_id();
    if (log_ != nullptr) log_->push_back({MemoryEvent::What::begin, MemoryKind::weights, 0, task, caller});
    if (kind == TaskKind::communication) return;
    computes_ = caller;
    own_ = {};
    others_ = {now_, now_};
}

void MemoryMeter::end_task(std::int32_t task, TaskKind kind) {
    const std::lock_guard lock(mutex_);
    if (log_ != nullptr) {
        log_->push_back({MemoryEvent::What::end, MemoryKind::weights, 0, task, std::this_thread::get_id()});
    }
    if (kind == TaskKind::compute) computes_ = {};
}

MemoryUse MemoryMeter::now() const {
    const std::lock_guard lock(mutex_);
    return now_;
}

MemoryUse MemoryMeter::high_water() const {
    const std::lock_guard lock(mutex_);
    return high_;
}

void MemoryMeter::begin_pass() {
    const std::lock_guard lock(mutex_);
    before_ = now_.of(MemoryKind::activations);
    most_ = before_;
}

std::int64_t MemoryMeter::most_activations() const {
    const std::lock_guard lock(mutex_);
    return most_;
}

std::int64_t MemoryMeter::activations_before() const {
    const std::lock_guard lock(mutex_);
    return before_;
}

}  // namespace foreshard::runtime
