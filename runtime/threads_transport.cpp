#include "runtime/threads_transport.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <thread>
#include <tuple>

#include <fmt/format.h>

#include "runtime/reduce.hpp"

namespace foreshard::runtime {

namespace {

enum class CallKind : std::uint8_t { message, all_reduce, all_gather, reduce_scatter, barrier };

const char* name_of(CallKind kind) {
    switch (kind) {
        case CallKind::message:
            return "message";
        case CallKind::all_reduce:
            return "all-reduce";
        case CallKind::all_gather:
            return "all-gather";
        case CallKind::reduce_scatter:
            return "reduce-scatter";
        case CallKind::barrier:
            return "barrier";
    }
    return "";
}

/// What a member brings to a meeting.
struct Call {
    CallKind kind = CallKind::barrier;
    std::span<const std::byte> input;
    std::span<std::byte> output;
    ElementType type = ElementType::fp32;
    Reduction reduction = Reduction::sum;
    bool here = false;
};

struct Meeting {
    std::vector<Call> calls;  ///< per member
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
    std::deque<std::unique_ptr<Meeting>> meetings;
    std::vector<std::int64_t> calls_made;  ///< per member
    std::int64_t first = 0;                ///< number of the first meeting still kept
};

void copy(std::span<const std::byte> from, std::span<std::byte> to) {
    if (from.data() != to.data() && !from.empty()) std::memmove(to.data(), from.data(), from.size());
}

/// Of what a member gives or takes: the size that must agree.
std::size_t agreed_size(const Call& call) {
    const bool by_output = call.kind == CallKind::all_gather;
    return by_output ? call.output.size() : std::max(call.input.size(), call.output.size());
}

/// Empty when the calls fit together.
std::string mismatch(const LineKey& key, const Meeting& meeting) {
    const Call& first = meeting.calls.front();
    for (std::size_t i = 1; i < meeting.calls.size(); ++i) {
        const Call& other = meeting.calls[i];
        const bool same = other.kind == first.kind && agreed_size(other) == agreed_size(first) &&
                          other.type == first.type && other.reduction == first.reduction;
        if (same) continue;
        const auto side = [&](std::size_t member, const Call& call) {
            const char* role = !key.message ? "calls" : member == 0 ? "sends" : "expects";
            return fmt::format("rank {} {} {} of {} bytes", key.members[member], role, name_of(call.kind),
                               agreed_size(call));
        };
        return fmt::format("{}: {}, but {}", to_string(Channel{key.axis, key.lane}), side(0, first), side(i, other));
    }
    return "";
}

void all_reduce(std::vector<Call>& calls) {
    const Elements total{calls.front().output, calls.front().type};
    copy(calls.front().input, total.bytes);
    for (std::size_t i = 1; i < calls.size(); ++i) reduce_into(total, calls[i].input, calls[i].reduction);
    for (std::size_t i = 1; i < calls.size(); ++i) copy(total.bytes, calls[i].output);
}

void all_gather(std::vector<Call>& calls) {
    for (Call& reader : calls) {
        std::size_t offset = 0;
        for (const Call& writer : calls) {
            copy(writer.input, reader.output.subspan(offset, writer.input.size()));
            offset += writer.input.size();
        }
    }
}

/// Every part is summed up in a buffer of its own, since outputs may lie in inputs.
void reduce_scatter(std::vector<Call>& calls) {
    const std::size_t element = element_bytes(calls.front().type);
    const auto count = static_cast<std::int64_t>(calls.front().input.size() / element);
    const auto members = static_cast<int>(calls.size());
    std::vector<std::vector<std::byte>> sums;
    sums.reserve(calls.size());
    for (int member = 0; member < members; ++member) {
        const Range part = shard_of(count, members, member);
        const std::size_t begin = static_cast<std::size_t>(part.begin) * element;
        const std::size_t bytes = static_cast<std::size_t>(part.size()) * element;
        const auto first = calls.front().input.subspan(begin, bytes);
        std::vector<std::byte> sum(first.begin(), first.end());
        for (std::size_t i = 1; i < calls.size(); ++i) {
            reduce_into({sum, calls[i].type}, calls[i].input.subspan(begin, bytes), Reduction::sum);
        }
        sums.push_back(std::move(sum));
    }
    for (std::size_t i = 0; i < calls.size(); ++i) copy(sums[i], calls[i].output);
}

void carry_out(std::vector<Call>& calls) {
    switch (calls.front().kind) {
        case CallKind::message:
            copy(calls[0].input, calls[1].output);
            return;
        case CallKind::all_reduce:
            return all_reduce(calls);
        case CallKind::all_gather:
            return all_gather(calls);
        case CallKind::reduce_scatter:
            return reduce_scatter(calls);
        case CallKind::barrier:
            return;
    }
}

}  // namespace

/// All lines of a process, under the waiting room's lock.
class ThreadsWorld::Meetings {
public:
    explicit Meetings(std::chrono::duration<double> timeout) : room(timeout) {}

