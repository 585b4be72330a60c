#pragma once

#include <vector>

#include "sim/cost/cost_model.hpp"

/// Tensor-parallel collectives under the GEMMs that need or make their data (Megatron-LM --tp-comm-overlap,
/// Transformer Engine's ring exchange of user buffers).
namespace foreshard {

/// A GEMM in `tiles` tiles of rows, with an all-gather before or a reduce-scatter after it exchanged tile by tile. The
/// first gathered tile (the last reduced one) is the rank's own, so `tiles` - 1 exchanges take `collective` in all and
/// tile i can start after i of them: max over i of i c/(q-1) + (q-i) g, which is max(q g, c + g) for g a tile's time.
Seconds tiled_time(Seconds tile, Seconds collective, int tiles);

/// Tiles run side by side on three streams and fill the device together (Transformer Engine
/// comm_gemm_overlap.h, NVTE_COMM_OVERLAP_MAX_STREAMS).
inline constexpr int tile_streams = 3;

/// `count` of `tiles` equal parts of the GEMM's rows as one GEMM. Precondition: op is a GEMM.
Op row_tiles(const Op& op, int count, int tiles);

/// Index of the GEMM that the tensor-parallel collective at `at` can run under: the next op for an all-gather, the
/// nearest one before for a reduce-scatter with only collectives between; -1 if there is none.
int overlapped_gemm(const std::vector<Op>& ops, int at);

}  // namespace foreshard
