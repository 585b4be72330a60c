#pragma once

#include <cstddef>
#include <vector>

#include "runtime/mpi_session.hpp"
#include "runtime/trainer.hpp"

namespace foreshard::runtime {

/// A rank's record as bytes, its times on rank 0's clock. Losses are left out: every rank knows them.
std::vector<std::byte> to_bytes(const RankRecord& record, const ClockOffset& clock);

struct TimedRecord {
    RankRecord record;
    ClockOffset clock;
};
TimedRecord from_bytes(std::span<const std::byte> bytes);

}  // namespace foreshard::runtime
