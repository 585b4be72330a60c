#pragma once

#include <cstddef>
#include <vector>

#include "runtime/transport.hpp"

/// Small things that ranks tell each other outside tasks.
namespace foreshard::runtime {

std::vector<int> all_ranks(const Transport& transport);

/// What every rank says, in the order of ranks, on every rank.
std::vector<std::vector<std::byte>> tell_all(Transport& transport, std::span<const std::byte> mine);

}  // namespace foreshard::runtime
