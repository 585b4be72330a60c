#include "gui/time_axis.hpp"

#include <gtest/gtest.h>

namespace foreshard::gui {
namespace {

TEST(TimeAxis, ZoomKeepsTheTimeUnderTheCursor) {
    const TimeAxis axis{0, 1'000'000'000, 1000.0};
    const TimeAxis closer = zoomed(axis, 0.5, 250.0, 0, 1'000'000'000);
    EXPECT_EQ(closer.end - closer.begin, 500'000'000);
    EXPECT_EQ(closer.toTime(250.0), axis.toTime(250.0));
}

TEST(TimeAxis, ZoomAndPanStayInsideTheRun) {
    const TimeAxis axis{200, 1'000'000, 640.0};
    EXPECT_EQ(zoomed(axis, 100.0, 10.0, 200, 1'000'000), axis);
    EXPECT_EQ(panned(axis, 300.0, 200, 1'000'000), axis);
    const TimeAxis closest = zoomed(axis, 1e-9, 320.0, 200, 1'000'000);
    EXPECT_EQ(closest.end - closest.begin, 10'000);
}

TEST(TimeAxis, PixelsAndTimesAreInverse) {
    const TimeAxis axis{123, 123 + 1'920'000, 1920.0};
    for (const double pixel : {0.0, 1.0, 960.0, 1919.0}) EXPECT_NEAR(axis.toPixel(axis.toTime(pixel)), pixel, 1e-3);
}

}  // namespace
}  // namespace foreshard::gui
