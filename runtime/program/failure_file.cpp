#include "runtime/program/failure_file.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include <fmt/format.h>

#include "cli/output.hpp"
#include "sim/error.hpp"

namespace foreshard::runtime {

namespace {

/// mpirun leaves processes a second from being told to end until they are killed.
constexpr std::chrono::milliseconds turn{20};
constexpr int turns = 20;

}  // namespace

FailureFile::FailureFile(std::string path) : path_(std::move(path)), before_(state()) {}

std::optional<FailureFile::State> FailureFile::state() const {
    std::error_code none;
    const State found{std::filesystem::last_write_time(path_, none), std::filesystem::file_size(path_, none)};
    if (none) return std::nullopt;
    return found;
}

void FailureFile::write(int rank, const std::string& text) const {
    if (path_ == "-") {
        if (rank == 0) cli::write_output(path_, text);
        return;
    }
    std::this_thread::sleep_for(turn * std::min(rank, turns));
    if (rank > 0 && state() != before_) return;
    const std::string part = fmt::format("{}.part{}", path_, rank);
    cli::write_output(part, text);
    std::error_code failed;
    std::filesystem::rename(part, path_, failed);
    if (failed) throw InputError(path_, "", "cannot be written: " + failed.message());
}

}  // namespace foreshard::runtime
