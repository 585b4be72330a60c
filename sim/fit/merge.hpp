#pragma once

#include <string>
#include <vector>

#include "sim/fit/measurements.hpp"

namespace foreshard {

/// Measurements of one machine as one. Ops, and what lies between them, are of all, since ranks compute alike whoever
/// carries their messages; communication, and what waits for it, of those with this way of communication, or of all
/// where none has it. Points keep to say which input they are of.
/// @param comm the merged machine.comm
Measurements merged(const std::vector<const Measurements*>& runs, const std::string& comm);

}  // namespace foreshard
