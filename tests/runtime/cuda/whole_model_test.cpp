#include <atomic>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/job_run.hpp"
#include "runtime/supported.hpp"
#include "tests/runtime/check_grid.hpp"
#include "tests/runtime/cuda/emulated_device.hpp"
#include "tests/support/jobs.hpp"

/// Whole plans with the GPU's kernels and the launcher, on the processor, against the same on one rank.
namespace foreshard::runtime {
namespace {

/// Says that it runs behind, and finds calls inside a run that would have to wait for it.
class WatchedDevice final : public test::EmulatedDevice {
public:
    WatchedDevice(ElementType type, std::atomic<int>& waits) : EmulatedDevice(type), waits_(waits) {}
    bool runs_behind() const override { return true; }
    void begin_run(Recording /*recording*/) override { running_ = true; }
    void end_run() override {
        EmulatedDevice::end_run();
        running_ = false;
    }
    void store(Tensor to, std::span<const double> values) override {
        if (running_) ++waits_;
        EmulatedDevice::store(to, values);
    }
    std::vector<double> load(Tensor from) const override {
        if (running_) ++waits_;
        return EmulatedDevice::load(from);
    }

private:
    std::atomic<int>& waits_;
    bool running_ = false;
};

JobRequest small_request(const std::string& model, int pp, int dp, int tp) {
    JobRequest request = foreshard::test::tiny_request(pp, 2 * dp);
    request.model = model;
    request.software = std::string("foreshard");
    request.precision = "fp32";
    request.num_layers = 2;
    request.seq_length = 12;
    request.vocab_size = 30;
    request.dp = dp;
    request.tp = tp;
    request.gpus = pp * dp * tp;
    return request;
}

Outcome run_watched(const Job& job, ElementType type, OptimizerKind optimizer, std::atomic<int>& waits) {
    const Schedule schedule = make_schedule(job);
    const TaskGraph graph = lower(job, schedule);
    const Ranks ranks(job);
    JobOptions options;
    options.check = true;
    options.timeout = std::chrono::seconds(60);
    options.train.steps = 2;
    options.train.type = type;
    options.train.model.optimizer = optimizer;
    options.train.model.update.learning_rate = 0.1;
    options.train.device = [&](const Plan&, int) { return std::make_unique<WatchedDevice>(type, waits); };
    return run_as_threads({job, schedule, graph, ranks}, options, {[](const RunRecord&) {}});
}

void expect_equal_to_one_rank(const Job& job, ElementType type) {
    std::atomic<int> waits = 0;
    const Outcome outcome = run_watched(job, type, OptimizerKind::sgd, waits);
    ASSERT_FALSE(outcome.failure) << outcome.failure->reason;
    EXPECT_EQ(waits, 0) << "calls inside a run that wait for the device";
    ASSERT_TRUE(outcome.comparison);
    EXPECT_TRUE(outcome.comparison->passed())
        << outcome.comparison->worst.tensor << " by " << outcome.comparison->worst.relative << ", loss by "
        << outcome.comparison->loss_error << testing::PrintToString(outcome.comparison->uncovered);
    EXPECT_GT(outcome.comparison->reference_loss, 1.0);
}

TEST(KernelsOfWholeModels, GiveTheSameAsOneRank) {
    int plans = 0;
    for (const GridPoint& point : covering_points(400, 7)) {
        const std::optional<Job> job = job_of(point);
        if (!job) continue;
        SCOPED_TRACE(to_string(point));
        expect_equal_to_one_rank(*job, ElementType::fp64);
        ++plans;
    }
    EXPECT_GT(plans, 10);
}

/// The processor's own kernels and those of GPUs compute the same model.
TEST(KernelsOfWholeModels, GiveTheLossesOfTheProcessorsKernels) {
    for (const char* model : {"gpt-tiny", "llama-tiny", "bert-tiny"}) {
        const Job job = foreshard::test::valid_job(small_request(model, 1, 1, 1));
        std::atomic<int> waits = 0;
        const Outcome watched = run_watched(job, ElementType::fp64, OptimizerKind::adamw, waits);
        ASSERT_FALSE(watched.failure) << watched.failure->reason;
        const Schedule schedule = make_schedule(job);
        const TaskGraph graph = lower(job, schedule);
        const Ranks ranks(job);
        JobOptions options;
        options.train.steps = 2;
        options.train.type = ElementType::fp64;
        options.train.model.update.learning_rate = 0.1;
        options.train.issuing = Issuing::one_thread;
        const Outcome plain = run_as_threads({job, schedule, graph, ranks}, options, {[](const RunRecord&) {}});
        for (std::size_t run = 0; run < 2; ++run) {
            const double expected = plain.ranks[0].runs[run].losses[0];
            EXPECT_NEAR(watched.ranks[0].runs[run].losses[0], expected, 1e-9 * expected) << model;
        }
    }
}

/// bf16 with states in fp32: pipeline, tensor parallelism and a sharded optimizer against one rank.
TEST(KernelsOfWholeModels, TrainInBf16) {
    JobRequest request = small_request("llama-tiny", 2, 2, 2);
    request.use_distributed_optimizer = true;
    request.precision = "bf16";
    const Job job = foreshard::test::valid_job(request);
    ASSERT_TRUE(unsupported(job, ElementType::bf16).empty());
    expect_equal_to_one_rank(job, ElementType::bf16);
}

}  // namespace
}  // namespace foreshard::runtime
