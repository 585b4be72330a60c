#include "runtime/time_axis.hpp"

#include <array>

#include <gtest/gtest.h>

namespace foreshard::runtime {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;

Anchor anchor(double device_ms, std::int64_t before_us, std::int64_t after_us) {
    return {device_ms, Clock::time_point(microseconds(before_us)), Clock::time_point(microseconds(after_us))};
}

TEST(TimeAxis, TakesTheAnchorThatTheHostKnowsBest) {
    const std::array anchors = {anchor(1.0, 0, 50), anchor(2.0, 100, 110), anchor(3.0, 200, 290)};
    EXPECT_EQ(best_anchor(anchors).device_ms, 2.0);
}

/// The device's clock runs 1 % fast: 101 ms of it are 100 ms of the host's.
TEST(TimeAxis, TakesOutOffsetAndDrift) {
    const TimeAxis axis(anchor(7.0, 999'990, 1'000'010), anchor(108.0, 1'099'990, 1'100'010));
    const auto at = [&](double device_ms) {
        return std::chrono::duration_cast<microseconds>(axis.at(device_ms).time_since_epoch()).count();
    };
    EXPECT_EQ(at(7.0), 1'000'000);
    EXPECT_EQ(at(108.0), 1'100'000);
    EXPECT_NEAR(static_cast<double>(at(57.5)), 1'050'000.0, 1.0);
    EXPECT_NEAR(static_cast<double>(at(118.1)), 1'110'000.0, 1.0) << "and goes on beyond the last anchor";
}

TEST(TimeAxis, GoesAtTheHostsRateWhenBothAnchorsAreOne) {
    const Anchor only = anchor(5.0, 100, 100);
    EXPECT_EQ(TimeAxis(only, only).at(6.0), Clock::time_point(microseconds(1100)));
}

}  // namespace
}  // namespace foreshard::runtime
