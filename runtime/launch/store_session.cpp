#include "runtime/launch/store_session.hpp"

#include "runtime/launch/file_store.hpp"
#include "runtime/launch/store_server.hpp"
#include "runtime/launch/tcp_store.hpp"
#include "sim/error.hpp"

namespace foreshard::runtime {

namespace {

/// A server on rank 0, and this process's way to the store.
struct Backend {
    std::optional<StoreServer> server;
    std::optional<TcpStore> tcp;
    std::optional<FileStore> file;

    Backend(const LaunchEnvironment& launch, const std::optional<std::string>& folder,
            std::chrono::duration<double> timeout) {
        if (folder) {
            if (launch.run_id == "none") {
                throw InputError("--run-id", "",
                                 "is missing: files of an earlier run in the shared folder could not be told from this "
                                 "one's; give all processes the same new text");
            }
            file.emplace(*folder, launch.run_id, launch.rank);
            return;
        }
        if (launch.rank == 0) server.emplace(launch.port, launch.run_id);
        tcp.emplace(StoreAddress{launch.rank == 0 ? "localhost" : launch.host, launch.port, launch.run_id, launch.rank},
                    timeout);
    }
    Store store() { return tcp ? tcp->store() : file->store(); }
};

}  // namespace

class StoreSession::Impl {
public:
    Impl(const LaunchEnvironment& told, const std::optional<std::string>& folder, std::chrono::duration<double> timeout)
        : launch(told), backend(told, folder, timeout), transport(backend.store(), told.rank, told.ranks, timeout) {
        meet(backend.store(), "start", told.rank, told.ranks, timeout);
    }
    LaunchEnvironment launch;
    Backend backend;
    StoreTransport transport;
};

StoreSession::StoreSession(const LaunchEnvironment& launch, const std::optional<std::string>& folder,
                           std::chrono::duration<double> timeout)
    : impl_(std::make_unique<Impl>(launch, folder, timeout)) {}

StoreSession::~StoreSession() {
    constexpr std::chrono::seconds patience{10};
    try {
        meet(impl_->backend.store(), "end", impl_->launch.rank, impl_->launch.ranks, patience);
    } catch (const std::exception&) {
        return;  // the job has failed, as has been told
    }
}

Transport& StoreSession::transport() {
    return impl_->transport;
}

const LaunchEnvironment& StoreSession::launch() const {
    return impl_->launch;
}

ClockOffset StoreSession::measure_clock() {
    return runtime::measure_clock(impl_->backend.store(), impl_->launch.rank, impl_->launch.ranks);
}

std::string StoreSession::waits() {
    return impl_->transport.waits();
}

void StoreSession::check() {
    impl_->backend.store().check();
}

std::string StoreSession::where() const {
    return impl_->backend.tcp ? impl_->backend.tcp->store().where : impl_->backend.file->store().where;
}

}  // namespace foreshard::runtime
