#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/cuda/check.hpp"
#include "runtime/cuda/cuda_device.hpp"
#include "runtime/gpu.hpp"
#include "runtime/job_run.hpp"
#include "runtime/memory_pool.hpp"
#include "runtime/threads_transport.hpp"
#include "tests/runtime/check_grid.hpp"

/// Ranks as threads that share one GPU.
namespace foreshard::runtime {
namespace {

class VirtualRanks : public testing::Test {
protected:
    void SetUp() override {
        if (const std::string missing = cuda::missing_gpu(); !missing.empty()) GTEST_SKIP() << missing;
    }
};

Outcome check_on_gpu(const Job& job, ElementType type) {
    const Schedule schedule = make_schedule(job);
    const TaskGraph graph = lower(job, schedule);
    const Ranks ranks(job);
    const Plan plan{job, schedule, graph, ranks};
    JobOptions options;
    options.check = true;
    options.timeout = std::chrono::seconds(60);
    options.carrier = gpu_carrier();
    options.train.steps = 2;
    options.train.type = type;
    options.train.device = gpu_devices({type, MathMode::exact, GraphCapture::off, 0});
    options.train.model.optimizer = OptimizerKind::sgd;
    options.train.model.update.learning_rate = 0.1;
    return run_as_threads(plan, options, {[](const RunRecord&) {}});
}

/// Every pair of schedule, scheme, degrees, recomputation and overlap, against the training on one rank.
TEST_F(VirtualRanks, EveryPlanOfTheCoveringSetTrainsAsOneRank) {
    for (const GridPoint& point : covering_points(4000, 7)) {
        SCOPED_TRACE(to_string(point));
        const Outcome outcome = check_on_gpu(*job_of(point), ElementType::fp64);
        ASSERT_FALSE(outcome.failure) << outcome.failure->reason;
        EXPECT_TRUE(outcome.comparison->passed()) << outcome.comparison->worst.relative;
    }
}

/// Members come at different times; nobody's result may be early.
TEST_F(VirtualRanks, ResultsWaitForTheSlowestQueue) {
    constexpr int ranks = 4;
    ThreadsWorld world(ranks, std::chrono::seconds(30), gpu_carrier());
    run_ranks(world, ranks, [&](Transport& transport) {
        cuda::CudaDevice device({});
        MemoryPool pool(device, std::size_t{16} << 20, Poison::off);
        const Buffer data(pool, MemoryKind::gradients, 1024, 1024);
        const std::vector<int> group = {0, 1, 2, 3};
        for (int round = 0; round < 5; ++round) {
            device.begin_run(Recording::off);
            for (int i = 0; i < 40 * transport.rank(); ++i) device.fill(data.tensor(), -7.0);
            device.fill(data.tensor(), transport.rank() + round);
            transport.all_reduce({Axis::dp, Lane::dp}, group, {data.span(), ElementType::fp32}, Reduction::sum);
            device.end_run();
            const std::vector<double> values = device.load(data.tensor());
            EXPECT_EQ(values.front(), 6.0 + 4.0 * round);
            EXPECT_EQ(values.back(), 6.0 + 4.0 * round);
        }
    });
}

TEST_F(VirtualRanks, SizesThatDifferAreNamed) {
    ThreadsWorld world(2, std::chrono::seconds(30), gpu_carrier());
    try {
        run_ranks(world, 2, [&](Transport& transport) {
            cuda::CudaDevice device({});
            MemoryPool pool(device, std::size_t{1} << 20, Poison::off);
            const Buffer data(pool, MemoryKind::messages, 1, 64 + transport.rank());
            if (transport.rank() == 0) {
                transport.send({Axis::pp, Lane::send_forward}, 1, data.span());
            } else {
                transport.receive({Axis::pp, Lane::send_forward}, 0, data.span());
            }
        });
        FAIL() << "must be found";
    } catch (const TransportError& error) {
        EXPECT_THAT(error.what(), testing::HasSubstr("256 bytes"));
    }
}

}  // namespace
}  // namespace foreshard::runtime
