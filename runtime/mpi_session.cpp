#include "runtime/mpi_session.hpp"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "runtime/mpi_transport.hpp"
#include "sim/error.hpp"

namespace foreshard::runtime {

class MpiSession::Impl {
public:
    Impl(int rank, int size, std::chrono::duration<double> timeout) : transport(rank, size, timeout) {}
    MpiTransport transport;
};

bool has_mpi() {
    return true;
}

MpiSession::MpiSession(std::chrono::duration<double> timeout) {
    int provided = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided);
    if (provided < MPI_THREAD_MULTIPLE) {
        throw InputError("--comm", "", "mpi: this MPI library does not serve several threads (MPI_THREAD_MULTIPLE)");
    }
    int rank = 0;
    int size = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    impl_ = std::make_unique<Impl>(rank, size, timeout);
}

MpiSession::~MpiSession() {
    MPI_Finalize();
}

Transport& MpiSession::transport() {
    return impl_->transport;
}

/// Cristian's method: of many round trips the shortest says most.
ClockOffset MpiSession::measure_clock() {
    constexpr int rounds = 200;
    constexpr int tag = 30001;
    const int rank = impl_->transport.rank();
    ClockOffset best{{}, std::chrono::hours(1)};
    for (int peer = 1; peer < impl_->transport.size(); ++peer) {
        if (rank != 0 && rank != peer) continue;
        for (int i = 0; i < rounds; ++i) {
            std::int64_t theirs = 0;
            if (rank == 0) {
                MPI_Recv(&theirs, 1, MPI_INT64_T, peer, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                theirs = Clock::now().time_since_epoch().count();
                MPI_Send(&theirs, 1, MPI_INT64_T, peer, tag, MPI_COMM_WORLD);
                continue;
            }
            const Clock::time_point asked = Clock::now();
            MPI_Send(&theirs, 1, MPI_INT64_T, 0, tag, MPI_COMM_WORLD);
            MPI_Recv(&theirs, 1, MPI_INT64_T, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            const auto half = (Clock::now() - asked) / 2;
            if (half >= best.residual) continue;
            best = {(asked + half).time_since_epoch() - Clock::duration(theirs), half};
        }
    }
    return rank == 0 ? ClockOffset{} : best;
}

std::string MpiSession::waits() {
    return impl_->transport.waits();
}

void MpiSession::check() {
    impl_->transport.check();
}

std::string MpiSession::library() const {
    std::vector<char> text(MPI_MAX_LIBRARY_VERSION_STRING);
    int length = 0;
    MPI_Get_library_version(text.data(), &length);
    const std::string whole(text.data(), static_cast<std::size_t>(length));
    return whole.substr(0, whole.find(','));
}

void MpiSession::kill(int exit_code) {
    MPI_Abort(MPI_COMM_WORLD, exit_code);
    std::_Exit(exit_code);
}

}  // namespace foreshard::runtime
