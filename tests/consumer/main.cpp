#include <cstdio>

#include "sim/spec/embedded_files.hpp"

// Uses the installed library as any other project would: finds the catalogue inside it.
int main() {
    const auto files = foreshard::embedded_files();
    std::printf("%zu files in the catalogue\n", files.size());
    return files.empty() ? 1 : 0;
}
