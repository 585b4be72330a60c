#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/device.hpp"
#include "runtime/memory_pool.hpp"

/// A device with the GPU's kernels beside the processor in fp64.
namespace foreshard::runtime::test {

/// The same matrix on both.
struct Twin {
    Tensor tested;
    Tensor reference;
};

/// Which device the kernels are tested on; each test program has its own answers.
struct DeviceCase {
    std::string name;
    std::function<std::unique_ptr<Device>()> make;
    double tolerance = 0.0;  ///< of an element, as a share of the largest one
};
std::vector<DeviceCase> device_cases();
/// Why the devices cannot be used here; empty when they can.
std::string missing_device();

/// Tensors live as long as the pair.
class DevicePair {
public:
    explicit DevicePair(const DeviceCase& tested);

    /// Random numbers that both hold exactly, other ones in every call.
    Twin random(std::int64_t rows, std::int64_t columns, double scale = 1.0) {
        return filled(rows, columns, scale, false);
    }
    Twin random_state(std::int64_t rows, std::int64_t columns, double scale = 1.0) {
        return filled(rows, columns, scale, true);
    }
    /// Not a number anywhere.
    Twin poisoned(std::int64_t rows, std::int64_t columns) { return twin(rows, columns, false); }
    Twin poisoned_state(std::int64_t rows, std::int64_t columns) { return twin(rows, columns, true); }
    /// One of fp64, zero.
    Twin loss();
    void set(const Twin& twin, const std::vector<double>& values);

    /// Runs the call on both; `pick` gives a twin's tensor there.
    template <class Call>
    void both(const Call& call) {
        call(*tested_, [](const Twin& twin) { return twin.tested; });
        call(*reference_, [](const Twin& twin) { return twin.reference; });
    }

    /// @param factor on the case's tolerance
    void expect_equal(const Twin& twin, const std::string& what, double factor = 1.0);
    Device& tested() { return *tested_; }
    std::vector<double> reference(const Twin& twin) const { return reference_->load(twin.reference); }

private:
    Twin twin(std::int64_t rows, std::int64_t columns, bool state);
    Twin filled(std::int64_t rows, std::int64_t columns, double scale, bool state);

    static constexpr std::size_t pool_bytes = std::size_t{4} << 20;

    std::unique_ptr<Device> tested_;
    std::unique_ptr<Device> reference_;
    double tolerance_;
    MemoryPool tested_pool_{*tested_, pool_bytes};
    MemoryPool reference_pool_{*reference_, pool_bytes};
    std::vector<Buffer> buffers_;
    std::uint64_t drawn_ = 0;
};

}  // namespace foreshard::runtime::test
