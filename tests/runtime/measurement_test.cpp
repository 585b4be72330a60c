#include "runtime/measurement.hpp"

#include <gtest/gtest.h>

#include "runtime/transfer_time.hpp"
#include "tests/support/jobs.hpp"

namespace foreshard::runtime {
namespace {

using std::chrono::milliseconds;

/// Two pipeline ranks with two replicas: each message, and each reduction over replicas, starts with its last member's
/// turn, but not behind its own end.
TEST(Measurement, ArrivalsAreTheTurnsOfTheLastMembers) {
    JobRequest request = foreshard::test::tiny_request(2, 2);
    request.dp = 2;
    request.gpus = 4;
    const Job job = foreshard::test::valid_job(request);
    const Schedule schedule = make_schedule(job);
    const TaskGraph graph = lower(job, schedule);
    const Ranks ranks(job);
    const Plan plan{job, schedule, graph, ranks};
    Outcome outcome;
    outcome.ranks.resize(4);
    const auto turn = [](int rank, std::int32_t task) {
        return Clock::time_point(milliseconds(1000 + 10 * rank + 3 * (task % 5)));
    };
    for (int rank = 0; rank < 4; ++rank) {
        RankRecord& record = outcome.ranks[static_cast<std::size_t>(rank)];
        record.rank = rank;
        record.runs.resize(2);  // the second is not recorded
        const TaskRange range = tasks_of(graph, ranks.position(rank).pp);
        record.runs[0].spans.first_task = range.first;
        for (std::int32_t task = range.first; task < range.last; ++task) {
            record.runs[0].spans.spans.push_back(
                {turn(rank, task), turn(rank, task), turn(rank, task) + milliseconds(25)});
        }
    }
    find_arrivals(plan, outcome);
    int later = 0;
    for (int rank = 0; rank < 4; ++rank) {
        const RankSpans& spans = outcome.ranks[static_cast<std::size_t>(rank)].runs[0].spans;
        for (std::size_t i = 0; i < spans.spans.size(); ++i) {
            const auto task = spans.first_task + static_cast<std::int32_t>(i);
            const std::int32_t comm = graph.tasks[static_cast<std::size_t>(task)].comm;
            std::vector<MemberTimes> times = {{turn(rank, task), spans.spans[i].end}};
            if (comm >= 0) {
                const auto members = graph.members_of(comm);
                for (int other = 0; other < 4; ++other) {
                    const bool same_replica = ranks.position(other).dp == ranks.position(rank).dp;
                    for (const std::int32_t member : members) {
                        const bool meets =
                            members.size() == 1 ? ranks.position(other).pp == ranks.position(rank).pp : same_replica;
                        const TaskRange range = tasks_of(graph, ranks.position(other).pp);
                        if (!meets || member < range.first || member >= range.last) continue;
                        times.push_back({turn(other, member), turn(other, member) + milliseconds(25)});
                    }
                }
            }
            const Clock::time_point expected =
                comm < 0 ? turn(rank, task) : std::max(spans.spans[i].end - transfer_time(times), turn(rank, task));
            EXPECT_EQ(spans.spans[i].start, expected) << "rank " << rank << ", " << task_name(graph, task);
            later += spans.spans[i].start > spans.spans[i].issued ? 1 : 0;
        }
    }
    EXPECT_GT(later, 4);
}

TEST(TransferTime, CountsFromTheLastArrivalToTheFirstEnd) {
    const auto at = [](int ms) { return Clock::time_point(milliseconds(ms)); };
    const std::vector<MemberTimes> members = {{at(0), at(100)}, {at(70), at(101)}, {at(20), at(99)}};
    EXPECT_EQ(transfer_time(members), milliseconds(29));
    // Clocks that are set against each other within a microsecond may say so.
    const std::vector<MemberTimes> skewed = {{at(0), at(50)}, {at(51), at(60)}};
    EXPECT_EQ(transfer_time(skewed), milliseconds(0));
    EXPECT_EQ(transfer_time({}), milliseconds(0));
}

}  // namespace
}  // namespace foreshard::runtime