    Met meet(const LineKey& key, int rank, const Call& call);

    WaitingRoom room;

private:
    Meeting& join(Line& line, const LineKey& key, std::size_t member, const Call& call);
    void finish(WaitingRoom::Lock& held, const LineKey& key, Meeting& meeting, int rank);
    void await(WaitingRoom::Lock& held, const LineKey& key, Meeting& meeting, const Call& call);

    std::map<LineKey, Line> lines_;
    std::condition_variable carried_out_;  ///< buffers of a complete meeting are in use until it is done
};

Meeting& ThreadsWorld::Meetings::join(Line& line, const LineKey& key, std::size_t member, const Call& call) {
    line.calls_made.resize(key.members.size());
    const std::int64_t number = line.calls_made[member]++;
    const auto place = static_cast<std::size_t>(number - line.first);
    while (line.meetings.size() <= place) {
        line.meetings.push_back(std::make_unique<Meeting>());
        line.meetings.back()->calls.resize(key.members.size());
    }
    Meeting& meeting = *line.meetings[place];
    meeting.calls[member] = call;
    meeting.calls[member].here = true;
    ++meeting.arrived;
    return meeting;
}

/// The last to arrive does the work of all, without the lock.
void ThreadsWorld::Meetings::finish(WaitingRoom::Lock& held, const LineKey& key, Meeting& meeting, int rank) {
    meeting.met = Clock::now();
    held.unlock();
    const std::string fault = mismatch(key, meeting);
    if (fault.empty()) {
        carry_out(meeting.calls);
    } else {
        room.fail(rank, fault);
    }
    held.lock();
    meeting.done = true;
    carried_out_.notify_all();
    room.changed();
}

void ThreadsWorld::Meetings::await(WaitingRoom::Lock& held, const LineKey& key, Meeting& meeting, const Call& call) {
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

Met ThreadsWorld::Meetings::meet(const LineKey& key, int rank, const Call& call) {
    const auto member =
        static_cast<std::size_t>(std::find(key.members.begin(), key.members.end(), rank) - key.members.begin());
    WaitingRoom::Lock held = room.lock();
    Line& line = lines_[key];
    Meeting& meeting = join(line, key, member, call);
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
    Met barrier(Channel channel, std::span<const int> group) override {
        return collective(channel, group, {CallKind::barrier, {}, {}});
    }
    void abort(const std::string& reason) override { meetings_.room.fail(rank_, reason); }

private:
    Met collective(Channel channel, std::span<const int> group, const Call& call) {
        return meetings_.meet({channel.axis, channel.lane, false, {group.begin(), group.end()}}, rank_, call);
    }

    Meetings& meetings_;
    int rank_;
    int size_;
};

ThreadsWorld::ThreadsWorld(int ranks, std::chrono::duration<double> timeout)
    : meetings_(std::make_unique<Meetings>(timeout)) {
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
