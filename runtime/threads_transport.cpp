#include "runtime/threads_transport.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <thread>
#include <tuple>

#include <fmt/format.h>

namespace foreshard::runtime {

namespace {

struct Encounter {
    std::vector<MemberCall> calls;  ///< per member
    std::size_t arrived = 0;
    std::size_t left = 0;
    bool done = false;
    Clock::time_point met;
    bool complete() const { return arrived == calls.size(); }
};

/// Who meets: of a message the sender and the receiver, of a collective all members.
struct LineKey {
    Axis axis;
    Lane lane;
    bool message;
    std::vector<int> members;
    auto order() const { return std::tie(axis, lane, message, members); }
    bool operator<(const LineKey& other) const { return order() < other.order(); }
};

/// The n-th call of every member meet.
struct Line {
    std::deque<std::unique_ptr<Encounter>> meetings;
    std::vector<std::int64_t> calls_made;  ///< per member
    std::int64_t first = 0;                ///< number of the first meeting still kept
};

/// Of what a member gives or takes: the size that must agree.
std::size_t agreed_size(const MemberCall& call) {
    const bool by_output = call.kind == CallKind::all_gather;
    return by_output ? call.output.size() : std::max(call.input.size(), call.output.size());
}

/// Empty when the calls fit together.
std::string mismatch(const LineKey& key, const Encounter& meeting) {
    const MemberCall& first = meeting.calls.front();
    for (std::size_t i = 1; i < meeting.calls.size(); ++i) {
        const MemberCall& other = meeting.calls[i];
        const bool same = other.kind == first.kind && agreed_size(other) == agreed_size(first) &&
                          other.type == first.type && other.reduction == first.reduction && other.root == first.root;
        if (same) continue;
        const auto side = [&](std::size_t member, const MemberCall& call) {
            const char* role = !key.message ? "calls" : member == 0 ? "sends" : "expects";
            return fmt::format("rank {} {} {} of {} bytes", key.members[member], role, name_of(call.kind),
                               agreed_size(call));
        };
        return fmt::format("{}: {}, but {}", to_string(Channel{key.axis, key.lane}), side(0, first), side(i, other));
    }
    return "";
}

}  // namespace

/// All lines of a process, under the waiting room's lock.
class ThreadsWorld::Meetings {
public:
    Meetings(std::chrono::duration<double> timeout, Carrier carrier) : room(timeout), carrier_(std::move(carrier)) {}

    Met meet(const LineKey& key, int rank, const MemberCall& call);

    WaitingRoom room;

private:
    Encounter& join(Line& line, const LineKey& key, std::size_t member, const MemberCall& call);
    void finish(WaitingRoom::Lock& held, const LineKey& key, Encounter& meeting, int rank);
    void await(WaitingRoom::Lock& held, const LineKey& key, Encounter& meeting, const MemberCall& call);

    void carry_out(const LineKey& key, Encounter& meeting, int rank);

    Carrier carrier_;
    std::map<LineKey, Line> lines_;
    std::condition_variable carried_out_;  ///< buffers of a complete meeting are in use until it is done
};

Encounter& ThreadsWorld::Meetings::join(Line& line, const LineKey& key, std::size_t member, const MemberCall& call) {
    line.calls_made.resize(key.members.size());
    const std::int64_t number = line.calls_made[member]++;
    const auto place = static_cast<std::size_t>(number - line.first);
    while (line.meetings.size() <= place) {
        line.meetings.push_back(std::make_unique<Encounter>());
        line.meetings.back()->calls.resize(key.members.size());
    }
    Encounter& meeting = *line.meetings[place];
    meeting.calls[member] = call;
    meeting.calls[member].here = true;
    if (carrier_.queue) meeting.calls[member].queue = carrier_.queue();
    ++meeting.arrived;
    return meeting;
}

/// A failure is told to all members by the room: they wait until the work is done or has failed.
void ThreadsWorld::Meetings::carry_out(const LineKey& key, Encounter& meeting, int rank) {
    const std::string fault = mismatch(key, meeting);
    if (!fault.empty()) return room.fail(rank, fault);
    const bool on_host = !carrier_.carry || Channel{key.axis, key.lane} == control_channel;
    try {
        if (on_host) {
            carry_on_host(meeting.calls);
        } else {
            carrier_.carry(meeting.calls);
        }
    } catch (const std::exception& error) {
        room.fail(rank, fmt::format("{} on {}: {}", name_of(meeting.calls.front().kind),
                                    to_string(Channel{key.axis, key.lane}), error.what()));
    }
}

/// The last to arrive does the work of all, without the lock.
void ThreadsWorld::Meetings::finish(WaitingRoom::Lock& held, const LineKey& key, Encounter& meeting, int rank) {
    meeting.met = Clock::now();
    held.unlock();
    carry_out(key, meeting, rank);
    held.lock();
    meeting.done = true;
    carried_out_.notify_all();
    room.changed();
}

void ThreadsWorld::Meetings::await(WaitingRoom::Lock& held, const LineKey& key, Encounter& meeting,
                                   const MemberCall& call) {
    const auto what = [&] {
        std::string absent;
        for (std::size_t i = 0; i < key.members.size(); ++i) {
            if (!meeting.calls[i].here) absent += fmt::format("{}{}", absent.empty() ? "" : ", ", key.members[i]);
        }
        return fmt::format("rank {} ({} of {} bytes on {})", absent, name_of(call.kind), agreed_size(call),
                           to_string(Channel{key.axis, key.lane}));
    };
    try {
        room.wait(
            held, [&] { return meeting.done; }, what);
    } catch (const TransportError&) {
        while (meeting.complete() && !meeting.done) carried_out_.wait(held);
        throw;
    }
}

Met ThreadsWorld::Meetings::meet(const LineKey& key, int rank, const MemberCall& call) {
    const auto member =
        static_cast<std::size_t>(std::find(key.members.begin(), key.members.end(), rank) - key.members.begin());
    WaitingRoom::Lock held = room.lock();
    Line& line = lines_[key];
    Encounter& meeting = join(line, key, member, call);
    if (meeting.complete()) finish(held, key, meeting, rank);
    await(held, key, meeting, call);
    const Met met{meeting.met};
    if (++meeting.left == meeting.calls.size()) {
        line.meetings.pop_front();
        ++line.first;
    }
    return met;
}

class ThreadsWorld::RankTransport final : public Transport {
public:
    RankTransport(Meetings& meetings, int rank, int size) : meetings_(meetings), rank_(rank), size_(size) {}

