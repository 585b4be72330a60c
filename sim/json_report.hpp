#pragma once

#include <string>
#include <vector>

#include "sim/engine/evaluate.hpp"

namespace foreshard {

/// An input file as provenance names it.
struct InputFile {
    std::string file;
    std::string sha256;
};

struct Provenance {
    std::string command;
    std::vector<InputFile> inputs;
};

/// The report as JSON (docs/formats.md, schema_version 1.0): deterministic, numbers in shortest round-trip form, the
/// unit in each key, unknown numbers absent.
std::string report_json(const Evaluation& evaluation, const Provenance& provenance);

}  // namespace foreshard
