#include "runtime/microbench/comm_bench.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <thread>
#include <tuple>

#include "runtime/exchange.hpp"
#include "runtime/microbench/bench_tensor.hpp"

namespace foreshard::runtime {

namespace {

constexpr int communication_queue = 1;

/// What makes two communicators alike.
struct Kind {
    Channel channel;
    bool message = false;
    std::size_t members = 0;
    auto order() const { return std::tie(channel.axis, channel.lane, message, members); }
    bool operator<(const Kind& other) const { return order() < other.order(); }
};

std::map<Kind, std::vector<Communicator>> by_kind(const std::vector<Communicator>& communicators) {
    std::map<Kind, std::vector<Communicator>> kinds;
    for (const Communicator& one : communicators) kinds[{one.channel, one.message, one.members.size()}].push_back(one);
    return kinds;
}

bool takes_part(const Communicator& communicator, int rank) {
    const auto& members = communicator.members;
    return std::find(members.begin(), members.end(), rank) != members.end();
}

/// The one that the rank is in, if any. Precondition: they have no rank in common.
const Communicator* own(const std::vector<Communicator>& list, const std::vector<int>& round, int rank) {
    for (const int c : round) {
        if (takes_part(list[static_cast<std::size_t>(c)], rank)) return &list[static_cast<std::size_t>(c)];
    }
    return nullptr;
}

/// What the transport calls so, on one communicator and a buffer of whole size.
struct Operation {
    const char* name;
    void (*issue)(Transport& transport, const Communicator& communicator, Elements all);
};

Elements own_part(const Transport& transport, const Communicator& communicator, Elements all) {
    const auto& members = communicator.members;
    const auto place = std::find(members.begin(), members.end(), transport.rank()) - members.begin();
    const Range part =
        shard_of(static_cast<std::int64_t>(all.count()), static_cast<int>(members.size()), static_cast<int>(place));
    const std::size_t element = element_bytes(all.type);
    return {all.bytes.subspan(static_cast<std::size_t>(part.begin) * element,
                              static_cast<std::size_t>(part.size()) * element),
            all.type};
}

void issue_all_reduce(Transport& transport, const Communicator& communicator, Elements all) {
    transport.all_reduce(communicator.channel, communicator.members, all, Reduction::max);  // does not grow
}
void issue_all_gather(Transport& transport, const Communicator& communicator, Elements all) {
    transport.all_gather(communicator.channel, communicator.members, own_part(transport, communicator, all).bytes, all);
}
void issue_reduce_scatter(Transport& transport, const Communicator& communicator, Elements all) {
    transport.reduce_scatter(communicator.channel, communicator.members, all, own_part(transport, communicator, all));
}
void issue_message(Transport& transport, const Communicator& communicator, Elements all) {
    if (communicator.members.front() == transport.rank()) {
        transport.send(communicator.channel, communicator.members.back(), all.bytes);
    } else {
        transport.receive(communicator.channel, communicator.members.front(), all.bytes);
    }
}

constexpr Operation collectives[] = {
    {"all_reduce", issue_all_reduce}, {"all_gather", issue_all_gather}, {"reduce_scatter", issue_reduce_scatter}};
constexpr Operation messages[] = {{"send_recv", issue_message}};

std::span<const Operation> operations_of(const Kind& kind) {
    if (kind.message) return messages;
    return collectives;
}

/// Means over the ranks that have times; of each rank its own.
BenchTimes mean_over_ranks(Transport& transport, const BenchTimes& mine) {
    BenchTimes mean;
    double ranks = 0.0;
    for (const std::vector<std::byte>& told : tell_all(transport, std::as_bytes(std::span(&mine, 1)))) {
        BenchTimes theirs;
        std::memcpy(&theirs, told.data(), sizeof theirs);
        if (theirs.samples == 0) continue;
        ranks += 1.0;
        mean.samples = theirs.samples;
        mean.median_us += theirs.median_us;
        mean.min_us += theirs.min_us;
        mean.p90_us += theirs.p90_us;
    }
    if (ranks == 0.0) return mean;
    mean.median_us /= ranks;
    mean.min_us /= ranks;
    mean.p90_us /= ranks;
    return mean;
}

class CommBench {
public:
    CommBench(Device& device, Transport& transport, const BenchSizes& sizes)
        : device_(device),
          transport_(transport),
          sizes_(sizes),
          element_(static_cast<std::int64_t>(element_bytes(device.type()))) {}

