#pragma once

#include <functional>
#include <memory>

#include "runtime/carrier.hpp"
#include "runtime/transport.hpp"
#include "runtime/waiting_room.hpp"

/// Virtual ranks as threads of one process. Results do not depend on timing. Calls whose kinds or sizes differ between
/// ranks, and waits that cannot end, are found at once and named.
namespace foreshard::runtime {

class ThreadsWorld {
public:
    /// @param carrier who copies and adds what is not on the control channel; by default the processor
    explicit ThreadsWorld(int ranks, std::chrono::duration<double> timeout = std::chrono::seconds(300),
                          Carrier carrier = {});
    ~ThreadsWorld();
    ThreadsWorld(const ThreadsWorld&) = delete;
    ThreadsWorld& operator=(const ThreadsWorld&) = delete;

    Transport& rank(int rank);
    /// Every thread that calls a transport is a guest here.
    WaitingRoom& room();

private:
    class Meetings;
    class RankTransport;
    std::unique_ptr<Meetings> meetings_;
    std::vector<std::unique_ptr<RankTransport>> ranks_;
};

/// Runs `work` once per rank, each in a thread, and returns when all are done. When one throws, all others are ended.
/// @throws TransportError the first failure, with its rank
void run_ranks(ThreadsWorld& world, int ranks, const std::function<void(Transport&)>& work);

}  // namespace foreshard::runtime
