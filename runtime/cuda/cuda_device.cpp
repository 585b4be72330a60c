#include "runtime/cuda/cuda_device.hpp"

#include <stdexcept>

#include <fmt/format.h>
#include <nvtx3/nvToolsExt.h>

#include "runtime/cuda/check.hpp"
#include "runtime/cuda/current_queue.hpp"
#include "runtime/cuda/numbers.hpp"

namespace foreshard::runtime::cuda {

namespace {

/// Before anything is made on it.
const CudaOptions& chosen(const CudaOptions& options) {
    check(cudaSetDevice(options.ordinal), fmt::format("cudaSetDevice({})", options.ordinal));
    return options;
}

/// Every queue from the first use on. Compute gives way to communication.
void add_streams(std::vector<CudaStream>& streams, int queue) {
    while (streams.size() <= static_cast<std::size_t>(queue)) {
        streams.emplace_back(streams.empty() ? Priority::normal : Priority::high);
    }
}

}  // namespace

std::string missing_gpu() {
    int count = 0;
    const cudaError_t status = cudaGetDeviceCount(&count);
    cudaGetLastError();  // the answer is no failure of a later call
    if (status == cudaSuccess && count > 0) return "";
    if (status == cudaSuccess || status == cudaErrorNoDevice) return "no GPU is visible (see CUDA_VISIBLE_DEVICES)";
    if (status == cudaErrorInsufficientDriver) {
        return fmt::format("no NVIDIA driver was found, or one that is older than CUDA {}.{} needs",
                           CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
    }
    return fmt::format("the driver answers {} ({})", cudaGetErrorName(status), cudaGetErrorString(status));
}

int gpu_count() {
    int count = 0;
    check(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
    return count;
}

CudaDevice::CudaDevice(const CudaOptions& options)
    : KernelDevice(options.type), options_(chosen(options)), blas_(options.math) {
    CudaDevice::use_queue(0);
}

/// What was issued may still use what goes away now.
CudaDevice::~CudaDevice() {
    for (const CudaStream& stream : streams_) cudaStreamSynchronize(stream.get());
}

void CudaDevice::begin_run(Recording recording) {
    use_queue(0);
    timed_ = recording == Recording::on;
    if (timed_) times_.begin(stream());
    if (options_.capture == Capture::on) graph().begin(stream());
}

void CudaDevice::end_run() {
    use_queue(0);
    if (graph().capturing()) graph().end(stream());
    stream().synchronize();
    if (timed_) times_.end(stream());
    staging_.reset();
}

void CudaDevice::use_queue(int queue) {
    add_streams(streams_, queue);
    queue_ = queue;
    set_current_queue(stream().get());
}

void CudaDevice::record(int mark) {
    while (marks_.size() <= static_cast<std::size_t>(mark)) marks_.emplace_back();
    stream().record(marks_[static_cast<std::size_t>(mark)]);
}

void CudaDevice::wait(int mark) {
    stream().wait(marks_.at(static_cast<std::size_t>(mark)));
}

void CudaDevice::stamp(int index) {
    times_.stamp(index, stream(), graph().capturing());
}

std::vector<std::chrono::steady_clock::time_point> CudaDevice::stamps(int count) {
    return times_.times(count);
}

void CudaDevice::enter(const std::string& name) {
    nvtxRangePushA(name.c_str());
}

void CudaDevice::leave() {
    nvtxRangePop();
}

void CudaDevice::await(int queue) {
    if (queue == queue_) return;
    streams_.at(static_cast<std::size_t>(queue)).record(handover_);
    stream().wait(handover_);
}

std::byte* CudaDevice::allocate(std::size_t bytes) {
    void* data = nullptr;
    const cudaError_t status = cudaMalloc(&data, bytes);
    if (status == cudaErrorMemoryAllocation) {
        cudaGetLastError();  // told by the exception, not by a later call
        throw OutOfMemory(bytes);
    }
    check(status, "cudaMalloc");
    return static_cast<std::byte*>(data);
}

void CudaDevice::release(std::byte* data, std::size_t /*bytes*/) {
    cudaFree(data);
}

void CudaDevice::store(Tensor to, std::span<const double> values) {
    const std::vector<std::byte> bytes = encode(values, to.type);
    check(cudaMemcpyAsync(to.data, bytes.data(), bytes.size(), cudaMemcpyHostToDevice, stream_in_use()),
          "cudaMemcpyAsync");
    stream().synchronize();
}

std::vector<double> CudaDevice::load(Tensor from) const {
    std::vector<std::byte> bytes(static_cast<std::size_t>(from.bytes()));
    check(cudaMemcpyAsync(bytes.data(), from.data, bytes.size(), cudaMemcpyDeviceToHost, stream_in_use()),
          "cudaMemcpyAsync");
    stream().synchronize();
    return decode(bytes, from.type);
}

void CudaDevice::multiply(const Gemm& gemm) {
    if (queue_ != 0) throw std::logic_error("matrix products share a workspace, which is the compute queue's");
    blas_.multiply(gemm, stream_in_use());
}

const std::int32_t* CudaDevice::upload(std::span<const std::int32_t> ids) {
    return staging_.upload(ids, stream_in_use());
}

void CudaDevice::copy_bytes(const std::byte* from, std::byte* to, std::size_t bytes) {
    if (bytes == 0 || from == to) return;
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream_in_use()), "cudaMemcpyAsync");
}

}  // namespace foreshard::runtime::cuda
