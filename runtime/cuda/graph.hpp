#pragma once

#include <memory>
#include <type_traits>

#include "runtime/cuda/stream.hpp"

namespace foreshard::runtime::cuda {

struct DestroyGraph {
    void operator()(cudaGraph_t graph) const { cudaGraphDestroy(graph); }
};
struct DestroyGraphExec {
    void operator()(cudaGraphExec_t exec) const { cudaGraphExecDestroy(exec); }
};

/// What is issued between begin and end becomes a graph, which is then started at once. A run like the one before
/// updates the executable graph (numbers such as the step's count are parameters of kernels); another one makes a new
/// one. What the host does to issue stays; what a graph saves is the device's time between kernels.
class StepGraph {
public:
    void begin(const CudaStream& origin);
    /// Ends the capture and starts the graph on the origin.
    void end(const CudaStream& origin);
    bool capturing() const { return capturing_; }

private:
    std::unique_ptr<std::remove_pointer_t<cudaGraphExec_t>, DestroyGraphExec> exec_;
    bool capturing_ = false;
};

}  // namespace foreshard::runtime::cuda
