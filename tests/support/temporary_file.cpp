#include "tests/support/temporary_file.hpp"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

namespace foreshard::test {

std::string write_file(const std::string& name, const std::string& text) {
    const std::string path = (std::filesystem::path(::testing::TempDir()) / name).string();
    std::ofstream(path, std::ios::binary) << text;
    return path;
}

}  // namespace foreshard::test
