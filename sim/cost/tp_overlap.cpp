#include "sim/cost/tp_overlap.hpp"

#include <algorithm>

namespace foreshard {

Seconds tiled_time(Seconds tile, Seconds collective, int tiles) {
    return std::max(tile * tiles, collective + tile);
}

Op row_tiles(const Op& op, int count, int tiles) {
    const double elements = static_cast<double>(op.m) * static_cast<double>(op.n) * static_cast<double>(op.batch);
    const double element = op.written.value / elements;
    Op tile = op;
    const double share = static_cast<double>(count) / tiles;
    tile.m = std::max<std::int64_t>(op.m * count / tiles, 1);
    tile.flops = op.flops * share;
    tile.written = op.written * share;
    tile.read = Bytes(element * static_cast<double>(tile.m * op.k + op.k * op.n) * static_cast<double>(op.batch));
    return tile;
}

int overlapped_gemm(const std::vector<Op>& ops, int at) {
    const Op& op = ops[static_cast<std::size_t>(at)];
    const int count = static_cast<int>(ops.size());
    const auto is_gemm = [&](int i) { return ops[static_cast<std::size_t>(i)].kind == OpKind::gemm; };
    if (op.axis != Axis::tp || op.exposed_share < 1.0) return -1;
    if (op.collective == CollectiveKind::all_gather) return at + 1 < count && is_gemm(at + 1) ? at + 1 : -1;
    if (op.collective != CollectiveKind::reduce_scatter) return -1;
    int before = at - 1;
    while (before >= 0 && ops[static_cast<std::size_t>(before)].kind == OpKind::collective) --before;
    return before >= 0 && is_gemm(before) ? before : -1;
}

}  // namespace foreshard