    void run_kind(const Kind& kind, const std::vector<Communicator>& list);
    std::vector<BenchRow> rows() { return std::move(rows_); }

private:
    BenchTimes time_round(const Communicator* communicator, const Operation& operation, std::int64_t elements);

    Device& device_;
    Transport& transport_;
    const BenchSizes& sizes_;
    std::int64_t element_;
    std::vector<BenchRow> rows_;
};

BenchTimes CommBench::time_round(const Communicator* communicator, const Operation& operation, std::int64_t elements) {
    BenchTimes mine;
    if (communicator != nullptr) {
        const BenchTensor data(device_, 1, elements, device_.type());
        const Elements all{data.span(), device_.type()};
        transport_.barrier(control_channel, all_ranks(transport_));
        mine = time_calls(device_, communication_queue, sizes_.repeats,
                          [&] { operation.issue(transport_, *communicator, all); });
    } else {
        transport_.barrier(control_channel, all_ranks(transport_));
    }
    return mean_over_ranks(transport_, mine);
}

void CommBench::run_kind(const Kind& kind, const std::vector<Communicator>& list) {
    const std::vector<std::vector<int>> rounds = split_rounds(list);
    for (const Operation& operation : operations_of(kind)) {
        for (const std::int64_t bytes : sizes_.message_bytes) {
            // Equal parts, so that a collective is one call of the library.
            const auto members = static_cast<std::int64_t>(kind.members);
            const std::int64_t elements = std::max<std::int64_t>(bytes / element_ / members, 1) * members;
            for (std::size_t round = 0; round < rounds.size(); ++round) {
                const BenchTimes time = time_round(own(list, rounds[round], transport_.rank()), operation, elements);
                BenchRow row{kind.message ? "message" : "collective", operation.name, {}, 0.0, 0.0, time};
                row.channel = to_string(kind.channel);
                row.shape = {{"group_size", members},
                             {"groups", static_cast<std::int64_t>(rounds[round].size())},
                             {"round", static_cast<std::int64_t>(round)},
                             {"message_bytes", elements * element_}};
                for (const int c : rounds[round]) row.members.push_back(list[static_cast<std::size_t>(c)].members);
                rows_.push_back(std::move(row));
            }
        }
    }
}

/// The largest group with collectives, whose communication costs most.
const Communicator* largest_group(const std::vector<Communicator>& communicators) {
    const Communicator* best = nullptr;
    for (const Communicator& one : communicators) {
        if (!one.message && (best == nullptr || one.members.size() > best->members.size())) best = &one;
    }
    return best;
}

class OverlapBench {
public:
    OverlapBench(Device& device, Transport& transport, const BenchSizes& sizes, const Communicator* communicator)
        : device_(device),
          transport_(transport),
          sizes_(sizes),
          communicator_(communicator),
          x_(device, sizes.overlap_gemm.m, sizes.overlap_gemm.k, device.type()),
          w_(device, sizes.overlap_gemm.n, sizes.overlap_gemm.k, device.type()),
          y_(device, sizes.overlap_gemm.m, sizes.overlap_gemm.n, device.type()),
          data_(device, 1, sizes.overlap_bytes / static_cast<std::int64_t>(element_bytes(device.type())),
                device.type()) {}

    std::vector<BenchRow> run();

private:
    struct Both {
        BenchTimes compute;
        BenchTimes communication;
    };
    void compute() { device_.linear(x_.tensor(), {w_.tensor(), {}}, y_.tensor()); }
    void communicate() { issue_all_reduce(transport_, *communicator_, {data_.span(), device_.type()}); }
    Both time_both();
    Both issue_both();
    Both run_both_threads();
    void meet() { transport_.barrier(control_channel, all_ranks(transport_)); }
    void add(const char* op, const BenchTimes& mine);

