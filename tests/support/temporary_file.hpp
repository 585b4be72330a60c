#pragma once

#include <string>

namespace foreshard::test {

/// Writes the text into a file of the tests' temporary folder; returns its path.
std::string write_file(const std::string& name, const std::string& text);

}  // namespace foreshard::test
