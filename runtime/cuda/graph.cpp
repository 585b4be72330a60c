#include "runtime/cuda/graph.hpp"

#include "runtime/cuda/check.hpp"

namespace foreshard::runtime::cuda {

/// Relaxed: memory that a first step needs may be made while it is captured.
void StepGraph::begin(const CudaStream& origin) {
    check(cudaStreamBeginCapture(origin.get(), cudaStreamCaptureModeRelaxed), "cudaStreamBeginCapture");
    capturing_ = true;
}

void StepGraph::end(const CudaStream& origin) {
    capturing_ = false;
    cudaGraph_t captured = nullptr;
    check(cudaStreamEndCapture(origin.get(), &captured), "cudaStreamEndCapture");
    const std::unique_ptr<std::remove_pointer_t<cudaGraph_t>, DestroyGraph> graph(captured);
    if (exec_) {
        cudaGraphExecUpdateResultInfo info{};
        if (cudaGraphExecUpdate(exec_.get(), graph.get(), &info) != cudaSuccess) {
            cudaGetLastError();  // the update's refusal is no failure
            exec_.reset();
        }
    }
    if (!exec_) {
        cudaGraphExec_t exec = nullptr;
        check(cudaGraphInstantiate(&exec, graph.get(), 0), "cudaGraphInstantiate");
        exec_.reset(exec);
    }
    check(cudaGraphLaunch(exec_.get(), origin.get()), "cudaGraphLaunch");
}

}  // namespace foreshard::runtime::cuda
