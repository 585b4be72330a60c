#include "tests/support/program.hpp"

#include <cstdlib>
#include <fstream>
#include <sstream>

#include <sys/wait.h>

namespace foreshard::test {

namespace fs = std::filesystem;

std::string read_file(const fs::path& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
}

void ProgramTest::SetUp() {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::path(::testing::TempDir()) /
              (fs::path(program_).filename().string() + "_" + test->test_suite_name() + "_" + test->name());
    fs::create_directories(folder_);
}

Outcome ProgramTest::run(const std::string& arguments, const std::string& launcher) const {
    const fs::path out = folder_ / "stdout";
    const fs::path err = folder_ / "stderr";
    const std::string command =
        launcher + "'" + program_ + "' " + arguments + " >'" + out.string() + "' 2>'" + err.string() + "'";
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128, read_file(out), read_file(err)};
}

}  // namespace foreshard::test
