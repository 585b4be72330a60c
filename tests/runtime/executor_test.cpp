#include "runtime/executor.hpp"

#include <algorithm>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/meeting.hpp"
#include "runtime/threads_transport.hpp"
#include "sim/spec/schedule_kinds.hpp"
#include "tests/support/jobs.hpp"

/// The executor without numerics: every message and collective carries the number of its comm in the graph, so that a
/// rank that meets others in another order than the graph's is found.
namespace foreshard::runtime {
namespace {

class NumberedComms {
public:
    NumberedComms(const TaskGraph& graph, const Ranks& ranks, Transport& transport)
        : graph_(graph), ranks_(ranks), transport_(transport) {}

    std::optional<Met> perform(std::int32_t task) {
        const Task& t = graph_.tasks[static_cast<std::size_t>(task)];
        if (t.comm < 0) return std::nullopt;
        const Meeting meeting = meeting_of(graph_, ranks_, transport_.rank(), task);
        double number = graph_.members_of(t.comm).size() == 1 ? place_on_stream(task) : t.comm;
        const double expected = number;
        const std::span<std::byte> bytes = std::as_writable_bytes(std::span(&number, 1));
        Met met;
        if (t.kind == TaskKind::send) {
            met = transport_.send(meeting.channel, meeting.peer, bytes);
        } else if (t.kind == TaskKind::recv) {
            number = -1.0;
            met = transport_.receive(meeting.channel, meeting.peer, bytes);
        } else {
            // The largest number, and the largest of the negated ones: equal only if all members bring the same.
            double negated = -number;
            met = transport_.all_reduce(meeting.channel, meeting.group, {bytes, ElementType::fp64}, Reduction::max);
            transport_.all_reduce(meeting.channel, meeting.group,
                                  {std::as_writable_bytes(std::span(&negated, 1)), ElementType::fp64}, Reduction::max);
            EXPECT_EQ(negated, -expected) << task_name(graph_, task);
        }
        EXPECT_EQ(number, expected) << task_name(graph_, task);
        return met;
    }

private:
    double place_on_stream(std::int32_t task) const { return task - graph_.stream_of(task).first; }

