#include <cmath>

#include <gtest/gtest.h>

#include "runtime/cpu/cpu_device.hpp"
#include "runtime/rank_setup.hpp"
#include "runtime/threads_transport.hpp"
#include "sim/plan/schedules.hpp"
#include "tests/runtime/local_run.hpp"
#include "tests/support/jobs.hpp"

/// Gradients of whole models against central differences of their loss, in fp64.
namespace foreshard::runtime::test {
namespace {

class WholeModel : public testing::TestWithParam<const char*> {
protected:
    static Job small_job() {
        JobRequest request = small_request(GetParam());
        request.mbs = 1;
        request.gbs = 2;
        request.seq_length = 8;
        return foreshard::test::valid_job(request);
    }
};
INSTANTIATE_TEST_SUITE_P(Forms, WholeModel, testing::Values("gpt-tiny", "llama-tiny", "bert-tiny"));

/// Along the gradient of each tensor the loss changes by h |g|^2; the error of a central difference is of order h^2.
TEST_P(WholeModel, GradientsAreSlopesOfTheLoss) {
    const Job job = small_job();
    const TaskGraph graph = lower(job, schedule_of(job));
    ThreadsWorld world(1);
    const auto device = make_cpu_device(ElementType::fp64);
    RankModel model(job, graph, 0, *device, world.rank(0), {});
    const auto loss = [&](bool backward) {
        model.begin_step(0);
        for (const Task& task : graph.tasks) {
            if (task.kind != TaskKind::pass || task.step > 0) continue;
            const Work& work = graph.works[static_cast<std::size_t>(task.work)];
            if (work.pass == Pass::forward || backward) model.run(work, task.microbatch);
        }
        return model.loss();
    };
    loss(true);
    const std::vector<RankModel::Parameter> parameters = model.described_parameters();
    std::vector<std::vector<double>> gradients;
    for (const auto& parameter : parameters) gradients.push_back(device->load(parameter.gradient));
    for (std::size_t p = 0; p < parameters.size(); ++p) {
        double squared = 0.0;
        for (const double g : gradients[p]) squared += g * g;
        if (parameters[p].name.starts_with("pooler")) {
            EXPECT_EQ(squared, 0.0) << parameters[p].name;
            continue;
        }
        ASSERT_GT(squared, 0.0) << parameters[p].name;
        const std::vector<double> weights = device->load(parameters[p].weight);
        const double step = 1e-4 / std::sqrt(squared);
        const auto at = [&](double distance) {
            std::vector<double> moved = weights;
            for (std::size_t i = 0; i < moved.size(); ++i) moved[i] += distance * gradients[p][i];
            device->store(parameters[p].weight, moved);
            return loss(true);
        };
        const double slope = (at(step) - at(-step)) / (2.0 * step);
        device->store(parameters[p].weight, weights);
        EXPECT_NEAR(slope / squared, 1.0, 1e-5) << parameters[p].name;
    }
}

}  // namespace
}  // namespace foreshard::runtime::test
