#pragma once

#include "runtime/carrier.hpp"

namespace foreshard::runtime::cuda {

/// For virtual ranks: threads that share one GPU. The last member's thread enqueues copies and reductions behind what
/// every member's queue holds, and makes all queues wait for their end; no thread waits for the device. Results are
/// those of ranks as threads on a processor, bit for bit.
Carrier virtual_carrier();

}  // namespace foreshard::runtime::cuda
