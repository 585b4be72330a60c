#pragma once

#include <map>
#include <string>

#include "sim/spec/json_reader.hpp"

namespace foreshard {

/// Numbers and booleans (0 or 1) of an object by name; those of objects inside it as "exposed_comm_ms.tp". Text and
/// lists are no figures.
std::map<std::string, double> figures_of(const Json& object, const std::string& prefix = "");

}  // namespace foreshard
