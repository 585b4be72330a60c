#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string_view>

#include "runtime/device.hpp"
#include "runtime/tensor.hpp"

/// Counts what a rank really holds, tensor by tensor.
namespace foreshard::runtime {

enum class MemoryKind : std::uint8_t {
    weights,
    gradients,
    optimizer,
    activations,  ///< saved tensors and working set of passes
    messages,     ///< received and not yet taken, or waiting to be sent
};
inline constexpr std::size_t memory_kinds = 5;
std::string_view to_string(MemoryKind kind);

struct MemoryUse {
    std::array<std::int64_t, memory_kinds> bytes{};
    std::int64_t total() const;
    std::int64_t of(MemoryKind kind) const { return bytes[static_cast<std::size_t>(kind)]; }
};

/// Whether fresh and freed tensors are filled with NaN, so that a use outside their lifetime spoils the result.
enum class Poison : std::uint8_t { off, on };

/// Threads of one rank may count at a time.
class MemoryMeter {
public:
    explicit MemoryMeter(Poison poison = Poison::on) : poison_(poison) {}
    Poison poison() const { return poison_; }
    void count(MemoryKind kind, std::int64_t bytes);
    MemoryUse now() const;
    /// When the total was highest.
    MemoryUse high_water() const;
    /// Most activations since the last call of begin_pass, and at that call.
    void begin_pass();
    std::int64_t most_activations() const;
    std::int64_t activations_before() const;

private:
    Poison poison_;
    mutable std::mutex mutex_;
    MemoryUse now_;
    MemoryUse high_;
    std::int64_t before_ = 0;
    std::int64_t most_ = 0;
};

/// Device memory of one tensor, counted while it lives. Fresh and freed memory is filled with NaN, so that a use
/// outside its lifetime spoils the result; address sanitizers see it too.
class Buffer {
public:
    Buffer() = default;
    /// Of the device's type().
    Buffer(Device& device, MemoryMeter& meter, MemoryKind kind, std::int64_t rows, std::int64_t columns)
        : Buffer(device, meter, kind, rows, columns, device.type()) {}
    Buffer(Device& device, MemoryMeter& meter, MemoryKind kind, std::int64_t rows, std::int64_t columns,
           ElementType type);
    Buffer(Buffer&& other) noexcept;
    Buffer& operator=(Buffer&& other) noexcept;
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    ~Buffer() { reset(); }

    explicit operator bool() const { return static_cast<bool>(tensor_); }
    Tensor tensor() const { return tensor_; }
    void reset();
    void count_as(MemoryKind kind);
    std::int64_t bytes() const { return tensor_.bytes(); }
    std::span<std::byte> span() const { return {tensor_.data, static_cast<std::size_t>(bytes())}; }

private:
    Device* device_ = nullptr;
    MemoryMeter* meter_ = nullptr;
    MemoryKind kind_ = MemoryKind::activations;
    Tensor tensor_;
};

}  // namespace foreshard::runtime
