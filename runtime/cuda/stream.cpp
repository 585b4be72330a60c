#include "runtime/cuda/stream.hpp"

#include "runtime/cuda/check.hpp"

namespace foreshard::runtime::cuda {

CudaEvent::CudaEvent(Timing timing) {
    cudaEvent_t event = nullptr;
    check(cudaEventCreateWithFlags(&event, timing == Timing::on ? cudaEventDefault : cudaEventDisableTiming),
          "cudaEventCreateWithFlags");
    event_.reset(event);
}

void CudaEvent::synchronize() const {
    check(cudaEventSynchronize(event_.get()), "cudaEventSynchronize");
}

double milliseconds_between(const CudaEvent& begin, const CudaEvent& end) {
    float milliseconds = 0.0F;
    check(cudaEventElapsedTime(&milliseconds, begin.get(), end.get()), "cudaEventElapsedTime");
    return static_cast<double>(milliseconds);
}

CudaStream::CudaStream(Priority priority) {
    int least = 0;
    int greatest = 0;
    check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "cudaDeviceGetStreamPriorityRange");
    cudaStream_t stream = nullptr;
    check(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, priority == Priority::high ? greatest : least),
          "cudaStreamCreateWithPriority");
    stream_.reset(stream);
}

void CudaStream::record(const CudaEvent& event) const {
    check(cudaEventRecord(event.get(), stream_.get()), "cudaEventRecord");
}

void CudaStream::wait(const CudaEvent& event) const {
    check(cudaStreamWaitEvent(stream_.get(), event.get(), 0), "cudaStreamWaitEvent");
}

void CudaStream::synchronize() const {
    check(cudaStreamSynchronize(stream_.get()), "cudaStreamSynchronize");
}

}  // namespace foreshard::runtime::cuda
