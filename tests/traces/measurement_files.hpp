#pragma once

#include <string>

#include "sim/fit/measurements.hpp"

namespace foreshard::test {

/// Writes a file of this name into a folder for tests. @return its path
std::string write_measurement(const std::string& name, const std::string& text);

/// What read_measurements() makes of a file of this name.
Measurements measurements_of(const std::string& name, const std::string& text);

/// Fails the calling test unless the file is refused: at this place, with a text that holds `reason`.
void expect_refused_measurement(const std::string& name, const std::string& text, const std::string& place,
                                const std::string& reason);

/// Reads the text with random edits, many times: they are read, or refused as bad input; nothing else happens.
void read_damaged(const std::string& name, const std::string& text);

}  // namespace foreshard::test
