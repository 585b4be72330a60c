#pragma once

#include "runtime/comm/call_sequence.hpp"

namespace foreshard::runtime::test {

/// Stands for a rank of NCCL: notes what would be issued, moves nothing. What is received is zero.
class RecordingTransport final : public Transport {
public:
    RecordingTransport(CallSequence& sequence, int rank) : sequence_(sequence), rank_(rank) {}

    int rank() const override { return rank_; }
    int size() const override { return static_cast<int>(sequence_.ranks.size()); }
    Met send(Channel channel, int peer, std::span<const std::byte> data) override;
    Met receive(Channel channel, int peer, std::span<std::byte> data) override;
    Met all_reduce(Channel channel, std::span<const int> group, Elements data, Reduction reduction) override;
    Met all_gather(Channel channel, std::span<const int> group, std::span<const std::byte> mine, Elements all) override;
    Met reduce_scatter(Channel channel, std::span<const int> group, Elements all, Elements mine) override;
    Met broadcast(Channel channel, std::span<const int> group, int root, Elements data) override;
    Met barrier(Channel channel, std::span<const int> group) override;
    void begin_group() override;
    void end_group() override;
    void abort(const std::string& /*reason*/) override {}

private:
    void note(const Communicator& communicator, const std::vector<CommCall>& calls);
    void note_collective(Channel channel, std::span<const int> group, const std::vector<CommCall>& calls);
    int place_in(std::span<const int> group) const;

    CallSequence& sequence_;
    int rank_;
    int groups_ = 0;
    bool in_group_ = false;
};

}  // namespace foreshard::runtime::test
