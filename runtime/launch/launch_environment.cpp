#include "runtime/launch/launch_environment.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <limits>

#include <fmt/format.h>

#include "runtime/launch/host_list.hpp"
#include "sim/error.hpp"

namespace foreshard::runtime {

namespace {

/// Variables that a launcher sets.
struct Launcher {
    const char* name;
    const char* rank;
    const char* ranks;
    const char* local_rank;
    const char* local_ranks;
};

constexpr std::array<Launcher, 5> launchers = {{
    {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"},
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"PMI", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
    {"MVAPICH", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_SIZE"},
    {"Slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_NTASKS_PER_NODE"},
}};

/// Set by a launcher for all processes of one job.
constexpr std::array<const char*, 4> job_names = {"TORCHELASTIC_RUN_ID", "PMIX_NAMESPACE", "SLURM_JOB_ID", "PBS_JOBID"};

int whole_number(const std::string& variable, const std::string& text, int least, int most) {
    int value = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || stop != end || value < least || value > most) {
        throw InputError(variable, "", fmt::format("'{}' is not a whole number from {} to {}", text, least, most));
    }
    return value;
}

constexpr int most_ranks = std::numeric_limits<int>::max();

class Reader {
public:
    Reader(const LaunchFlags& flags, const Variables& variables) : flags_(flags), variables_(variables) {}

    LaunchEnvironment read();

private:
    void read_flags(LaunchEnvironment& launch) const;
    bool read_launcher(const Launcher& launcher, LaunchEnvironment& launch);
    void read_local_rank(const Launcher& launcher, LaunchEnvironment& launch);
    const Launcher* who_tells_local_rank(const Launcher& first, int rank) const;
    void read_master(LaunchEnvironment& launch) const;
    void split_master(LaunchEnvironment& launch) const;
    std::string host_of_rank_0(const LaunchEnvironment& launch) const;
    std::string job_name() const;

    const LaunchFlags& flags_;
    const Variables& variables_;
    bool one_host_ = false;  ///< the launcher says that all processes are on this host
};

void Reader::read_flags(LaunchEnvironment& launch) const {
    if (!flags_.rank || !flags_.ranks) {
        throw InputError(flags_.rank ? "--ranks" : "--rank", "", "is missing: --rank and --ranks go together");
    }
    launch.source = "flags";
    launch.ranks = whole_number("--ranks", std::to_string(*flags_.ranks), 1, most_ranks);
    launch.rank = whole_number("--rank", std::to_string(*flags_.rank), 0, launch.ranks - 1);
    if (flags_.local_rank) {
        launch.local_rank = whole_number("--local-rank", std::to_string(*flags_.local_rank), 0, launch.ranks - 1);
    } else if (const auto local = variables_("LOCAL_RANK")) {
        launch.local_rank = whole_number("LOCAL_RANK", *local, 0, launch.ranks - 1);
    }
}

bool Reader::read_launcher(const Launcher& launcher, LaunchEnvironment& launch) {
    const auto rank = variables_(launcher.rank);
    const auto ranks = variables_(launcher.ranks);
    if (!rank && !ranks) return false;
    if (!rank || !ranks) {
        // A batch script of Slurm knows the number of tasks, but is no task.
        if (!rank && launcher.name == std::string("Slurm")) return false;
        throw InputError(rank ? launcher.ranks : launcher.rank, "",
                         fmt::format("is not set, but {} is '{}': a launcher sets both",
                                     rank ? launcher.rank : launcher.ranks, rank ? *rank : *ranks));
    }
    launch.source = launcher.name;
    launch.ranks = whole_number(launcher.ranks, *ranks, 1, most_ranks);
    launch.rank = whole_number(launcher.rank, *rank, 0, launch.ranks - 1);
    read_local_rank(launcher, launch);
    return true;
}

/// The launcher that was read, else another that gives this process the same rank: under srun --mpi=pmi2 PMI tells the
/// rank and Slurm alone the local one.
const Launcher* Reader::who_tells_local_rank(const Launcher& first, int rank) const {
    if (variables_(first.local_rank)) return &first;
    const auto found = std::find_if(launchers.begin(), launchers.end(), [&](const Launcher& other) {
        return variables_(other.rank) == std::to_string(rank) && variables_(other.local_rank);
    });
    return found == launchers.end() ? nullptr : &*found;
}

void Reader::read_local_rank(const Launcher& launcher, LaunchEnvironment& launch) {
    if (const Launcher* teller = who_tells_local_rank(launcher, launch.rank)) {
        launch.local_rank = whole_number(teller->local_rank, *variables_(teller->local_rank), 0, launch.ranks - 1);
    }
    const auto local_ranks = variables_(launcher.local_ranks);
    one_host_ = local_ranks && *local_ranks == std::to_string(launch.ranks);
    if (flags_.local_rank) {
        launch.local_rank = whole_number("--local-rank", std::to_string(*flags_.local_rank), 0, launch.ranks - 1);
    }
}

/// "host:port"; an IPv6 address in brackets.
void Reader::split_master(LaunchEnvironment& launch) const {
    const std::string& master = *flags_.master;
    const std::size_t colon = master.rfind(':');
    const bool has_port = colon != std::string::npos && master.find(']', colon) == std::string::npos;
    launch.host = has_port ? master.substr(0, colon) : master;
    if (has_port) launch.port = whole_number("--master", master.substr(colon + 1), 1, 65535);
    if (launch.host.size() > 2 && launch.host.front() == '[')
        launch.host = launch.host.substr(1, launch.host.size() - 2);
    if (launch.host.empty()) throw InputError("--master", "", fmt::format("'{}' names no host", master));
}

std::string Reader::host_of_rank_0(const LaunchEnvironment& launch) const {
    if (const auto address = variables_("MASTER_ADDR")) {
        if (address->empty()) throw InputError("MASTER_ADDR", "", "is empty; it is the address of the host of rank 0");
        return *address;
    }
    for (const char* list : {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST"}) {
        const auto hosts = variables_(list);
        if (hosts && launch.source == "Slurm") return first_host(list, *hosts);
    }
    if (launch.ranks == 1 || one_host_) return "127.0.0.1";
    throw InputError("MASTER_ADDR", "",
                     fmt::format("is not set, and {} does not tell it: export the address of the host of rank 0, or "
                                 "give --master HOST:PORT",
                                 launch.source));
}

void Reader::read_master(LaunchEnvironment& launch) const {
    if (const auto port = variables_("MASTER_PORT")) launch.port = whole_number("MASTER_PORT", *port, 1, 65535);
    if (flags_.master) {
        split_master(launch);
    } else {
        launch.host = host_of_rank_0(launch);
    }
}

std::string Reader::job_name() const {
    if (flags_.run_id) return *flags_.run_id;
    for (const char* variable : job_names) {
        if (const auto name = variables_(variable)) return *name;
    }
    return "none";
}

LaunchEnvironment Reader::read() {
    LaunchEnvironment launch;
    if (flags_.rank || flags_.ranks) {
        read_flags(launch);
    } else {
        bool found = false;
        for (const Launcher& launcher : launchers) {
            found = found || read_launcher(launcher, launch);
        }
        if (!found) {
            throw InputError("RANK", "",
                             "is not set, nor what Open MPI, PMI or Slurm set: start the program with torchrun, mpirun "
                             "or srun, or give --rank, --ranks and --master");
        }
    }
    read_master(launch);
    launch.run_id = job_name();
    return launch;
}

}  // namespace

Variables process_variables() {
    return [](const std::string& name) -> std::optional<std::string> {
        const char* value = std::getenv(name.c_str());
        if (value == nullptr) return std::nullopt;
        return value;
    };
}

LaunchEnvironment read_launch(const LaunchFlags& flags, const Variables& variables) {
    return Reader(flags, variables).read();
}

}  // namespace foreshard::runtime
