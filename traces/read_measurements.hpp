#pragma once

#include <string>

#include "sim/fit/measurements.hpp"

/// Inputs of `foreshard calibrate`, recognised by what they hold.
namespace foreshard {

/// Adds what a file measured: foreshard.microbench, a report of foreshard-run, or what nccl-tests printed (text or
/// JSON). The file is entered in `inputs` without its checksum; values that cannot be used are entered in `rejected`.
/// @throws UnreadableFile for a file of another kind; InputError for bad contents, and for inputs that do not go
/// together (other number format or other software than the inputs before)
void read_measurements(const std::string& file, Measurements& into);

}  // namespace foreshard
