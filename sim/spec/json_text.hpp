#pragma once

#include <string>

#include "sim/spec/json_reader.hpp"

namespace foreshard {

/// Indented objects; arrays of numbers wrapped, arrays of anything else an element a line: a dump of the library would
/// put every number on a line of its own. Ends with a line break.
std::string wrapped_text(const OrderedJson& value);

}  // namespace foreshard
