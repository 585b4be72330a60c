#include "runtime/microbench/microbench.hpp"

#include <algorithm>
#include <mutex>
#include <set>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/cpu/cpu_device.hpp"
#include "runtime/threads_transport.hpp"
#include "sim/plan/schedules.hpp"
#include "tests/runtime/null_device.hpp"
#include "tests/support/jobs.hpp"

namespace foreshard::runtime {
namespace {

using testing::IsSupersetOf;

Job plan_of_eight() {
    JobRequest request = foreshard::test::tiny_request(2, 4);
    request.gpus = 8;
    request.dp = 2;
    request.tp = 2;
    request.software = std::string("foreshard");
    request.precision = "fp32";
    return foreshard::test::valid_job(request);
}

std::vector<std::vector<BenchRow>> rows_of_all_ranks(const Job& job) {
    const Schedule schedule = make_schedule(job);
    const TaskGraph graph = lower(job, schedule);
    const Ranks ranks(job);
    const std::vector<Communicator> communicators = communicators_of(job, graph, ranks);
    const BenchSizes sizes = bench_sizes(job, Effort::tiny);
    std::vector<std::vector<BenchRow>> rows(static_cast<std::size_t>(ranks.count()));
    ThreadsWorld world(ranks.count(), std::chrono::seconds(60));
    run_ranks(world, ranks.count(), [&](Transport& transport) {
        const std::unique_ptr<Device> device = make_cpu_device(ElementType::fp32);
        rows[static_cast<std::size_t>(transport.rank())] = run_microbench(*device, transport, communicators, sizes);
    });
    return rows;
}

TEST(BenchTimes, MedianLeastAndNinetieth) {
    const BenchTimes times = times_of({5.0, 1.0, 2.0, 10.0, 3.0, 4.0, 6.0, 7.0, 8.0, 9.0});
    EXPECT_EQ(times.samples, 10);
    EXPECT_DOUBLE_EQ(times.median_us, 5.5);
    EXPECT_DOUBLE_EQ(times.min_us, 1.0);
    EXPECT_DOUBLE_EQ(times.p90_us, 9.0);
    EXPECT_EQ(times_of({}).samples, 0);
    EXPECT_DOUBLE_EQ(times_of({2.0}).p90_us, 2.0);
}

TEST(Microbench, TimesEveryKernelAndEveryGroupOfThePlan) {
    const std::vector<std::vector<BenchRow>> rows = rows_of_all_ranks(plan_of_eight());
    std::set<std::string> found;
    std::set<std::string> channels;
    for (const BenchRow& row : rows[0]) {
        found.insert(row.group + " " + row.op);
        if (!row.channel.empty()) channels.insert(row.channel);
        EXPECT_GT(row.time.samples, 0) << row.group << " " << row.op;
        EXPECT_GT(row.time.median_us, 0.0) << row.group << " " << row.op;
        EXPECT_LE(row.time.min_us, row.time.median_us);
    }
    EXPECT_THAT(found, IsSupersetOf({"gemm forward", "gemm input_grad", "gemm weight_grad", "attention flash_forward",
                                     "attention flash_backward", "memory copy", "memory rms_norm", "optimizer adamw",
                                     "launch fill_one", "collective all_reduce", "collective all_gather",
                                     "collective reduce_scatter", "message send_recv", "overlap compute_alone",
                                     "overlap communication_alone", "overlap compute_beside_communication",
                                     "overlap communication_beside_compute"}));
    EXPECT_THAT(channels, testing::Contains(testing::HasSubstr("tp")));
    EXPECT_THAT(channels, testing::Contains(testing::HasSubstr("dp")));
    EXPECT_THAT(channels, testing::Contains(testing::HasSubstr("pp")));
}

/// Every real rank is in some group of every kind that it belongs to, and all ranks hold the same figures.
TEST(Microbench, AllRanksKnowTheTimesOfCommunication) {
    const std::vector<std::vector<BenchRow>> rows = rows_of_all_ranks(plan_of_eight());
    const auto of_groups = [](const std::vector<BenchRow>& mine) {
        std::vector<double> times;
        for (const BenchRow& row : mine) {
            if (!row.members.empty()) times.push_back(row.time.median_us);
        }
        return times;
    };
    ASSERT_FALSE(of_groups(rows[0]).empty());
    for (const auto& mine : rows) EXPECT_EQ(of_groups(mine), of_groups(rows[0]));
    std::set<int> timed;
    for (const BenchRow& row : rows[0]) {
        for (const std::vector<int>& group : row.members) timed.insert(group.begin(), group.end());
    }
    EXPECT_EQ(timed.size(), 8U);
}

/// Products that take a while.
class SlowDevice final : public test::NullDevice {
public:
    SlowDevice() : NullDevice(ElementType::fp32) {}
    void linear(Tensor /*x*/, Affine /*w*/, Tensor /*y*/) override { wait(); }
    void linear_input_grad(Tensor /*dy*/, Tensor /*w*/, Tensor /*dx*/) override { wait(); }
    void linear_weight_grad(Tensor /*dy*/, Tensor /*x*/, Affine /*dw*/) override { wait(); }

private:
    static void wait() { std::this_thread::sleep_for(std::chrono::milliseconds(80)); }
};

/// Rank 0 times its kernels for longer than the others wait for a lost rank.
TEST(Microbench, OtherRanksOutlastLongKernels) {
    const Job job = plan_of_eight();
    const TaskGraph graph = lower(job, make_schedule(job));
    const Ranks ranks(job);
    const std::vector<Communicator> communicators = communicators_of(job, graph, ranks);
    const BenchSizes sizes = bench_sizes(job, Effort::tiny);
    ThreadsWorld world(ranks.count(), std::chrono::seconds(1));
    const auto begin = std::chrono::steady_clock::now();
    std::size_t rows = 0;
    run_ranks(world, ranks.count(), [&](Transport& transport) {
        SlowDevice device;
        const std::vector<BenchRow> mine = run_microbench(device, transport, communicators, sizes);
        if (transport.rank() == 0) rows = mine.size();
    });
    EXPECT_GT(rows, 20U);
    EXPECT_GT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(1200))
        << "says nothing if it was quick";
}

TEST(BenchSizes, AreThePlansOwn) {
    const Job job = plan_of_eight();
    const BenchSizes sizes = bench_sizes(job, Effort::quick);
    const std::int64_t tokens = job.micro_batch * job.seq_length;
    const GemmSize second_linear{tokens, job.model.hidden, job.model.ffn_hidden / 2};
    EXPECT_NE(std::find(sizes.gemms.begin(), sizes.gemms.end(), second_linear), sizes.gemms.end());
    const BenchSizes full = bench_sizes(job, Effort::full);
    EXPECT_GT(full.gemms.size(), sizes.gemms.size());
    EXPECT_GT(full.message_bytes.back(), sizes.message_bytes.back());
}

}  // namespace
}  // namespace foreshard::runtime
