#pragma once

#include "runtime/environment.hpp"
#include "sim/spec/json_specs.hpp"

namespace foreshard::runtime {

/// Machine, libraries and variables of a run, as in every file that the program writes.
OrderedJson environment_json(const Environment& environment);

}  // namespace foreshard::runtime
