#pragma once

#include <atomic>
#include <string>
#include <vector>

/// Programs that a command starts beside itself.
namespace foreshard::cli {

struct ChildResult {
    int code = -1;           ///< exit status, 128 + signal where one ended it
    bool stopped = false;    ///< `stop` was set, and the child was told to end
    std::string last_lines;  ///< of what it wrote to stderr
};

/// Runs a program to its end, with its output thrown away and its stderr kept. When `stop` gets true it is sent
/// SIGTERM, and after a few seconds SIGKILL.
/// @param program a path, or a name that is looked up in PATH
/// @throws InputError naming the program when it cannot be started
ChildResult run_child(const std::vector<std::string>& arguments, const std::atomic<bool>& stop);

/// A program of that name: where `variable` points to, if it is set, beside this program, or in PATH. Empty: none.
/// @throws InputError when the variable names no program
std::string find_program(const std::string& name, const char* variable = nullptr);

}  // namespace foreshard::cli
