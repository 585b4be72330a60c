#include "runtime/arena.hpp"

#include <algorithm>
#include <iterator>
#include <stdexcept>

#include <fmt/format.h>

namespace foreshard::runtime {

Arena::Arena(std::size_t capacity, std::size_t alignment)
    : capacity_(capacity / alignment * alignment), alignment_(alignment) {
    if (capacity_ > 0) add_free(0, {capacity_, {}});
}

std::size_t Arena::rounded(std::size_t bytes) const {
    return (std::max(bytes, std::size_t{1}) + alignment_ - 1) / alignment_ * alignment_;
}

void Arena::add_free(std::size_t offset, FreeBlock block) {
    by_size_.emplace(block.bytes, offset);
    free_.emplace(offset, std::move(block));
}

Arena::FreeBlock Arena::take(Place block) {
    by_size_.erase({block->second.bytes, block->first});
    FreeBlock taken = std::move(block->second);
    free_.erase(block);
    return taken;
}

std::optional<Placement> Arena::allocate(std::size_t bytes, int queue) {
    const std::size_t size = rounded(bytes);
    const auto fit = by_size_.lower_bound({size, 0});
    if (fit == by_size_.end()) return std::nullopt;
    const std::size_t offset = fit->second;
    FreeBlock rest = take(free_.find(offset));
    Placement placed{offset, {}};
    std::copy_if(rest.queues.begin(), rest.queues.end(), std::back_inserter(placed.await),
                 [queue](int used) { return used != queue; });
    if (rest.bytes > size) add_free(offset + size, {rest.bytes - size, std::move(rest.queues)});
    blocks_.emplace(offset, size);
    used_ += size;
    most_used_ = std::max(most_used_, used_);
    return placed;
}

void Arena::free(std::size_t offset, int queue) {
    const auto block = blocks_.find(offset);
    if (block == blocks_.end()) throw std::logic_error(fmt::format("no block of the arena begins at {}", offset));
    FreeBlock freed{block->second, {queue}};
    used_ -= freed.bytes;
    blocks_.erase(block);
    const auto join = [&](Place neighbour) {
        FreeBlock joined = take(neighbour);
        freed.bytes += joined.bytes;
        freed.queues.merge(joined.queues);
    };
    if (const auto next = free_.find(offset + freed.bytes); next != free_.end()) join(next);
    const auto after = free_.lower_bound(offset);
    if (after != free_.begin()) {
        const auto before = std::prev(after);
        if (before->first + before->second.bytes == offset) {
            offset = before->first;
            join(before);
        }
    }
    add_free(offset, std::move(freed));
}

void Arena::settle(int queue) {
    for (auto& [offset, block] : free_) block.queues.erase(queue);
}

}  // namespace foreshard::runtime
