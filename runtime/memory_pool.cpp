#include "runtime/memory_pool.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace foreshard::runtime {

namespace {

constexpr std::size_t alignment = 256;  ///< what cudaMalloc keeps to, and more than any vector unit asks for

}  // namespace

MemoryPool::MemoryPool(Device& device, std::size_t bytes, Poison poison) : device_(device), poison_(poison) {
    reserve(bytes);
}

MemoryPool::~MemoryPool() {
    for (const Reserved& range : ranges_) {
        device_.permit(range.data, range.bytes);
        device_.release(range.data, range.bytes);
    }
}

void MemoryPool::reserve(std::size_t bytes) {
    const std::size_t whole = (std::max(bytes, std::size_t{1}) + alignment - 1) / alignment * alignment;
    std::byte* data = device_.allocate(whole);
    if (poison_ == Poison::on) fill(data, whole);
    device_.forbid(data, whole);
    ranges_.push_back({data, whole, Arena(whole, alignment)});
}

void MemoryPool::fill(std::byte* data, std::size_t bytes) {
    const auto elements = static_cast<std::int64_t>(bytes / element_bytes(device_.type()));
    device_.fill({data, 1, elements, device_.type()}, std::numeric_limits<double>::quiet_NaN());
}

/// Nothing when no range has room.
std::byte* MemoryPool::place(std::size_t bytes, int queue) {
    for (Reserved& range : ranges_) {
        const auto placed = range.arena.allocate(bytes + device_.gap(), queue);
        if (!placed) continue;
        for (const int used : placed->await) device_.await(used);
        return range.data + placed->offset;
    }
    return nullptr;
}

std::byte* MemoryPool::allocate(std::size_t bytes) {
    std::byte* data = nullptr;
    {
        const std::lock_guard lock(mutex_);
        const int queue = device_.queue();
        data = place(bytes, queue);
        if (data == nullptr) {
            reserve(bytes + device_.gap());
            data = place(bytes, queue);
        }
    }
    device_.permit(data, bytes);
    if (poison_ == Poison::on) fill(data, bytes);
    return data;
}

void MemoryPool::release(std::byte* data, std::size_t bytes) {
    if (poison_ == Poison::on) fill(data, bytes);
    device_.forbid(data, bytes);
    const std::lock_guard lock(mutex_);
    const auto range = std::find_if(ranges_.begin(), ranges_.end(),
                                    [data](const Reserved& r) { return data >= r.data && data < r.data + r.bytes; });
    range->arena.free(static_cast<std::size_t>(data - range->data), device_.queue());
}

void MemoryPool::settle(int queues) {
    const std::lock_guard lock(mutex_);
    for (Reserved& range : ranges_) {
        for (int queue = 0; queue < queues; ++queue) range.arena.settle(queue);
    }
}

PoolUse MemoryPool::use() const {
    const std::lock_guard lock(mutex_);
    PoolUse use;
    for (const Reserved& range : ranges_) {
        use.reserved += range.bytes;
        use.most += range.arena.most_used();
        ++use.ranges;
    }
    return use;
}

Buffer::Buffer(MemoryPool& pool, MemoryKind kind, std::int64_t rows, std::int64_t columns, ElementType type,
               Counted counted)
    : pool_(&pool), kind_(kind), tensor_{nullptr, rows, columns, type} {
    tensor_.data = pool.allocate(static_cast<std::size_t>(bytes()));
    if (counted == Counted::at_once) begin_counting();
}

Buffer::Buffer(Buffer&& other) noexcept
    : pool_(other.pool_), kind_(other.kind_), counted_(other.counted_), tensor_(std::exchange(other.tensor_, {})) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
    if (this == &other) return *this;
    reset();
    pool_ = other.pool_;
    kind_ = other.kind_;
    counted_ = other.counted_;
    tensor_ = std::exchange(other.tensor_, {});
    return *this;
}

void Buffer::reset() {
    if (!tensor_) return;
    if (counted_) pool_->meter().count(kind_, -bytes());
    counted_ = false;
    pool_->release(tensor_.data, static_cast<std::size_t>(bytes()));
    tensor_ = {};
}

void Buffer::begin_counting() {
    if (counted_) return;
    counted_ = true;
    pool_->meter().count(kind_, bytes());
}

void Buffer::count_as(MemoryKind kind) {
    if (!tensor_ || (counted_ && kind == kind_)) return;
    // Down first: a change of kind is no new memory.
    if (counted_) pool_->meter().count(kind_, -bytes());
    kind_ = kind;
    counted_ = false;
    begin_counting();
}

}  // namespace foreshard::runtime
