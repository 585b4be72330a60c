#pragma once

#include <deque>

#include "runtime/cuda/kernel_device.hpp"

namespace foreshard::runtime::test {

/// The GPU's kernels on the processor: the same source, one call after another. Matrix products are plain loops, in the
/// state's type. It blocks: queues and marks mean nothing to it.
class EmulatedDevice : public cuda::KernelDevice {
public:
    /// @param threads that stand for those of a block; each starts with every kernel, so that one is for whole models
    explicit EmulatedDevice(ElementType type, int threads = 1);

    void end_run() override { uploads_.clear(); }
    void stamp(int index) override;
    std::vector<std::chrono::steady_clock::time_point> stamps(int count) override;
    std::byte* allocate(std::size_t bytes) override;
    void release(std::byte* data, std::size_t bytes) override;
    void store(Tensor to, std::span<const double> values) override;
    std::vector<double> load(Tensor from) const override;
    cuda::Queue stream_in_use() const override { return nullptr; }

protected:
    void multiply(const cuda::Gemm& gemm) override;
    bool adds_bias() const override { return type() != ElementType::fp64; }
    const std::int32_t* upload(std::span<const std::int32_t> ids) override;
    void copy_bytes(const std::byte* from, std::byte* to, std::size_t bytes) override;

private:
    std::vector<std::chrono::steady_clock::time_point> stamps_;
    std::deque<std::vector<std::int32_t>> uploads_;
};

}  // namespace foreshard::runtime::test
