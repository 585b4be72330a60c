#pragma once

#include "cli/flags.hpp"
#include "sim/json_report.hpp"

namespace foreshard::cli {

/// The files that the flags name (catalogue ids are part of the program), with their SHA-256.
/// @throws UnreadableFile
std::vector<InputFile> input_files(const JobFlags& flags);

/// Arguments as a shell would take them.
std::string command_line(int count, const char* const* arguments);

}  // namespace foreshard::cli
