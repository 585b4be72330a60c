#include "sim/plan/data_parallel/zero_estimates.hpp"

#include <cassert>

namespace foreshard {

namespace {

ByteCount stage_two(const ZeroShape& shape, ZeroConvention convention) {
    switch (convention) {
        case ZeroConvention::deepspeed:
            return 4 * shape.parameters + 16 * shape.parameters / shape.gpus;
        case ZeroConvention::sharded_gradients:
            return 2 * shape.parameters + 14 * shape.parameters / shape.gpus;
        case ZeroConvention::fp32_gradients:
            return 2 * shape.parameters + 18 * shape.parameters / shape.gpus;
    }
    return 0;
}

}  // namespace

ByteCount zero_estimate(const ZeroShape& shape, int stage, ZeroOffload offload, ZeroConvention convention) {
    assert(stage == 2 || stage == 3);
    if (stage == 2) return offload == ZeroOffload::none ? stage_two(shape, convention) : 2 * shape.parameters;
    const ByteCount largest = 4 * shape.largest_layer;
    switch (offload) {
        case ZeroOffload::none:
            return largest + 18 * shape.parameters / shape.gpus;
        case ZeroOffload::optimizer:
            return largest + 2 * shape.parameters / shape.gpus;
        case ZeroOffload::optimizer_and_parameters:
            return largest;
    }
    return 0;
}

}  // namespace foreshard
