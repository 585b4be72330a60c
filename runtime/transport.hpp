#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/element.hpp"
#include "sim/plan/task_graph.hpp"

/// How ranks exchange bytes: the seam between the executor and threads, MPI or NCCL.
namespace foreshard::runtime {

using Clock = std::chrono::steady_clock;

/// A communicator of one rank: calls on one channel and between the same ranks happen in issue order, calls on
/// different channels do not hold each other up. Tensor parallel calls come from inside passes and have a lane of their
/// own.
struct Channel {
    Axis axis = Axis::pp;
    Lane lane = Lane::compute;
    bool operator==(const Channel&) const = default;
};
std::string to_string(Channel channel);

/// A tensor, flat.
struct Elements {
    std::span<std::byte> bytes;
    ElementType type = ElementType::fp32;
    std::size_t count() const { return bytes.size() / element_bytes(type); }
};

enum class Reduction : std::uint8_t { sum, max };

/// Part of a flat range.
struct Range {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::int64_t size() const { return end - begin; }
    bool operator==(const Range&) const = default;
};

/// The `member`-th of `members` parts of `count` elements; the first parts are one longer where it does not divide.
Range shard_of(std::int64_t count, int members, int member);

/// Communication failed, or never came: says which rank waits for whom, and why the job ends.
class TransportError : public std::runtime_error {
public:
    TransportError(int rank, const std::string& what) : std::runtime_error(what), rank_(rank) {}
    int rank() const { return rank_; }

private:
    int rank_;
};

/// Of one call: when the last member arrived. What comes before is waiting, what comes after is transfer.
struct Met {
    Clock::time_point at;
};

/// A channel that no task uses, for what ranks tell each other outside tasks. Its memory is the host's, and its calls
/// return when the data is there, whatever the transport.
inline constexpr Channel control_channel{Axis::pp, Lane::compute};

/// The calls of one rank; they block until their data is there, or, where memory is a GPU's, only enqueue. Different
/// threads may call at a time, on different channels. All members of a group call with the same group (ascending ranks,
/// the caller among them) and sizes; reductions add in the order of ranks, so that results are the same in every run.
/// Every call throws TransportError when sizes differ between ranks, a peer is lost, nothing arrives within the
/// transport's timeout, or the job was aborted.
class Transport {
public:
    Transport() = default;
    Transport(const Transport&) = delete;
    Transport& operator=(const Transport&) = delete;
    virtual ~Transport() = default;

    virtual int rank() const = 0;
    virtual int size() const = 0;

    /// Returns when the peer has the data.
    virtual Met send(Channel channel, int peer, std::span<const std::byte> data) = 0;
    virtual Met receive(Channel channel, int peer, std::span<std::byte> data) = 0;

    /// In place: afterwards every member has the same result.
    virtual Met all_reduce(Channel channel, std::span<const int> group, Elements data, Reduction reduction) = 0;
    /// `all` is made of the members' parts (shard_of) in the order of ranks; on the control channel their sizes may
    /// differ in any way. `mine` may lie in its place in `all`.
    virtual Met all_gather(Channel channel, std::span<const int> group, std::span<const std::byte> mine,
                           Elements all) = 0;
    /// `mine` gets the sum of its part (shard_of) of every member's `all`; it may lie in its place in `all`.
    virtual Met reduce_scatter(Channel channel, std::span<const int> group, Elements all, Elements mine) = 0;
    /// Every member gets what rank `root` of the group has.
    virtual Met broadcast(Channel channel, std::span<const int> group, int root, Elements data) = 0;
    virtual Met barrier(Channel channel, std::span<const int> group) = 0;

    /// Sends and receives between the two proceed together: none of them waits for another to be done, and all have
    /// been issued at the end. Where a call blocks until its data is there, nothing can be put off and nothing needs
    /// to.
    virtual void begin_group() {}
    virtual void end_group() {}

    /// Ends the job: calls of all ranks that wait, and all later ones, throw with this reason.
    virtual void abort(const std::string& reason) = 0;
};

}  // namespace foreshard::runtime
