#pragma once

struct CUstream_st;

namespace foreshard::runtime::cuda {

/// A CUDA stream, for headers that are also compiled where there is no CUDA.
using Queue = CUstream_st*;

}  // namespace foreshard::runtime::cuda
