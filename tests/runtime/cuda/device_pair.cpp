#include "tests/runtime/cuda/device_pair.hpp"

#include <algorithm>
#include <cmath>

#include "runtime/cpu/cpu_device.hpp"
#include "runtime/random.hpp"

namespace foreshard::runtime::test {

DevicePair::DevicePair(const DeviceCase& tested)
    : tested_(tested.make()), reference_(make_cpu_device(ElementType::fp64)), tolerance_(tested.tolerance) {}

Twin DevicePair::twin(std::int64_t rows, std::int64_t columns, bool state) {
    const ElementType type = state ? tested_->state_type() : tested_->type();
    buffers_.emplace_back(tested_pool_, MemoryKind::activations, rows, columns, type);
    const Tensor mine = buffers_.back().tensor();
    buffers_.emplace_back(reference_pool_, MemoryKind::activations, rows, columns);
    return {mine, buffers_.back().tensor()};
}

Twin DevicePair::filled(std::int64_t rows, std::int64_t columns, double scale, bool state) {
    const Twin result = twin(rows, columns, state);
    std::vector<double> values(static_cast<std::size_t>(rows * columns));
    const std::uint64_t key = random_key(++drawn_, "device pair");
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = scale * random_unit(key, i);
    set(result, values);
    return result;
}

Twin DevicePair::loss() {
    buffers_.emplace_back(tested_pool_, MemoryKind::activations, 1, 1, ElementType::fp64);
    const Tensor mine = buffers_.back().tensor();
    buffers_.emplace_back(reference_pool_, MemoryKind::activations, 1, 1);
    const Twin result{mine, buffers_.back().tensor()};
    set(result, {0.0});
    return result;
}

/// The reference gets what the tested type makes of the numbers.
void DevicePair::set(const Twin& twin, const std::vector<double>& values) {
    tested_->store(twin.tested, values);
    reference_->store(twin.reference, tested_->load(twin.tested));
}

void DevicePair::expect_equal(const Twin& twin, const std::string& what, double factor) {
    const std::vector<double> found = tested_->load(twin.tested);
    const std::vector<double> expected = reference_->load(twin.reference);
    double scale = 0.0;
    for (const double value : expected) scale = std::max(scale, std::abs(value));
    for (std::size_t i = 0; i < expected.size(); ++i) {
        ASSERT_LE(std::abs(found[i] - expected[i]), factor * tolerance_ * std::max(scale, 1e-30))
            << what << ", element " << i << ": " << found[i] << ", expected " << expected[i];
        ASSERT_FALSE(std::isnan(found[i])) << what << ", element " << i;
    }
}

}  // namespace foreshard::runtime::test
