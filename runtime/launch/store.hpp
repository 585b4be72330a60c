#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "runtime/mpi_session.hpp"

/// What all processes of a job can write to and read from: how they find each other, and talk where there is no MPI.
namespace foreshard::runtime {

/// Calls from several threads may run at a time. All throw TransportError when the store is lost or the job has failed.
struct Store {
    /// @param reads how often the value is read before it is dropped; 0: kept
    std::function<void(const std::string& key, std::span<const std::byte> value, int reads)> set;
    /// Waits until the key is there. @throws TransportError at the timeout
    std::function<std::vector<std::byte>(const std::string& key, std::chrono::duration<double> timeout)> get;
    /// Ends the job: calls that wait, and all later ones, throw with this reason. Never throws.
    std::function<void(int rank, const std::string& reason)> fail;
    /// @throws TransportError when the job has failed
    std::function<void()> check;
    /// Rank 0's clock; empty when the store does not tell it.
    std::function<Clock::time_point()> clock;
    std::string where;  ///< "node03:29500", or a folder
};

/// The calls of a back end that has set, get, fail and where; it must outlive the store.
template <class BackEnd>
Store store_of(BackEnd& end) {
    Store store;
    store.set = [&end](const std::string& key, std::span<const std::byte> value, int reads) {
        end.set(key, value, reads);
    };
    store.get = [&end](const std::string& key, std::chrono::duration<double> timeout) { return end.get(key, timeout); };
    store.fail = [&end](int rank, const std::string& reason) { end.fail(rank, reason); };
    store.where = end.where();
    return store;
}

/// Of this process's clock against rank 0's. All ranks call it; with `store.clock` each by itself, else in turn.
ClockOffset measure_clock(const Store& store, int rank, int ranks);

/// Returns when all ranks have called it with this name. A name is used once.
void meet(const Store& store, const std::string& name, int rank, int ranks, std::chrono::duration<double> timeout);

}  // namespace foreshard::runtime
