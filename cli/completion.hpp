#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace foreshard::cli {

/// A script that completes commands and flags: bash, zsh or fish. @throws InputError for another shell
std::string completion_script(const CLI::App& app, const std::string& shell);

}  // namespace foreshard::cli
