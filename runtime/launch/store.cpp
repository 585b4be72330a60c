#include "runtime/launch/store.hpp"

#include <cstring>

#include <fmt/format.h>

namespace foreshard::runtime {

namespace {

/// Cristian's method: of many round trips the shortest says most.
ClockOffset shortest_round_trip(int rounds, const std::function<Clock::time_point()>& ask) {
    ClockOffset best{{}, std::chrono::hours(1)};
    for (int i = 0; i < rounds; ++i) {
        const Clock::time_point asked = Clock::now();
        const Clock::time_point theirs = ask();
        const auto half = (Clock::now() - asked) / 2;
        if (half < best.residual) best = {asked + half - theirs, half};
    }
    return best;
}

std::string round_key(int peer, int round, const char* side) {
    return fmt::format("clock.{}.{}.{}", peer, round, side);
}

constexpr std::chrono::seconds clock_timeout{60};
constexpr int slow_rounds = 20;  ///< through files a round takes milliseconds

void tell_clock(const Store& store, int ranks) {
    for (int peer = 1; peer < ranks; ++peer) {
        for (int i = 0; i < slow_rounds; ++i) {
            store.get(round_key(peer, i, "asks"), clock_timeout);
            const std::int64_t now = Clock::now().time_since_epoch().count();
            store.set(round_key(peer, i, "told"), std::as_bytes(std::span(&now, 1)), 1);
        }
    }
}

}  // namespace

ClockOffset measure_clock(const Store& store, int rank, int ranks) {
    constexpr int fast_rounds = 200;
    if (store.clock) return rank == 0 ? ClockOffset{} : shortest_round_trip(fast_rounds, store.clock);
    if (rank == 0) {
        tell_clock(store, ranks);
        return {};
    }
    int round = 0;
    return shortest_round_trip(slow_rounds, [&] {
        store.set(round_key(rank, round, "asks"), {}, 1);
        const std::vector<std::byte> told = store.get(round_key(rank, round++, "told"), clock_timeout);
        std::int64_t count = 0;
        std::memcpy(&count, told.data(), std::min(told.size(), sizeof count));
        return Clock::time_point(Clock::duration(count));
    });
}

void meet(const Store& store, const std::string& name, int rank, int ranks, std::chrono::duration<double> timeout) {
    const auto place = [&](int r) { return fmt::format("{}.here.{}", name, r); };
    if (rank != 0) {
        store.set(place(rank), {}, 1);
        store.get(fmt::format("{}.go.{}", name, rank), timeout);
        return;
    }
    for (int r = 1; r < ranks; ++r) {
        try {
            store.get(place(r), timeout);
        } catch (const TransportError& error) {
            throw TransportError(error.rank(), fmt::format("{} (rank 0 waited for rank {})", error.what(), r));
        }
    }
    for (int r = 1; r < ranks; ++r) store.set(fmt::format("{}.go.{}", name, r), {}, 1);
}

}  // namespace foreshard::runtime
