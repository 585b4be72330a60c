#include <cmath>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "runtime/cpu/cpu_device.hpp"
#include "runtime/random.hpp"
#include "tests/runtime/local_run.hpp"
#include "tests/support/jobs.hpp"

/// Against loss, gradients and updates computed once by PyTorch (tests/golden/pytorch, with the script).
namespace foreshard::runtime::test {
namespace {

nlohmann::json golden(const std::string& name) {
    std::ifstream file(std::string(FORESHARD_SOURCE_DIR) + "/tests/golden/pytorch/" + name + ".json");
    return nlohmann::json::parse(file);
}

double norm_of(const std::vector<double>& values) {
    double squared = 0.0;
    for (const double v : values) squared += v * v;
    return std::sqrt(squared);
}

/// Gradients are compared with the largest of the tensor: some elements are zero but for rounding.
void expect_reference(const std::string& form, ElementType type, double tolerance) {
    const nlohmann::json expected = golden(form);
    RunOptions options;
    options.type = type;
    options.model.optimizer = OptimizerKind::sgd;
    const StepResult result = run_steps(foreshard::test::valid_job(small_request(form + "-tiny")), options);
    EXPECT_NEAR(result.loss / expected["loss"].get<double>(), 1.0, tolerance) << form;
    double largest = 0.0;
    for (const auto& [name, norm] : expected["gradient_norms"].items()) largest = std::max(largest, norm.get<double>());
    for (const auto& [name, norm] : expected["gradient_norms"].items()) {
        ASSERT_TRUE(result.gradients.contains(name)) << name;
        const std::vector<double>& gradient = result.gradients.at(name);
        const double scale = std::max(norm.get<double>(), 1e-3 * largest);
        EXPECT_NEAR(norm_of(gradient), norm.get<double>(), tolerance * scale) << form << " " << name;
        const auto first = expected["first_gradients"][name].get<std::vector<double>>();
        for (std::size_t i = 0; i < first.size(); ++i) {
            EXPECT_NEAR(gradient[i], first[i], tolerance * scale) << form << " " << name << " " << i;
        }
    }
}

class PyTorch : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Forms, PyTorch, testing::Values("gpt", "llama", "bert"));

TEST_P(PyTorch, GivesTheSameLossAndGradientsInDoublePrecision) {
    expect_reference(GetParam(), ElementType::fp64, 1e-10);
}

TEST_P(PyTorch, GivesTheSameLossAndGradientsInSinglePrecision) {
    expect_reference(GetParam(), ElementType::fp32, 1e-5);
}

TEST(PyTorchAdamW, GivesTheSameWeightsAfterThreeSteps) {
    const auto expected = golden("adamw")["weights_after_3_steps"].get<std::vector<double>>();
    const auto device = make_cpu_device(ElementType::fp64);
    MemoryPool pool(*device, 4096);
    const auto row = [&] { return Buffer(pool, MemoryKind::optimizer, 1, 6); };
    const Buffer weight = row();
    const Buffer gradient = row();
    const Buffer first = row();
    const Buffer second = row();
    device->fill(first.tensor(), 0.0);
    device->fill(second.tensor(), 0.0);
    std::vector<double> values(6);
    for (std::size_t i = 0; i < 6; ++i) values[i] = random_unit(random_key(7, "weight"), i);
    device->store(weight.tensor(), values);
    for (int step = 0; step < 3; ++step) {
        for (std::size_t i = 0; i < 6; ++i) {
            values[i] = random_unit(random_key(8, "gradient"), 6 * static_cast<std::size_t>(step) + i);
        }
        device->store(gradient.tensor(), values);
        device->adamw({0.01, 0.9, 0.95, 1e-8, 0.1, step + 1}, gradient.tensor(), first.tensor(), second.tensor(),
                      weight.tensor(), {});
    }
    const std::vector<double> updated = device->load(weight.tensor());
    for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(updated[i], expected[i], 1e-14);
}

/// Loss falls on text of the repository: from that of guessing among 256 bytes by a good part.
TEST(Learning, LossFallsOnText) {
    for (const char* model : {"gpt-tiny", "llama-tiny"}) {
        JobRequest request = small_request(model);
        request.vocab_size = 256;
        request.seq_length = 32;
        request.gbs = 8;
        const Job job = foreshard::test::valid_job(request);
        RunOptions options;
        options.type = ElementType::fp32;
        options.model.update.learning_rate = 3e-3;
        options.model.data = text_source(std::string(FORESHARD_SOURCE_DIR) + "/README.md", job, 5);
        const double before = run_steps(job, options).loss;
        options.steps = 40;
        const double after = run_steps(job, options).loss;
        EXPECT_GT(before, 5.0) << model;
        EXPECT_LT(after, 3.6) << model;
    }
}

}  // namespace
}  // namespace foreshard::runtime::test
