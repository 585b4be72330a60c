#include <cstdlib>
#include <stdexcept>

#include "runtime/mpi_session.hpp"
#include "sim/error.hpp"

/// Stands in for mpi_session.cpp where MPI was not found.
namespace foreshard::runtime {

class MpiSession::Impl {};

bool has_mpi() {
    return false;
}

MpiSession::MpiSession(std::chrono::duration<double> /*timeout*/) {
    throw InputError("--comm", "", "mpi: this program was built without MPI; use --comm threads, or build with MPI");
}

MpiSession::~MpiSession() = default;

Transport& MpiSession::transport() {
    throw std::logic_error("no MPI");
}

ClockOffset MpiSession::measure_clock() {
    return {};
}

std::string MpiSession::waits() {
    return "";
}

void MpiSession::check() {}

std::string MpiSession::library() const {
    return "";
}

void MpiSession::kill(int exit_code) {
    std::_Exit(exit_code);
}

}  // namespace foreshard::runtime
