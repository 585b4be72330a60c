#pragma once

#include <mutex>
#include <span>
#include <vector>

#include "runtime/arena.hpp"
#include "runtime/device.hpp"
#include "runtime/memory_meter.hpp"

/// The memory that a rank's tensors lie in.
namespace foreshard::runtime {

/// Whether memory outside the lifetime of tensors is filled with NaN, so that a use of it spoils the result.
enum class Poison : std::uint8_t { off, on };

struct PoolUse {
    std::size_t reserved = 0;  ///< of the device, in all ranges
    std::size_t most = 0;      ///< of the ranges together: most that blocks took, rounded up to their alignment
    int ranges = 0;
};

/// One range of device memory, reserved at the start, in which an arena places tensors. What does not fit gets a range
/// of its own, which is kept: how many there are shows whether the first was large enough. Outside the lifetime of
/// tensors the device forbids uses (Device::forbid) and, with Poison::on, it holds NaN.
///
/// Threads of one rank may call at a time.
class MemoryPool {
public:
    /// @throws OutOfMemory
    MemoryPool(Device& device, std::size_t bytes, Poison poison = Poison::on);
    ~MemoryPool();
    MemoryPool(const MemoryPool&) = delete;
    MemoryPool& operator=(const MemoryPool&) = delete;

    /// @throws OutOfMemory
    std::byte* allocate(std::size_t bytes);
    void release(std::byte* data, std::size_t bytes);

    /// All work that was in queues [0, queues) is done: nobody has to wait for it.
    void settle(int queues);

    Device& device() { return device_; }
    MemoryMeter& meter() { return meter_; }
    const MemoryMeter& meter() const { return meter_; }
    PoolUse use() const;

private:
    struct Reserved {
        std::byte* data;
        std::size_t bytes;
        Arena arena;
    };

    void reserve(std::size_t bytes);
    std::byte* place(std::size_t bytes, int queue);
    void fill(std::byte* data, std::size_t bytes);

    Device& device_;
    Poison poison_;
    MemoryMeter meter_;
    mutable std::mutex mutex_;
    std::vector<Reserved> ranges_;
};

/// later: from begin_counting() on. What is received takes no room in the count while it is waited for.
enum class Counted : std::uint8_t { at_once, later };

/// Device memory of one tensor, counted while it lives.
class Buffer {
public:
    Buffer() = default;
    /// Of the device's type().
    Buffer(MemoryPool& pool, MemoryKind kind, std::int64_t rows, std::int64_t columns,
           Counted counted = Counted::at_once)
        : Buffer(pool, kind, rows, columns, pool.device().type(), counted) {}
    Buffer(MemoryPool& pool, MemoryKind kind, std::int64_t rows, std::int64_t columns, ElementType type,
           Counted counted = Counted::at_once);
    Buffer(Buffer&& other) noexcept;
    Buffer& operator=(Buffer&& other) noexcept;
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    ~Buffer() { reset(); }

    explicit operator bool() const { return static_cast<bool>(tensor_); }
    Tensor tensor() const { return tensor_; }
    void reset();
    void begin_counting();
    /// Begins counting too.
    void count_as(MemoryKind kind);
    std::int64_t bytes() const { return tensor_.bytes(); }
    std::span<std::byte> span() const { return {tensor_.data, static_cast<std::size_t>(bytes())}; }

private:
    MemoryPool* pool_ = nullptr;
    MemoryKind kind_ = MemoryKind::activations;
    bool counted_ = false;
    Tensor tensor_;
};

}  // namespace foreshard::runtime
