#include <stdexcept>

#include "runtime/nccl_session.hpp"
#include "sim/error.hpp"

/// Stands in for nccl/nccl_session.cpp where NCCL was not found.
namespace foreshard::runtime {

class NcclSession::Impl {};

bool has_nccl() {
    return false;
}

NcclSession::NcclSession(const NcclGround& /*ground*/, const std::vector<Communicator>& /*communicators*/) {
    throw InputError("--comm", "",
                     "nccl: this program was built without NCCL; build it where CUDA 13 and NCCL are (cmake "
                     "-DFORESHARD_BUILD_NCCL=ON says what it does not find), or take --comm virtual, mpi or tcp");
}

NcclSession::~NcclSession() = default;

Transport& NcclSession::transport() {
    throw std::logic_error("no NCCL");
}

std::string NcclSession::library() const {
    return "";
}

int NcclSession::device() const {
    return 0;
}

}  // namespace foreshard::runtime
