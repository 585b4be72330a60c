#pragma once

#include <array>

#include "runtime/cuda/blas.hpp"
#include "runtime/cuda/event_times.hpp"
#include "runtime/cuda/graph.hpp"
#include "runtime/cuda/kernel_device.hpp"
#include "runtime/cuda/staging.hpp"

namespace foreshard::runtime::cuda {

enum class Capture : std::uint8_t {
    off,
    on,  ///< a run becomes a CUDA graph
};

struct CudaOptions {
    int ordinal = 0;  ///< of the GPU, among those that are visible
    ElementType type = ElementType::fp32;
    MathMode math = MathMode::exact;
    Capture capture = Capture::off;
};

/// One rank on a GPU; several may share one. Made and used on the rank's thread.
class CudaDevice final : public KernelDevice {
public:
    /// @throws DeviceError, OutOfMemory
    explicit CudaDevice(const CudaOptions& options);
    ~CudaDevice() override;

    MathMode math() const override { return options_.math; }
    bool runs_behind() const override { return true; }
    void begin_run(Recording recording) override;
    void end_run() override;
    void use_queue(int queue) override;
    int queue() const override { return queue_; }
    void await(int queue) override;
    void record(int mark) override;
    void wait(int mark) override;
    void stamp(int index) override;
    std::vector<std::chrono::steady_clock::time_point> stamps(int count) override;
    void enter(const std::string& name) override;
    void leave() override;

    std::byte* allocate(std::size_t bytes) override;
    void release(std::byte* data, std::size_t bytes) override;
    void store(Tensor to, std::span<const double> values) override;
    std::vector<double> load(Tensor from) const override;

    Queue stream_in_use() const override { return stream().get(); }
    const CudaStream& stream() const { return streams_[static_cast<std::size_t>(queue_)]; }
    int ordinal() const { return options_.ordinal; }

protected:
    void multiply(const Gemm& gemm) override;
    bool adds_bias() const override { return Blas::adds_bias(type()); }
    const std::int32_t* upload(std::span<const std::int32_t> ids) override;
    void copy_bytes(const std::byte* from, std::byte* to, std::size_t bytes) override;

private:
    StepGraph& graph() { return graphs_[timed_ ? 1 : 0]; }

    CudaOptions options_;
    std::vector<CudaStream> streams_;  ///< per queue
    int queue_ = 0;
    std::vector<CudaEvent> marks_;
    CudaEvent handover_;
    Blas blas_;
    Staging staging_;
    EventTimes times_;
    bool timed_ = false;
    std::array<StepGraph, 2> graphs_;  ///< of runs without times, and with
};

/// Why no GPU can be used here; empty when one can.
std::string missing_gpu();
int gpu_count();

}  // namespace foreshard::runtime::cuda
