#pragma once

#include "cli/flags.hpp"
#include "sim/json_report.hpp"

namespace foreshard::cli {

/// The files that the flags and their job file name (catalogue ids are part of the program), with their SHA-256.
/// @throws UnreadableFile
std::vector<InputFile> input_files(const JobFlags& flags);

/// SHA-256 of a file's contents, in hexadecimal. @throws UnreadableFile
std::string file_sha256(const std::string& name);

/// Arguments as a shell would take them.
std::string command_line(int count, const char* const* arguments);

}  // namespace foreshard::cli
