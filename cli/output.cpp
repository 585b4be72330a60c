#include "cli/output.hpp"

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <system_error>

#include <fmt/format.h>

#include "sim/error.hpp"

namespace foreshard::cli {

void write_output(const std::string& path, const std::string& text) {
    if (path == "-") {
        const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
        if (!written || std::fflush(stdout) != 0) throw InputError("standard output", "", "cannot be written");
        return;
    }
    errno = 0;
    std::ofstream out(path, std::ios::binary | std::ios::trunc);
    out << text;
    out.close();
    if (!out) throw InputError(path, "", "cannot be written: " + std::generic_category().message(errno));
}

}  // namespace foreshard::cli
