#include "runtime/mpi_transport.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "runtime/reduce.hpp"

namespace foreshard::runtime {

namespace {

enum CallKind : std::int32_t {
    message,
    all_reduce_header,
    all_gather_header,
    reduce_scatter_header,
    broadcast_header,
    barrier_header
};

/// Messages of a channel may go both ways between two ranks at a time, so what the receiver says has its own tag.
int tag_of(Channel channel) {
    return (static_cast<int>(channel.axis) * 16 + static_cast<int>(channel.lane)) * 2;
}

template <typename T>
std::span<std::byte> bytes_of(T& value) {
    return std::as_writable_bytes(std::span(&value, 1));
}

std::span<std::byte> part_of(Elements all, std::size_t members, std::size_t member) {
    const std::size_t element = element_bytes(all.type);
    const Range part =
        shard_of(static_cast<std::int64_t>(all.count()), static_cast<int>(members), static_cast<int>(member));
    return all.bytes.subspan(static_cast<std::size_t>(part.begin) * element,
                             static_cast<std::size_t>(part.size()) * element);
}

}  // namespace

std::size_t MpiTransport::place_in(std::span<const int> group) const {
    return static_cast<std::size_t>(std::find(group.begin(), group.end(), rank_) - group.begin());
}

void MpiTransport::refuse(const Header& mine, int peer, const Header& theirs, const std::string& what) {
    static constexpr const char* names[] = {"message",        "all-reduce", "all-gather",
                                            "reduce-scatter", "broadcast",  "barrier"};
    throw TransportError(rank_,
                         fmt::format("{}: rank {} is at a {} of {} bytes, but rank {} at a {} of {} bytes", what, rank_,
                                     names[mine.kind], mine.total, peer, names[theirs.kind], theirs.total));
}

Met MpiTransport::greet_peer(int peer, int out_tag, int in_tag, const Header& mine, const std::string& what) {
    Header sent = mine;
    Header theirs;
    MpiRequests requests(alarm_);
    requests.send(peer, out_tag, bytes_of(sent));
    requests.receive(peer, in_tag, bytes_of(theirs));
    requests.wait(timeout_, what, rank_);
    if (theirs.kind != mine.kind || theirs.total != mine.total) refuse(mine, peer, theirs, what);
    return {Clock::now()};
}

Met MpiTransport::send(Channel channel, int peer, std::span<const std::byte> data) {
    const auto bytes = static_cast<std::int64_t>(data.size());
    const std::string what = fmt::format("message of {} bytes on {}", bytes, to_string(channel));
    const Met met = greet_peer(peer, tag_of(channel), tag_of(channel) + 1, {message, 0, bytes, bytes}, what);
    MpiRequests requests(alarm_);
    requests.send(peer, tag_of(channel), data);
    requests.wait(timeout_, what, rank_);
    return met;
}

Met MpiTransport::receive(Channel channel, int peer, std::span<std::byte> data) {
    const auto bytes = static_cast<std::int64_t>(data.size());
    const std::string what = fmt::format("message of {} bytes on {}", bytes, to_string(channel));
    const Met met = greet_peer(peer, tag_of(channel) + 1, tag_of(channel), {message, 0, bytes, bytes}, what);
    MpiRequests requests(alarm_);
    requests.receive(peer, tag_of(channel), data);
    requests.wait(timeout_, what, rank_);
    return met;
}

MpiTransport::Greeting MpiTransport::greet(Channel channel, std::span<const int> group, const Header& mine) {
    const std::string what = fmt::format("collective on {}", to_string(channel));
    Greeting greeting;
    greeting.headers.resize(group.size(), mine);
    Header sent = mine;
    MpiRequests requests(alarm_);
    for (std::size_t i = 0; i < group.size(); ++i) {
        if (group[i] == rank_) continue;
        requests.send(group[i], tag_of(channel), bytes_of(sent));
        requests.receive(group[i], tag_of(channel), bytes_of(greeting.headers[i]));
    }
    requests.wait(timeout_, what, rank_);
    for (std::size_t i = 0; i < group.size(); ++i) {
        const Header& theirs = greeting.headers[i];
        const bool same_root = mine.kind != broadcast_header || theirs.bytes == mine.bytes;
        const bool same =
            theirs.kind == mine.kind && theirs.type == mine.type && theirs.total == mine.total && same_root;
        if (!same) refuse(mine, group[i], theirs, what);
    }
    greeting.met = {Clock::now()};
    return greeting;
}

/// Everyone sends its part to everyone.
void MpiTransport::exchange_parts(Channel channel, std::span<const int> group, std::span<const std::byte> mine,
                                  std::span<std::byte> all, std::span<const std::size_t> sizes) {
    MpiRequests requests(alarm_);
    std::size_t offset = 0;
    for (std::size_t i = 0; i < group.size(); ++i) {
        const std::span<std::byte> place = all.subspan(offset, sizes[i]);
        offset += sizes[i];
        if (group[i] != rank_) {
            requests.send(group[i], tag_of(channel), mine);
            requests.receive(group[i], tag_of(channel), place);
        } else if (place.data() != mine.data() && !mine.empty()) {
            std::memmove(place.data(), mine.data(), mine.size());
        }
    }
    requests.wait(timeout_, fmt::format("all-gather on {}", to_string(channel)), rank_);
}

/// Everyone sends every other's part of its own data, and adds up what it gets in the order of ranks.
void MpiTransport::sum_parts(Channel channel, std::span<const int> group, Elements all, std::span<std::byte> mine,
                             Reduction reduction) {
    const std::size_t me = place_in(group);
    std::vector<std::vector<std::byte>> parts(group.size());
    MpiRequests requests(alarm_);
    for (std::size_t i = 0; i < group.size(); ++i) {
        const std::span<std::byte> own = part_of(all, group.size(), me);
        parts[i].assign(own.begin(), own.end());
        if (i == me) continue;
        requests.send(group[i], tag_of(channel), part_of(all, group.size(), i));
        requests.receive(group[i], tag_of(channel), parts[i]);
    }
    requests.wait(timeout_, fmt::format("reduction on {}", to_string(channel)), rank_);
    for (std::size_t i = 1; i < group.size(); ++i) reduce_into({parts[0], all.type}, parts[i], reduction);
    if (!mine.empty()) std::memcpy(mine.data(), parts[0].data(), mine.size());
}

Met MpiTransport::all_reduce(Channel channel, std::span<const int> group, Elements data, Reduction reduction) {
    const auto bytes = static_cast<std::int64_t>(data.bytes.size());
    const Met met = greet(channel, group, {all_reduce_header, static_cast<std::int32_t>(data.type), bytes, bytes}).met;
    std::vector<std::size_t> sizes;
    for (std::size_t i = 0; i < group.size(); ++i) sizes.push_back(part_of(data, group.size(), i).size());
    const std::span<std::byte> mine = part_of(data, group.size(), place_in(group));
    sum_parts(channel, group, data, mine, reduction);
    exchange_parts(channel, group, mine, data.bytes, sizes);
    return met;
}

Met MpiTransport::all_gather(Channel channel, std::span<const int> group, std::span<const std::byte> mine,
                             Elements all) {
    const auto bytes = static_cast<std::int64_t>(mine.size());
    const Greeting greeting =
        greet(channel, group, {all_gather_header, 0, bytes, static_cast<std::int64_t>(all.bytes.size())});
    std::vector<std::size_t> sizes;
    for (const Header& header : greeting.headers) sizes.push_back(static_cast<std::size_t>(header.bytes));
    exchange_parts(channel, group, mine, all.bytes, sizes);
    return greeting.met;
}

Met MpiTransport::reduce_scatter(Channel channel, std::span<const int> group, Elements all, Elements mine) {
    const auto bytes = static_cast<std::int64_t>(all.bytes.size());
    const Met met =
        greet(channel, group, {reduce_scatter_header, static_cast<std::int32_t>(all.type), bytes, bytes}).met;
    sum_parts(channel, group, all, mine.bytes, Reduction::sum);
    return met;
}

Met MpiTransport::broadcast(Channel channel, std::span<const int> group, int root, Elements data) {
    const Header header{broadcast_header, static_cast<std::int32_t>(data.type), root,
                        static_cast<std::int64_t>(data.bytes.size())};
    const Met met = greet(channel, group, header).met;
    MpiRequests requests(alarm_);
    for (const int member : group) {
        if (root == rank_ && member != rank_) requests.send(member, tag_of(channel), data.bytes);
    }
    if (root != rank_) requests.receive(root, tag_of(channel), data.bytes);
    requests.wait(timeout_, fmt::format("broadcast of rank {} on {}", root, to_string(channel)), rank_);
    return met;
}

Met MpiTransport::barrier(Channel channel, std::span<const int> group) {
    return greet(channel, group, {barrier_header, 0, 0, 0}).met;
}

}  // namespace foreshard::runtime
