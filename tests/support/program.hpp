#pragma once

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

/// Programs as scripts see them: exit codes, and what goes to which stream.
namespace foreshard::test {

struct Outcome {
    int code = -1;
    std::string out;
    std::string err;
};

std::string read_file(const std::filesystem::path& path);

/// Runs a program in a folder of its own for every test, because tests run side by side.
class ProgramTest : public ::testing::Test {
protected:
    explicit ProgramTest(std::string program) : program_(std::move(program)) {}
    void SetUp() override;
    void TearDown() override { std::filesystem::remove_all(folder_); }

    /// @param launcher put in front of the program, e.g. "mpirun -np 2 "
    Outcome run(const std::string& arguments, const std::string& launcher = "") const;

    std::string program_;
    std::filesystem::path folder_;
};

}  // namespace foreshard::test
