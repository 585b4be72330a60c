#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

#include <cuda_runtime_api.h>

/// Move-only handles of streams and events.
namespace foreshard::runtime::cuda {

struct DestroyStream {
    void operator()(cudaStream_t stream) const { cudaStreamDestroy(stream); }
};
struct DestroyEvent {
    void operator()(cudaEvent_t event) const { cudaEventDestroy(event); }
};

enum class Priority : std::uint8_t {
    normal,
    high,  ///< communication: its blocks are placed first when processors become free
};

enum class Timing : std::uint8_t {
    off,  ///< orders streams only, which is cheaper
    on,
};

/// A point on a stream.
class CudaEvent {
public:
    explicit CudaEvent(Timing timing = Timing::off);
    cudaEvent_t get() const { return event_.get(); }
    /// Blocks the host until what was recorded is done.
    void synchronize() const;

private:
    std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, DestroyEvent> event_;
};

/// Milliseconds between two events with timing that are done.
double milliseconds_between(const CudaEvent& begin, const CudaEvent& end);

/// An in-order queue of the device that was current when it was made. Never waits for the legacy default stream.
class CudaStream {
public:
    explicit CudaStream(Priority priority = Priority::normal);
    cudaStream_t get() const { return stream_.get(); }
    void record(const CudaEvent& event) const;
    /// Work issued from now on starts after the event's last record. The host goes on.
    void wait(const CudaEvent& event) const;
    /// Blocks the host until the stream is empty.
    void synchronize() const;

private:
    std::unique_ptr<std::remove_pointer_t<cudaStream_t>, DestroyStream> stream_;
};

}  // namespace foreshard::runtime::cuda
