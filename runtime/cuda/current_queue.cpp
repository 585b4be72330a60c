#include "runtime/cuda/current_queue.hpp"

namespace foreshard::runtime::cuda {

namespace {

thread_local Queue current = nullptr;

}  // namespace

Queue current_queue() {
    return current;
}

void set_current_queue(Queue queue) {
    current = queue;
}

}  // namespace foreshard::runtime::cuda
