#include <array>
#include <cstdio>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

/// The worked example of README.md is what the program prints.
namespace {

std::string read(const std::string& file) {
    std::ifstream in(file);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
}

std::string output_of(const std::string& command) {
    std::string text;
    std::array<char, 4096> buffer{};
    FILE* pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) return text;
    while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe))
        text.append(buffer.data(), count);
    pclose(pipe);
    return text;
}

TEST(Readme, TheWorkedExampleIsWhatTheProgramPrints) {
    const std::string readme = read(std::string(FORESHARD_SOURCE_DIR) + "/README.md");
    const std::string begin = "<!-- example:begin -->\n```\n$ foreshard ";
    const std::size_t at = readme.find(begin);
    ASSERT_NE(at, std::string::npos);
    const std::size_t text_at = at + begin.size();
    const std::size_t end = readme.find("```\n<!-- example:end -->", text_at);
    ASSERT_NE(end, std::string::npos);
    const std::string block = readme.substr(text_at, end - text_at);
    // The command may be continued over lines with a backslash.
    std::size_t line_end = block.find('\n');
    while (line_end != std::string::npos && block[line_end - 1] == '\\') line_end = block.find('\n', line_end + 1);
    const std::string command = std::string(FORESHARD_PROGRAM) + " " + block.substr(0, line_end);
    EXPECT_EQ(output_of(command), block.substr(line_end + 1));
}

}  // namespace
