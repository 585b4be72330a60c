#pragma once

#include <optional>
#include <string>

#include "cli/flags.hpp"
#include "runtime/gpu.hpp"
#include "runtime/job_run.hpp"
#include "runtime/launch/launch_environment.hpp"
#include "runtime/microbench/bench_sizes.hpp"

namespace foreshard::runtime {

enum class Backend : std::uint8_t { cpu, cuda };
enum class Comm : std::uint8_t {
    threads,        ///< all ranks in this process, on its processors
    virtual_ranks,  ///< all ranks in this process, on one GPU
    mpi,
    tcp,   ///< a process each, that meet in a store
    nccl,  ///< the same with a GPU each
};
std::string_view to_string(Comm comm);

/// What foreshard-run is asked for.
struct RunOptions {
    cli::JobFlags job;
    Backend backend = Backend::cpu;
    Comm comm = Comm::threads;
    LaunchFlags launch;
    std::string rendezvous = "tcp";   ///< where processes meet: tcp, mpi, or a folder
    std::optional<Effort> calibrate;  ///< time kernels and communication instead of training
    std::optional<int> iterations;    ///< default 10, with --check 2
    std::optional<int> warmup;        ///< default 2, with --check 0
    ElementType type = ElementType::fp32;
    MathMode math = MathMode::exact;
    bool cuda_graph = false;
    bool check = false;
    std::optional<std::string> inject_fault;
    std::optional<std::string> optimizer;  ///< default adamw, with --check sgd
    std::optional<double> learning_rate;   ///< default 1e-3, of sgd 0.1
    std::string data = "synthetic";        ///< or a file
    std::optional<std::string> json_file;
    std::optional<std::string> trace_file;
    std::optional<std::string> stage_times_file;
    double timeout_s = 300.0;
    std::string command;
};

std::string_view to_string(Backend backend);
/// As --dtype has it.
std::string_view dtype_name(const RunOptions& options);

/// Declares all flags on the program; parsing fills `options`, which must outlive it.
void add_run_flags(CLI::App& app, RunOptions& options);

/// The job to run: flags and file, but on this machine, with the runtime's own profile and in fp32 where the flags do
/// not say otherwise. @throws InputError, UnreadableFile
Job runnable_job(const RunOptions& options, const ClusterSpec& machine);

/// How to train. @throws InputError
/// @param gpu ordinal of this process's, for backends that have one
TrainOptions train_options(const RunOptions& options, const Job& job, int gpu);

GpuRequest gpu_request(const RunOptions& options, int gpu);

/// "message=3": the third of the communications that feed a gradient; "task=" is the same. "kill=1", "stop=1",
/// "memory=1" name a rank, "size=2" a message. @throws InputError
Fault parse_fault(const std::string& text, const Plan& plan, Comm comm);

}  // namespace foreshard::runtime
