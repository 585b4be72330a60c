#pragma once

#include <cstddef>
#include <functional>
#include <stop_token>

namespace foreshard {

/// Calls work(index, worker) for every index below `count`, on so many threads; which worker takes which index is open,
/// so that results must be stored by index. Returns when all have ended; when one throws, the others stop and the
/// exception of the lowest index that threw is passed on.
void parallel_for(int threads, std::size_t count, const std::function<void(std::size_t, int)>& work);

}  // namespace foreshard
