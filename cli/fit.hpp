#pragma once

#include "cli/exit_code.hpp"
#include "sim/fit/kernel_fit.hpp"

/// `foreshard fit`: tables from measurements.
namespace foreshard::cli {

struct FitOptions {
    KernelFitRequest kernels;  ///< its id comes from the output file
    std::string device;
    std::string output_file;
};

/// @throws InputError, UnreadableFile
ExitCode run_fit(const FitOptions& options);

}  // namespace foreshard::cli
