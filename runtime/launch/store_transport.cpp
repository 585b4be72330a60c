#include "runtime/launch/store_transport.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "runtime/launch/store_protocol.hpp"
#include "runtime/reduce.hpp"

namespace foreshard::runtime {

namespace {

std::string channel_key(Channel channel) {
    return fmt::format("{}.{}", to_string(channel.axis), to_string(channel.lane));
}

/// Groups may have thousands of members: their hash (FNV-1a) stands for them.
std::string group_key(std::span<const int> group) {
    std::uint64_t hash = 14695981039346656037ULL;
    for (const int member : group) hash = (hash ^ static_cast<std::uint64_t>(member)) * 1099511628211ULL;
    return fmt::format("{}x{}.{:x}", group.front(), group.size(), hash);
}

std::vector<std::byte> sum_of(std::vector<std::vector<std::byte>>& parts, ElementType type, Reduction reduction) {
    for (std::size_t i = 1; i < parts.size(); ++i) reduce_into({parts[0], type}, parts[i], reduction);
    return std::move(parts[0]);
}

void copy_bytes(std::span<const std::byte> from, std::span<std::byte> to) {
    if (!to.empty()) std::memcpy(to.data(), from.data(), to.size());
}

}  // namespace

StoreTransport::StoreTransport(Store store, int rank, int size, std::chrono::duration<double> timeout)
    : store_(std::move(store)), rank_(rank), size_(size), timeout_(timeout) {}

std::string StoreTransport::waits() {
    const std::lock_guard<std::mutex> held(mutex_);
    std::string text;
    for (const auto& [thread, what] : waits_) text += (text.empty() ? "" : "; ") + what;
    return text;
}

std::string StoreTransport::next_key(const std::string& line) {
    const std::lock_guard<std::mutex> held(mutex_);
    return fmt::format("{}.{}", line, calls_made_[line]++);
}

std::vector<std::byte> StoreTransport::await(const std::string& key, const std::string& what) {
    const auto note = [&](const std::string& text) {
        const std::lock_guard<std::mutex> held(mutex_);
        if (text.empty()) {
            waits_.erase(std::this_thread::get_id());
        } else {
            waits_[std::this_thread::get_id()] = text;
        }
    };
    note(what);
    try {
        std::vector<std::byte> value = store_.get(key, timeout_);
        note("");
        return value;
    } catch (const TransportError& error) {
        note("");
        if (error.rank() != rank_) throw;
        throw TransportError(rank_, fmt::format("rank {} waited for {}: {}", rank_, what, error.what()));
    }
}

/// What came behind the header, once that is found to fit.
std::span<const std::byte> StoreTransport::body_of(const Header& mine, int peer, std::span<const std::byte> came,
                                                   const std::string& what) {
    Header theirs;
    if (came.size() >= sizeof theirs) {
        std::memcpy(&theirs, came.data(), sizeof theirs);
        check(mine, peer, theirs, what);
        const std::span<const std::byte> body = came.subspan(sizeof theirs);
        // Of a gather each brings a part, to a broadcast only the root brings something.
        const bool brings = mine.kind != Kind::broadcast || mine.root == peer;
        const std::size_t wanted = brings ? static_cast<std::size_t>(mine.total) : 0;
        if (mine.kind == Kind::all_gather || body.size() == wanted) return body;
    }
    const std::string reason =
        fmt::format("{}: what rank {} brought was cut: {} bytes came to rank {}", what, peer, came.size(), rank_);
    store_.fail(rank_, reason);
    throw TransportError(rank_, reason);
}

void StoreTransport::check(const Header& mine, int peer, const Header& theirs, const std::string& what) {
    if (mine == theirs) return;
    static constexpr const char* names[] = {"message",        "all-reduce", "all-gather",
                                            "reduce-scatter", "broadcast",  "barrier"};
    const auto name = [](const Header& header) {
        return names[std::clamp(static_cast<int>(header.kind), 0, static_cast<int>(Kind::barrier))];
    };
    const std::string reason = fmt::format("{}: rank {} is at a {} of {} bytes, but rank {} at a {} of {} bytes", what,
                                           rank_, name(mine), mine.total, peer, name(theirs), theirs.total);
    store_.fail(rank_, reason);
    throw TransportError(rank_, reason);
}

Met StoreTransport::send(Channel channel, int peer, std::span<const std::byte> data) {
    const std::string key = next_key(fmt::format("{}.{}-to-{}", channel_key(channel), rank_, peer));
    const Header header{Kind::message, 0, 0, 0, static_cast<std::int64_t>(data.size())};
    store_.set(key, joined({std::as_bytes(std::span(&header, 1)), data}), 1);
    await(key + ".taken", fmt::format("rank {} (message of {} bytes on {})", peer, data.size(), to_string(channel)));
    return {Clock::now()};
}

Met StoreTransport::receive(Channel channel, int peer, std::span<std::byte> data) {
    const std::string key = next_key(fmt::format("{}.{}-to-{}", channel_key(channel), peer, rank_));
    const std::string what = fmt::format("message of {} bytes on {}", data.size(), to_string(channel));
    const std::vector<std::byte> came = await(key, fmt::format("rank {} ({})", peer, what));
    const Met met{Clock::now()};
    const Header mine{Kind::message, 0, 0, 0, static_cast<std::int64_t>(data.size())};
    copy_bytes(body_of(mine, peer, came, what), data);
    store_.set(key + ".taken", {}, 1);
    return met;
}

/// The first member takes in what the others bring, and gives out the result.
std::vector<std::byte> StoreTransport::collect(const std::string& key, std::span<const int> group, const Header& mine,
                                               std::span<const std::byte> data, const Combine& combine,
                                               const std::string& what) {
    Parts parts;
    parts.reserve(group.size());
    parts.emplace_back(data.begin(), data.end());
    for (const int member : group.subspan(1)) {
        const std::vector<std::byte> came =
            await(fmt::format("{}.from.{}", key, member), fmt::format("rank {} ({})", member, what));
        const std::span<const std::byte> body = body_of(mine, member, came, what);
        parts.emplace_back(body.begin(), body.end());
    }
    std::vector<std::byte> result = combine(parts);
    if (group.size() > 1) store_.set(key + ".all", result, static_cast<int>(group.size()) - 1);
    return result;
}

std::vector<std::byte> StoreTransport::exchange(Channel channel, std::span<const int> group, const Header& mine,
                                                std::span<const std::byte> data, const Combine& combine) {
    const std::string key = next_key(fmt::format("{}.{}", channel_key(channel), group_key(group)));
    const std::string what = fmt::format("collective of {} bytes on {}", mine.total, to_string(channel));
    if (group.front() == rank_) return collect(key, group, mine, data, combine, what);
    store_.set(fmt::format("{}.from.{}", key, rank_), joined({std::as_bytes(std::span(&mine, 1)), data}), 1);
    return await(key + ".all", fmt::format("rank {} ({})", group.front(), what));
}

Met StoreTransport::all_reduce(Channel channel, std::span<const int> group, Elements data, Reduction reduction) {
    const Header header{Kind::all_reduce, static_cast<std::int32_t>(data.type), static_cast<std::int32_t>(reduction), 0,
                        static_cast<std::int64_t>(data.bytes.size())};
    copy_bytes(
        exchange(channel, group, header, data.bytes, [&](Parts& parts) { return sum_of(parts, data.type, reduction); }),
        data.bytes);
    return {Clock::now()};
}

Met StoreTransport::all_gather(Channel channel, std::span<const int> group, std::span<const std::byte> mine,
                               Elements all) {
    const Header header{Kind::all_gather, static_cast<std::int32_t>(all.type), 0, 0,
                        static_cast<std::int64_t>(all.bytes.size())};
    const std::vector<std::byte> whole = exchange(channel, group, header, mine, [](Parts& parts) {
        return joined({parts.begin(), parts.end()});
    });
    if (whole.size() != all.bytes.size()) {
        throw TransportError(rank_, fmt::format("all-gather on {}: the parts have {} bytes, but rank {} has room for "
                                                "{} bytes",
                                                to_string(channel), whole.size(), rank_, all.bytes.size()));
    }
    copy_bytes(whole, all.bytes);
    return {Clock::now()};
}

Met StoreTransport::reduce_scatter(Channel channel, std::span<const int> group, Elements all, Elements mine) {
    const Header header{Kind::reduce_scatter, static_cast<std::int32_t>(all.type), 0, 0,
                        static_cast<std::int64_t>(all.bytes.size())};
    const std::vector<std::byte> sum = exchange(channel, group, header, all.bytes,
                                                [&](Parts& parts) { return sum_of(parts, all.type, Reduction::sum); });
    const auto place = static_cast<int>(std::find(group.begin(), group.end(), rank_) - group.begin());
    const Range part = shard_of(static_cast<std::int64_t>(all.count()), static_cast<int>(group.size()), place);
    copy_bytes(std::span(sum).subspan(static_cast<std::size_t>(part.begin) * element_bytes(all.type)), mine.bytes);
    return {Clock::now()};
}

Met StoreTransport::broadcast(Channel channel, std::span<const int> group, int root, Elements data) {
    const Header header{Kind::broadcast, static_cast<std::int32_t>(data.type), 0, root,
                        static_cast<std::int64_t>(data.bytes.size())};
    const std::span<const std::byte> mine = root == rank_ ? data.bytes : std::span<const std::byte>();
    const auto place = static_cast<std::size_t>(std::find(group.begin(), group.end(), root) - group.begin());
    copy_bytes(exchange(channel, group, header, mine, [&](Parts& parts) { return std::move(parts[place]); }),
               data.bytes);
    return {Clock::now()};
}

Met StoreTransport::barrier(Channel channel, std::span<const int> group) {
    exchange(channel, group, {Kind::barrier, 0, 0, 0, 0}, {}, [](Parts&) { return std::vector<std::byte>(); });
    return {Clock::now()};
}

}  // namespace foreshard::runtime
