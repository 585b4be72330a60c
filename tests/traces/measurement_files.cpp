#include "tests/traces/measurement_files.hpp"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "sim/error.hpp"
#include "sim/fit/calibration_fit.hpp"
#include "tests/support/mutate.hpp"
#include "traces/read_measurements.hpp"

namespace foreshard::test {

std::string write_measurement(const std::string& name, const std::string& text) {
    const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / "measurements";
    std::filesystem::create_directories(folder);
    const std::string path = (folder / name).string();
    std::ofstream(path, std::ios::binary) << text;
    return path;
}

Measurements measurements_of(const std::string& name, const std::string& text) {
    Measurements measured;
    read_measurements(write_measurement(name, text), measured);
    return measured;
}

void expect_refused_measurement(const std::string& name, const std::string& text, const std::string& place,
                                const std::string& reason) {
    try {
        measurements_of(name, text);
        ADD_FAILURE() << name << " was accepted";
    } catch (const InputError& error) {
        EXPECT_NE(error.source().find(name), std::string::npos) << error.source();
        EXPECT_EQ(error.path(), place);
        EXPECT_NE(std::string(error.what()).find(reason), std::string::npos) << error.what();
    }
}

void read_damaged(const std::string& name, const std::string& text) {
    for (std::uint64_t seed = 1; seed <= 150; ++seed) {
        try {
            const Measurements measured = measurements_of(name, mutated(text, seed));
            if (!measured.communication.empty()) fit_calibration(measured, "x");
        } catch (const InputError&) {
            continue;
        }
    }
}

}  // namespace foreshard::test
