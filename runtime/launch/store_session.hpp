#pragma once

#include <memory>
#include <optional>
#include <string>

#include "runtime/launch/launch_environment.hpp"
#include "runtime/launch/store_transport.hpp"

namespace foreshard::runtime {

/// This process as a rank of a job whose processes meet in a store: TCP at rank 0, or a folder that all hosts share.
class StoreSession {
public:
    /// Meets all other ranks. @param folder empty: TCP
    /// @throws TransportError naming where it waited and for whom; InputError for a folder without a run id
    StoreSession(const LaunchEnvironment& launch, const std::optional<std::string>& folder,
                 std::chrono::duration<double> timeout);
    /// Ends when all ranks have come here, unless the job has failed.
    ~StoreSession();
    StoreSession(const StoreSession&) = delete;
    StoreSession& operator=(const StoreSession&) = delete;

    Transport& transport();
    const LaunchEnvironment& launch() const;
    ClockOffset measure_clock();
    std::string waits();
    void check();  ///< @throws TransportError when the job has failed
    std::string where() const;

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace foreshard::runtime
