#include "tests/runtime/comm/recording_transport.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace foreshard::runtime::test {

int RecordingTransport::place_in(std::span<const int> group) const {
    const auto found = std::find(group.begin(), group.end(), rank_);
    if (found == group.end()) throw std::logic_error("a rank calls for a group that it is not in");
    return static_cast<int>(found - group.begin());
}

void RecordingTransport::note(const Communicator& communicator, const std::vector<CommCall>& calls) {
    const auto& known = sequence_.communicators;
    const auto found = std::find(known.begin(), known.end(), communicator);
    if (found == known.end()) throw std::logic_error("no communicator for " + to_string(communicator));
    const bool grouped = in_group_ || calls.size() > 1;
    for (const CommCall& call : calls) {
        sequence_.ranks[static_cast<std::size_t>(rank_)].push_back(
            {static_cast<int>(found - known.begin()), call, grouped ? groups_ : -1});
    }
    if (grouped && !in_group_) ++groups_;
}

void RecordingTransport::note_collective(Channel channel, std::span<const int> group,
                                         const std::vector<CommCall>& calls) {
    if (channel == control_channel || group.size() < 2) return;
    note(group_communicator(channel, group), calls);
}

Met RecordingTransport::send(Channel channel, int peer, std::span<const std::byte> data) {
    note(message_communicator(channel, rank_, peer), {send_call(data, 1)});
    return {};
}

Met RecordingTransport::receive(Channel channel, int peer, std::span<std::byte> data) {
    note(message_communicator(channel, peer, rank_), {receive_call(data, 0)});
    if (!data.empty()) std::memset(data.data(), 0, data.size());
    return {};
}

Met RecordingTransport::all_reduce(Channel channel, std::span<const int> group, Elements data, Reduction reduction) {
    note_collective(channel, group, {all_reduce_call(data, reduction)});
    return {};
}

Met RecordingTransport::all_gather(Channel channel, std::span<const int> group, std::span<const std::byte> mine,
                                   Elements all) {
    if (channel == control_channel) return {};
    const int members = static_cast<int>(group.size());
    const int place = place_in(group);
    const auto part = shard_of(static_cast<std::int64_t>(all.count()), members, place);
    const auto expected = static_cast<std::size_t>(part.size()) * element_bytes(all.type);
    if (mine.size() != expected) throw std::logic_error("a part of a gather is not the member's shard");
    note_collective(channel, group, all_gather_calls(mine, all, members, place));
    return {};
}

Met RecordingTransport::reduce_scatter(Channel channel, std::span<const int> group, Elements all, Elements mine) {
    note_collective(channel, group, reduce_scatter_calls(all, mine, static_cast<int>(group.size()), place_in(group)));
    return {};
}

Met RecordingTransport::broadcast(Channel channel, std::span<const int> group, int root, Elements data) {
    const auto place = std::find(group.begin(), group.end(), root) - group.begin();
    if (root != rank_ && !data.bytes.empty()) std::memset(data.bytes.data(), 0, data.bytes.size());
    note_collective(channel, group, {broadcast_call(data, static_cast<int>(place))});
    return {};
}

Met RecordingTransport::barrier(Channel channel, std::span<const int> /*group*/) {
    if (!(channel == control_channel)) throw std::logic_error("a barrier outside the control channel");
    return {};
}

void RecordingTransport::begin_group() {
    in_group_ = true;
}

void RecordingTransport::end_group() {
    in_group_ = false;
    ++groups_;
}

}  // namespace foreshard::runtime::test
