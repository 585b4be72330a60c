#include "runtime/nccl/watchdog.hpp"

#include <fmt/format.h>

#include "runtime/cuda/check.hpp"

namespace foreshard::runtime::nccl {

using Clock = std::chrono::steady_clock;

Watchdog::Watchdog(int device, int rank, CommunicatorSet& communicators, std::chrono::duration<double> timeout,
                   std::function<void()> job_failed, std::function<void(const Failure&)> failed)
    : device_(device),
      rank_(rank),
      communicators_(communicators),
      timeout_(timeout),
      job_failed_(std::move(job_failed)),
      failed_(std::move(failed)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

Watchdog::~Watchdog() {
    thread_.request_stop();
    thread_.join();
}

cuda::CudaEvent Watchdog::take_event() {
    if (idle_.empty()) return cuda::CudaEvent(cuda::Timing::off);
    cuda::CudaEvent event = std::move(idle_.back());
    idle_.pop_back();
    return event;
}

void Watchdog::watch(cudaStream_t stream, const std::string& call) {
    cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    cuda::check(cudaStreamIsCapturing(stream, &capture), "cudaStreamIsCapturing");
    if (capture != cudaStreamCaptureStatusNone) return;
    const std::lock_guard<std::mutex> held(mutex_);
    Watched watched{take_event(), call, Clock::now()};
    cuda::check(cudaEventRecord(watched.event.get(), stream), "cudaEventRecord");
    calls_[stream].push_back(std::move(watched));
}

std::optional<Failure> Watchdog::failure() {
    const std::lock_guard<std::mutex> held(mutex_);
    return failure_;
}

void Watchdog::fail(const Failure& failure) {
    {
        const std::lock_guard<std::mutex> held(mutex_);
        if (failure_) return;
        failure_ = failure;
    }
    communicators_.abort();
    failed_(failure);
}

std::optional<Failure> Watchdog::look_at_calls() {
    const std::lock_guard<std::mutex> held(mutex_);
    const Clock::time_point now = Clock::now();
    for (auto& [stream, calls] : calls_) {
        while (!calls.empty()) {
            Watched& first = calls.front();
            const cudaError_t state = cudaEventQuery(first.event.get());
            if (state == cudaErrorNotReady) {
                if (now - first.since < timeout_) break;
                return Failure{
                    rank_, fmt::format("rank {}: {} did not end within {:g} s", rank_, first.call, timeout_.count())};
            }
            if (state != cudaSuccess) {
                return Failure{rank_, fmt::format("rank {}: {} ended with {} ({})", rank_, first.call,
                                                  cudaGetErrorName(state), cudaGetErrorString(state))};
            }
            idle_.push_back(std::move(first.event));
            calls.pop_front();
            if (!calls.empty()) calls.front().since = std::max(calls.front().since, now);
        }
    }
    return std::nullopt;
}

std::optional<Failure> Watchdog::look() {
    try {
        job_failed_();
    } catch (const TransportError& error) {
        return Failure{error.rank(), error.what()};
    }
    const std::string error = communicators_.asynchronous_error();
    if (!error.empty()) return Failure{rank_, fmt::format("rank {}: {}", rank_, error)};
    return look_at_calls();
}

void Watchdog::run(const std::stop_token& stop) {
    constexpr std::chrono::milliseconds pause{200};
    cudaSetDevice(device_);
    // Asking for events must not spoil a capture on the launch thread.
    cudaStreamCaptureMode mode = cudaStreamCaptureModeThreadLocal;
    cudaThreadExchangeStreamCaptureMode(&mode);
    std::mutex sleeping;
    while (!stop.stop_requested()) {
        if (const auto found = look()) return fail(*found);
        std::unique_lock<std::mutex> held(sleeping);
        wake_.wait_for(held, stop, pause, [] { return false; });
    }
}

}  // namespace foreshard::runtime::nccl
