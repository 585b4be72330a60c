#pragma once

#include <functional>
#include <optional>
#include <string>

/// Which rank this process is, and where it meets the others: told by flags, or by what a launcher sets.
namespace foreshard::runtime {

/// What the command line says; it goes before the environment.
struct LaunchFlags {
    std::optional<int> rank;
    std::optional<int> ranks;
    std::optional<int> local_rank;
    std::optional<std::string> master;  ///< "host:port" or "host"
    std::optional<std::string> run_id;
};

struct LaunchEnvironment {
    int rank = 0;
    int ranks = 1;
    int local_rank = 0;  ///< among the processes of its host
    std::string host;    ///< of rank 0
    int port = 29500;    ///< of rank 0; torchrun's default
    std::string run_id;  ///< the same in all processes of a job, another in every job that may run at the same time
    std::string source;  ///< who told the rank, e.g. "Slurm"
};

/// Value of an environment variable, if it is set.
using Variables = std::function<std::optional<std::string>(const std::string&)>;
Variables process_variables();

/// In this order: flags, torchrun (RANK), Open MPI, PMI (MPICH, Intel MPI, Hydra), MVAPICH, Slurm. The host and port of
/// rank 0 are MASTER_ADDR and MASTER_PORT; without them the first host of Slurm's list, or this host when all processes
/// are on it.
/// @throws InputError naming the variable or flag, its value and what is valid
LaunchEnvironment read_launch(const LaunchFlags& flags, const Variables& variables);

}  // namespace foreshard::runtime
