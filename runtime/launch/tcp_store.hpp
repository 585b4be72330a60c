#pragma once

#include <memory>

#include "runtime/launch/store.hpp"

namespace foreshard::runtime {

/// Where the server of a job is, and who asks.
struct StoreAddress {
    std::string host;
    int port = 0;
    std::string run_id;
    int rank = 0;
};

/// A client of the store that rank 0's process serves; every thread that waits has a connection of its own.
class TcpStore {
public:
    /// Connects; tries again until the server is there. @throws TransportError naming host, port and rank when nobody
    /// answers in time, when what answers is no store, or is that of another run
    TcpStore(const StoreAddress& address, std::chrono::duration<double> timeout);
    ~TcpStore();
    TcpStore(const TcpStore&) = delete;
    TcpStore& operator=(const TcpStore&) = delete;

    Store store();  ///< valid as long as this lives

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace foreshard::runtime
