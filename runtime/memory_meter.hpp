#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

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
    MemoryUse& operator+=(const MemoryUse& other);
};

/// An entry of a meter's log, in order: a change of what is held, or the begin or end of a task.
struct MemoryEvent {
    enum class What : std::uint8_t { change, begin, end };
    What what = What::change;
    MemoryKind kind = MemoryKind::weights;  ///< of a change
    std::int64_t bytes = 0;
    std::int32_t task = -1;  ///< of a begin or end
    std::thread::id thread;
};

/// Threads of one rank may call at a time.
///
/// While a compute task runs, other threads of the rank receive, send and gather; at which of its ops they do is
/// chance. The high water therefore counts the most that the task itself held beside the most that the others held
/// during it.
class MemoryMeter {
public:
    void count(MemoryKind kind, std::int64_t bytes);
    MemoryUse now() const;
    /// When the total was highest.
    MemoryUse high_water() const;
    /// Most activations since the last call of begin_pass, and at that call.
    void begin_pass();
    std::int64_t most_activations() const;
    std::int64_t activations_before() const;

    enum class TaskKind : std::uint8_t { compute, communication };
    /// The calling thread begins or ends a task. One compute task at a time.
    void begin_task(std::int32_t task, TaskKind kind);
    void end_task(std::int32_t task, TaskKind kind);

    /// Every later event is added to the log. Call it before any thread counts.
    void log_to(std::vector<MemoryEvent>* log) { log_ = log; }

private:
    /// What is held and what was most of it, since a compute task began.
    struct Part {
        MemoryUse now;
        MemoryUse most;
        void count(std::size_t kind, std::int64_t bytes);
    };

    void raise(const MemoryUse& use);

    mutable std::mutex mutex_;
    MemoryUse now_;
    MemoryUse high_;
    std::int64_t before_ = 0;
    std::int64_t most_ = 0;
    std::thread::id computes_;  ///< the thread whose compute task runs
    Part own_;                  ///< of that thread, since its task began
    Part others_;
    std::vector<MemoryEvent>* log_ = nullptr;
};

}  // namespace foreshard::runtime