    Device& device_;
    Transport& transport_;
    const BenchSizes& sizes_;
    const Communicator* communicator_;  ///< none on ranks outside the group
    BenchTensor x_;
    BenchTensor w_;
    BenchTensor y_;
    BenchTensor data_;
    std::vector<BenchRow> rows_;
};

/// Samples of both, side by side on two queues: stamps of one behind those of the other.
OverlapBench::Both OverlapBench::issue_both() {
    const Repeats& repeats = sizes_.repeats;
    const int calls = repeats.warmup + repeats.samples * repeats.inner;
    device_.begin_run(Recording::on);
    fork_queue(device_, communication_queue);
    for (int queue = 0; queue < 2; ++queue) {
        device_.use_queue(queue);
        device_.stamp(2 * queue);
    }
    for (int i = 0; i < calls; ++i) {
        device_.use_queue(0);
        compute();
        device_.use_queue(communication_queue);
        if (communicator_ != nullptr) communicate();
    }
    for (int queue = 0; queue < 2; ++queue) {
        device_.use_queue(queue);
        device_.stamp(2 * queue + 1);
    }
    join_queue(device_, communication_queue);
    device_.end_run();
    const auto stamps = device_.stamps(4);
    const auto mean_us = [&](std::size_t first) {
        return std::chrono::duration<double, std::micro>(stamps[first + 1] - stamps[first]).count() / calls;
    };
    return {times_of({mean_us(0)}), communicator_ != nullptr ? times_of({mean_us(2)}) : BenchTimes{}};
}

/// Where calls block, the other of the two gets a thread.
OverlapBench::Both OverlapBench::run_both_threads() {
    const Repeats& repeats = sizes_.repeats;
    const int calls = repeats.warmup + repeats.samples * repeats.inner;
    const auto mean_us = [calls](const auto& issue) {
        const Clock::time_point begin = Clock::now();
        for (int i = 0; i < calls; ++i) issue();
        return std::chrono::duration<double, std::micro>(Clock::now() - begin).count() / calls;
    };
    Both both;
    {
        const std::jthread computes([&] { both.compute = times_of({mean_us([&] { compute(); })}); });
        if (communicator_ != nullptr) both.communication = times_of({mean_us([&] { communicate(); })});
    }
    return both;
}

OverlapBench::Both OverlapBench::time_both() {
    return device_.runs_behind() ? issue_both() : run_both_threads();
}

void OverlapBench::add(const char* op, const BenchTimes& mine) {
    const GemmSize& gemm = sizes_.overlap_gemm;
    BenchRow row{"overlap", op, {}, 0.0, 0.0, mean_over_ranks(transport_, mine)};
    row.shape = {{"m", gemm.m}, {"n", gemm.n}, {"k", gemm.k}, {"message_bytes", sizes_.overlap_bytes}};
    rows_.push_back(std::move(row));
}

std::vector<BenchRow> OverlapBench::run() {
    meet();
    add("compute_alone", time_calls(device_, 0, sizes_.repeats, [&] { compute(); }));
    BenchTimes alone;
    meet();
    if (communicator_ != nullptr) {
        alone = time_calls(device_, communication_queue, sizes_.repeats, [&] { communicate(); });
    }
    add("communication_alone", alone);
    meet();
    const Both both = time_both();
    add("compute_beside_communication", communicator_ != nullptr ? both.compute : BenchTimes{});
    add("communication_beside_compute", both.communication);
    return std::move(rows_);
}

}  // namespace

std::vector<BenchRow> bench_communication(Device& device, Transport& transport,
                                          const std::vector<Communicator>& communicators, const BenchSizes& sizes) {
    CommBench bench(device, transport, sizes);
    for (const auto& [kind, list] : by_kind(communicators)) {
        const bool inside_step = kind.channel.lane != Lane::compute || kind.channel.axis == Axis::tp;
        if (inside_step) bench.run_kind(kind, list);
    }
    return bench.rows();
}

std::vector<BenchRow> bench_overlap(Device& device, Transport& transport,
                                    const std::vector<Communicator>& communicators, const BenchSizes& sizes) {
    const Communicator* group = largest_group(communicators);
    if (group == nullptr) return {};
    const bool mine = takes_part(*group, transport.rank());
    return OverlapBench(device, transport, sizes, mine ? group : nullptr).run();
}

}  // namespace foreshard::runtime
