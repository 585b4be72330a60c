#pragma once

#include "runtime/cuda/queue.hpp"

/// Where what a thread issues beside kernels goes: the device sets it with its queue, transports read it.
namespace foreshard::runtime::cuda {

/// Of the calling thread; the null queue at first.
Queue current_queue();
void set_current_queue(Queue queue);

}  // namespace foreshard::runtime::cuda
