#pragma once

#include "sim/result/report.hpp"
#include "sim/spec/json_reader.hpp"

namespace foreshard {

/// The `summary` of reports and searches (docs/formats.md).
OrderedJson summary_json(const Summary& summary);

}  // namespace foreshard