    int rank() const override { return rank_; }
    int size() const override { return size_; }

    Met send(Channel channel, int peer, std::span<const std::byte> data) override {
        return meetings_.meet({channel.axis, channel.lane, true, {rank_, peer}}, rank_, {CallKind::message, data, {}});
    }
    Met receive(Channel channel, int peer, std::span<std::byte> data) override {
        return meetings_.meet({channel.axis, channel.lane, true, {peer, rank_}}, rank_, {CallKind::message, {}, data});
    }
    Met all_reduce(Channel channel, std::span<const int> group, Elements data, Reduction reduction) override {
        return collective(channel, group, {CallKind::all_reduce, data.bytes, data.bytes, data.type, reduction});
    }
    Met all_gather(Channel channel, std::span<const int> group, std::span<const std::byte> mine,
                   Elements all) override {
        return collective(channel, group, {CallKind::all_gather, mine, all.bytes, all.type});
    }
    Met reduce_scatter(Channel channel, std::span<const int> group, Elements all, Elements mine) override {
        return collective(channel, group, {CallKind::reduce_scatter, all.bytes, mine.bytes, all.type});
    }
    Met broadcast(Channel channel, std::span<const int> group, int root, Elements data) override {
        MemberCall call{CallKind::broadcast, data.bytes, data.bytes, data.type};
        call.root = static_cast<int>(std::find(group.begin(), group.end(), root) - group.begin());
        return collective(channel, group, call);
    }
    Met barrier(Channel channel, std::span<const int> group) override {
        return collective(channel, group, {CallKind::barrier, {}, {}});
    }
    void abort(const std::string& reason) override { meetings_.room.fail(rank_, reason); }

private:
    Met collective(Channel channel, std::span<const int> group, const MemberCall& call) {
        return meetings_.meet({channel.axis, channel.lane, false, {group.begin(), group.end()}}, rank_, call);
    }

    Meetings& meetings_;
    int rank_;
    int size_;
};

ThreadsWorld::ThreadsWorld(int ranks, std::chrono::duration<double> timeout, Carrier carrier)
    : meetings_(std::make_unique<Meetings>(timeout, std::move(carrier))) {
    ranks_.reserve(static_cast<std::size_t>(ranks));
    for (int r = 0; r < ranks; ++r) ranks_.push_back(std::make_unique<RankTransport>(*meetings_, r, ranks));
}

ThreadsWorld::~ThreadsWorld() = default;

Transport& ThreadsWorld::rank(int rank) {
    return *ranks_[static_cast<std::size_t>(rank)];
}

WaitingRoom& ThreadsWorld::room() {
    return meetings_->room;
}

namespace {

/// One rank's thread; its failure is everyone's.
void run_guarded(ThreadsWorld& world, int rank, const std::function<void(Transport&)>& work) {
    const WaitingRoom::Guest guest(world.room(), rank);
    try {
        work(world.rank(rank));
    } catch (const TransportError& error) {
        world.room().fail(error.rank(), error.what());
    } catch (const std::exception& error) {
        world.room().fail(rank, error.what());
    }
}

}  // namespace

void run_ranks(ThreadsWorld& world, int ranks, const std::function<void(Transport&)>& work) {
    world.room().expect(ranks);
    {
        std::vector<std::jthread> threads;
        threads.reserve(static_cast<std::size_t>(ranks));
        for (int r = 0; r < ranks; ++r) threads.emplace_back([&world, &work, r] { run_guarded(world, r, work); });
    }
    if (const auto failure = world.room().failure()) throw TransportError(failure->rank, failure->reason);
}

}  // namespace foreshard::runtime
