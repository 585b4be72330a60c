#include <cstring>

#include <gtest/gtest.h>

#include "runtime/cuda/check.hpp"
#include "runtime/cuda/cuda_device.hpp"
#include "runtime/gpu.hpp"
#include "runtime/job_run.hpp"
#include "runtime/memory_pool.hpp"
#include "tests/support/jobs.hpp"

/// What only a GPU can show: order between queues, captured steps, and whole models.
namespace foreshard::runtime {
namespace {

class Gpu : public testing::Test {
protected:
    void SetUp() override {
        if (const std::string missing = cuda::missing_gpu(); !missing.empty()) GTEST_SKIP() << missing;
    }
};

cuda::CudaOptions options_of(ElementType type) {
    cuda::CudaOptions options;
    options.type = type;
    return options;
}

constexpr std::size_t megabyte = std::size_t{1} << 20;

TEST_F(Gpu, QueuesKeepTheOrderOfMarks) {
    cuda::CudaDevice device(options_of(ElementType::fp32));
    MemoryPool pool(device, 64 * megabyte, Poison::off);
    const Buffer data(pool, MemoryKind::activations, 1024, 4096);
    const Buffer copy(pool, MemoryKind::activations, 1024, 4096);
    for (int round = 0; round < 20; ++round) {
        device.begin_run(Recording::off);
        device.use_queue(0);
        for (int i = 0; i < 50; ++i) device.fill(data.tensor(), i);
        device.fill(data.tensor(), round);
        device.record(0);
        device.use_queue(1);
        device.wait(0);
        device.copy(data.tensor(), copy.tensor());
        device.record(1);
        device.use_queue(0);
        device.wait(1);
        device.fill(data.tensor(), -1.0);
        device.end_run();
        const std::vector<double> values = device.load(copy.tensor());
        EXPECT_EQ(values.front(), round);
        EXPECT_EQ(values.back(), round);
    }
}

/// A block that another queue freed is given out behind its last use.
TEST_F(Gpu, MemoryFollowsQueues) {
    cuda::CudaDevice device(options_of(ElementType::fp32));
    MemoryPool pool(device, 64 * megabyte, Poison::off);
    const std::int64_t count = (40 << 20) / 4;
    const Buffer result(pool, MemoryKind::activations, 1, 1024);
    device.begin_run(Recording::off);
    device.use_queue(0);
    device.record(0);
    device.use_queue(1);
    device.wait(0);
    {
        const Buffer first(pool, MemoryKind::activations, 1, count);
        for (int i = 0; i < 200; ++i) device.fill(first.tensor(), 1.0);
        device.copy(first.tensor().stretch(count - 1024, 1024), result.tensor());
    }
    device.use_queue(0);
    const Buffer second(pool, MemoryKind::activations, 1, count);  // has to be in the same place
    device.fill(second.tensor(), 2.0);
    device.end_run();
    EXPECT_EQ(device.load(result.tensor()).back(), 1.0);
    EXPECT_EQ(device.load(second.tensor()).back(), 2.0);
}

TEST_F(Gpu, SaysWhenItHasNoMemory) {
    cuda::CudaDevice device(options_of(ElementType::fp32));
    EXPECT_THROW(device.allocate(std::size_t{1} << 45), OutOfMemory);
    EXPECT_NE(device.allocate(megabyte), nullptr) << "and goes on";
}

TEST_F(Gpu, StampsAreInOrderOnTheHostsClock) {
    cuda::CudaDevice device(options_of(ElementType::fp32));
    MemoryPool pool(device, 64 * megabyte, Poison::off);
    const Buffer data(pool, MemoryKind::activations, 1024, 4096);
    const auto before = std::chrono::steady_clock::now();
    device.begin_run(Recording::on);
    device.stamp(0);
    for (int i = 0; i < 50; ++i) device.fill(data.tensor(), i);
    device.stamp(1);
    device.end_run();
    const auto stamps = device.stamps(2);
    const auto tolerance = std::chrono::milliseconds(1);
    EXPECT_LT(stamps[0], stamps[1]);
    EXPECT_GT(stamps[0] + tolerance, before);
    EXPECT_LT(stamps[1] - tolerance, std::chrono::steady_clock::now());
}

TEST_F(Gpu, FailedCallsNameThemselvesAndTheirPlace) {
    try {
        cuda::check(cudaSetDevice(100'000), "cudaSetDevice(100000)");
        FAIL();
    } catch (const cuda::DeviceError& error) {
        const std::string text = error.what();
        EXPECT_NE(text.find("gpu_device_test.cpp:"), std::string::npos) << text;
        EXPECT_NE(text.find("cudaSetDevice(100000) failed: cudaErrorInvalidDevice"), std::string::npos) << text;
    }
}

Job one_rank_job_of(const std::string& model) {
    JobRequest request = foreshard::test::tiny_request(1, 4);
    request.model = model;
    request.software = std::string("foreshard");
    request.precision = "fp32";
    return foreshard::test::valid_job(request);
}

std::vector<double> losses(const Job& job, const DeviceMaker& device, ElementType type) {
    const Schedule schedule = make_schedule(job);
    const TaskGraph graph = lower(job, schedule);
    const Ranks ranks(job);
    JobOptions options;
    options.train.steps = 4;
    options.train.type = type;
    options.train.device = device;
    const Outcome outcome = run_as_threads({job, schedule, graph, ranks}, options, {[](const RunRecord&) {}});
    EXPECT_FALSE(outcome.failure) << outcome.failure->reason;
    std::vector<double> result;
    for (const RunRecord& run : outcome.ranks.front().runs) {
        result.insert(result.end(), run.losses.begin(), run.losses.end());
    }
    return result;
}

/// Four steps of AdamW, whose count is a parameter that the captured graph has to take over.
TEST_F(Gpu, CapturedStepsAreEagerStepsBitForBit) {
    for (const char* model : {"gpt-tiny", "llama-tiny", "bert-tiny"}) {
        const Job job = one_rank_job_of(model);
        const ElementType type = ElementType::fp32;
        const auto eager = losses(job, gpu_devices({type, MathMode::exact, GraphCapture::off}), type);
        const auto captured = losses(job, gpu_devices({type, MathMode::exact, GraphCapture::on}), type);
        ASSERT_EQ(eager.size(), 4U);
        EXPECT_EQ(eager, captured) << model;
        EXPECT_NE(eager.front(), eager.back());
    }
}

TEST_F(Gpu, TrainsAsTheProcessorDoes) {
    for (const char* model : {"gpt-tiny", "llama-tiny", "bert-tiny"}) {
        const Job job = one_rank_job_of(model);
        const ElementType type = ElementType::fp64;
        const auto expected = losses(job, nullptr, type);
        const auto found = losses(job, gpu_devices({type}), type);
        ASSERT_EQ(found.size(), expected.size());
        for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-9 * expected[i]) << model;
    }
}

}  // namespace
}  // namespace foreshard::runtime
