#pragma once

#include <string>

namespace foreshard::cli {

/// Writes a result to a file, or to standard output for "-". @throws InputError when it cannot be written
void write_output(const std::string& path, const std::string& text);

}  // namespace foreshard::cli
