#pragma once

#include <memory>
#include <string>

namespace foreshard::runtime {

/// Keeps keys and values for all processes of a job; runs in the process of rank 0, in a thread of its own. When a
/// connection ends without a word, its rank's process has died: all who wait are told.
class StoreServer {
public:
    /// Listens at once. @param port 0: any free one
    /// @throws TransportError when the port cannot be listened on
    StoreServer(int port, std::string run_id);
    /// Waits a little for connections that are still open.
    ~StoreServer();
    StoreServer(const StoreServer&) = delete;
    StoreServer& operator=(const StoreServer&) = delete;

    int port() const;

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace foreshard::runtime
