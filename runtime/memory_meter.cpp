#include "runtime/memory_meter.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

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

void MemoryMeter::count(MemoryKind kind, std::int64_t bytes) {
    const std::lock_guard lock(mutex_);
    now_.bytes[static_cast<std::size_t>(kind)] += bytes;
    if (now_.total() > high_.total()) high_ = now_;
    most_ = std::max(most_, now_.of(MemoryKind::activations));
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

Buffer::Buffer(Device& device, MemoryMeter& meter, MemoryKind kind, std::int64_t rows, std::int64_t columns,
               ElementType type)
    : device_(&device), meter_(&meter), kind_(kind), tensor_{nullptr, rows, columns, type} {
    tensor_.data = device.allocate(static_cast<std::size_t>(bytes()));
    meter.count(kind, bytes());
    if (meter.poison() == Poison::on) device.fill(tensor_, std::numeric_limits<double>::quiet_NaN());
}

Buffer::Buffer(Buffer&& other) noexcept
    : device_(other.device_), meter_(other.meter_), kind_(other.kind_), tensor_(std::exchange(other.tensor_, {})) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
    if (this == &other) return *this;
    reset();
    device_ = other.device_;
    meter_ = other.meter_;
    kind_ = other.kind_;
    tensor_ = std::exchange(other.tensor_, {});
    return *this;
}

void Buffer::reset() {
    if (!tensor_) return;
    if (meter_->poison() == Poison::on) device_->fill(tensor_, std::numeric_limits<double>::quiet_NaN());
    meter_->count(kind_, -bytes());
    device_->release(tensor_.data, static_cast<std::size_t>(bytes()));
    tensor_ = {};
}

void Buffer::count_as(MemoryKind kind) {
    if (!tensor_ || kind == kind_) return;
    // Down first: a change of kind is no new memory.
    meter_->count(kind_, -bytes());
    kind_ = kind;
    meter_->count(kind_, bytes());
}

}  // namespace foreshard::runtime