    const TaskGraph& graph_;
    const Ranks& ranks_;
    Transport& transport_;
};

/// Per real rank.
std::vector<RankSpans> run_all(const Job& job, const TaskGraph& graph) {
    const Ranks ranks(job);
    ThreadsWorld world(ranks.count());
    world.room().name_tasks([&](int task) { return task_name(graph, task); });
    std::vector<RankSpans> spans(static_cast<std::size_t>(ranks.count()));
    run_ranks(world, ranks.count(), [&](Transport& transport) {
        NumberedComms comms(graph, ranks, transport);
        const int rank = transport.rank();
        spans[static_cast<std::size_t>(rank)] = execute(graph, ranks.position(rank).pp, rank, world.room(),
                                                        [&](std::int32_t task) { return comms.perform(task); });
    });
    return spans;
}

/// The promise, for the spans of one rank: on every stream the tasks of the graph, in its order, after what they need.
void expect_order(const TaskGraph& graph, int simulated_rank, const RankSpans& rank) {
    const auto span_of = [&](std::int32_t task) {
        return rank.spans[static_cast<std::size_t>(task - rank.first_task)];
    };
    for (const Stream& stream : graph.streams) {
        if (stream.rank != simulated_rank) continue;
        for (std::int32_t task = stream.first; task < stream.last; ++task) {
            const TaskSpan span = span_of(task);
            EXPECT_LE(span.issued, span.start);
            EXPECT_LE(span.start, span.end);
            const TaskSpan before = span_of(std::max(task - 1, stream.first));
            EXPECT_TRUE(task == stream.first || before.end <= span.issued) << task_name(graph, task);
            const Task& t = graph.tasks[static_cast<std::size_t>(task)];
            for (std::uint32_t d = 0; d < t.deps; ++d) {
                EXPECT_GE(span.issued, span_of(graph.deps[t.first_dep + d]).end) << task_name(graph, task);
            }
        }
    }
}

void expect_promise(const Job& job) {
    const TaskGraph graph = lower(job, make_schedule(job));
    const Ranks ranks(job);
    const std::vector<RankSpans> spans = run_all(job, graph);
    std::size_t executed = 0;
    for (int rank = 0; rank < ranks.count(); ++rank) {
        const RankSpans& mine = spans[static_cast<std::size_t>(rank)];
        expect_order(graph, ranks.position(rank).pp, mine);
        executed += mine.spans.size();
    }
    EXPECT_EQ(executed, graph.tasks.size() * static_cast<std::size_t>(ranks.count() / graph.ranks));
}

JobRequest request_of(int pp, int tp, int dp, int m) {
    JobRequest request = test::tiny_request(pp, m * dp);
    request.tp = tp;
    request.dp = dp;
    request.gpus = pp * tp * dp;
    return request;
}

TEST(Executor, RunsTheTasksOfEveryScheduleInTheGraphsOrder) {
    int schedules = 0;
    for (const ScheduleTraits& traits : schedule_kinds()) {
        for (const int pp : {2, 4}) {
            JobRequest request = request_of(pp, 1, 1, 8);
            if (traits.kind == ScheduleKind::none) continue;
            request.schedule = std::string(traits.id);
            request.vpp = traits.chunks;
            request.num_layers = pp * traits.chunks;
            SCOPED_TRACE(std::string(traits.id) + " on " + std::to_string(pp));
            expect_promise(test::valid_job(request));
            ++schedules;
        }
    }
    EXPECT_EQ(schedules, 46);
}

TEST(Executor, RunsTheTasksOfEveryDataParallelScheme) {
    for (const std::string scheme :
         {"ddp", "zero-1", "zero-1 overlapped", "zero-2", "zero-3", "fsdp1", "fsdp2", "hsdp"}) {
        for (const int pp : {1, 2}) {
            JobRequest request = request_of(pp, 1, 4, 4);
            if (pp == 2 && (scheme == "zero-2" || scheme == "zero-3")) continue;
            if (scheme.starts_with("zero")) request.zero = scheme[5] - '0';
            if (!scheme.starts_with("zero")) request.data_parallel = scheme;
            if (scheme == "hsdp") request.fsdp_shard_size = 2;
            request.overlap_grad_reduce = true;
            request.overlap_param_gather = scheme == "zero-1 overlapped";
            SCOPED_TRACE(scheme + ", pp " + std::to_string(pp));
            expect_promise(test::valid_job(request));
        }
    }
}

TEST(Executor, MixesAxesInEveryOrderOfRanks) {
    for (const char* order : {"tp-cp-ep-dp-pp", "pp-dp-cp-ep-tp", "dp-pp-tp-cp-ep"}) {
        JobRequest request = request_of(2, 2, 2, 4);
        request.order = order;
        request.use_distributed_optimizer = true;
        SCOPED_TRACE(order);
        expect_promise(test::valid_job(request));
    }
}

TEST(Executor, NamesRankAndTaskOfAFailure) {
    const Job job = test::valid_job(request_of(2, 1, 1, 4));
    const TaskGraph graph = lower(job, make_schedule(job));
    const Ranks ranks(job);
    ThreadsWorld world(2);
    std::string failure;
    try {
        run_ranks(world, 2, [&](Transport& transport) {
            NumberedComms comms(graph, ranks, transport);
            execute(graph, transport.rank(), transport.rank(), world.room(), [&](std::int32_t task) {
                if (task_name(graph, task) == "1F2") throw std::bad_alloc();
                return comms.perform(task);
            });
        });
    } catch (const TransportError& error) {
        failure = error.what();
        EXPECT_EQ(error.rank(), 1);
    }
    EXPECT_EQ(failure, "rank 1 failed in 1F2: std::bad_alloc");
}

TEST(Executor, SaysWhoWaitsForWhomWhenAMessageIsNeverSent) {
    const Job job = test::valid_job(request_of(2, 1, 1, 4));
    const TaskGraph graph = lower(job, make_schedule(job));
    const Ranks ranks(job);
    ThreadsWorld world(2);
    world.room().name_tasks([&](int task) { return task_name(graph, task); });
    std::string failure;
    try {
        run_ranks(world, 2, [&](Transport& transport) {
            NumberedComms comms(graph, ranks, transport);
            execute(graph, transport.rank(), transport.rank(), world.room(), [&](std::int32_t task) {
                const bool lost = task_name(graph, task) == "send 1F3";
                return lost ? std::optional<Met>{} : comms.perform(task);
            });
        });
    } catch (const TransportError& error) {
        failure = error.what();
    }
    EXPECT_THAT(failure, testing::HasSubstr("deadlock: no rank can go on"));
    EXPECT_THAT(failure, testing::HasSubstr("rank 1 in receive 1F3 waits for rank 0"));
    EXPECT_THAT(failure, testing::HasSubstr("rank 1 in 1F3 waits for task receive 1F3 of its own rank"));
}

}  // namespace
}  // namespace foreshard::runtime
