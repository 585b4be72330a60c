#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

/// Where tensors lie inside one reserved range of a device's memory. Book-keeping of offsets only: it touches no memory
/// and knows no device.
namespace foreshard::runtime {

/// A block, and whose work on it may not be done yet.
struct Placement {
    std::size_t offset = 0;
    std::vector<int> await;  ///< queues, ascending, that the block's user must wait for
};

/// Best fit: a block is cut from the smallest free one with room for it, of equals the one that lies lowest. Free
/// neighbours are one block.
///
/// A queue is a number for something that works in order, such as a CUDA stream. A block is freed when the last work
/// that uses it is in its queue, not when that is done: the next user on another queue has to wait for it. Blocks that
/// become one remember the queues of all.
///
/// Not safe to call from several threads at a time.
class Arena {
public:
    /// @param alignment of offsets and sizes, a power of two
    explicit Arena(std::size_t capacity, std::size_t alignment = 64);

    /// Nothing when no free block has room. A block of no bytes takes a place too.
    /// @param queue on which the block will be used
    std::optional<Placement> allocate(std::size_t bytes, int queue = 0);
    /// @param queue on which it was used last
    /// @throws std::logic_error when no block begins at `offset`
    void free(std::size_t offset, int queue = 0);
    /// All work that was in the queue so far is done: nobody has to wait for it.
    void settle(int queue);

    std::size_t capacity() const { return capacity_; }
    /// Of blocks, rounded up to the alignment; now, and at most so far.
    std::size_t used() const { return used_; }
    std::size_t most_used() const { return most_used_; }
    std::size_t largest_free() const { return by_size_.empty() ? 0 : by_size_.rbegin()->first; }
    std::size_t free_blocks() const { return free_.size(); }

private:
    struct FreeBlock {
        std::size_t bytes = 0;
        std::set<int> queues;  ///< that used some part of it last
    };
    using Place = std::map<std::size_t, FreeBlock>::iterator;

    void add_free(std::size_t offset, FreeBlock block);
    FreeBlock take(Place block);
    std::size_t rounded(std::size_t bytes) const;

    std::size_t capacity_;
    std::size_t alignment_;
    std::size_t used_ = 0;
    std::size_t most_used_ = 0;
    std::map<std::size_t, FreeBlock> free_;                  ///< by offset
    std::set<std::pair<std::size_t, std::size_t>> by_size_;  ///< free blocks: size, offset
    std::map<std::size_t, std::size_t> blocks_;              ///< in use: offset, size
};

}  // namespace foreshard::runtime
