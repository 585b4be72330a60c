#pragma once

#include "runtime/op_measure.hpp"
#include "sim/spec/json_specs.hpp"

namespace foreshard::runtime {

/// Adds `op_steps`, `ops`, `communication` and `overheads` of `measured` (docs/formats.md).
void add_op_measurement(const OpMeasurement& measurement, OrderedJson& measured);

}  // namespace foreshard::runtime
