#include <gtest/gtest.h>

#include "gui/timeline/ruler.hpp"
#include "tests/gui/golden_image.hpp"
#include "tests/gui/timeline_fixture.hpp"

namespace foreshard::gui {
namespace {

/// Pixels that may differ: letters of another version of the font library.
constexpr int most_pixels = 300;

QImage pictureOf(const std::vector<const foreshard::Run*>& runs, TimelineMode mode, ThemeKind kind) {
    ViewState state;
    TimelineView view(state);
    view.setTheme(kind);
    view.setRuns(runs);
    view.setMode(mode);
    return test::painted({640, 260}, [&](QPainter& painter, QRect area) { view.paint(painter, area); });
}

TEST(TimelinePicture, OneForwardOneBackwardInThreeThemes) {
    const foreshard::Run run = test::smallRun(4, 6);
    test::expectGolden(pictureOf({&run}, TimelineMode::single, ThemeKind::light), "timeline-light", most_pixels);
    test::expectGolden(pictureOf({&run}, TimelineMode::single, ThemeKind::dark), "timeline-dark", most_pixels);
    test::expectGolden(pictureOf({&run}, TimelineMode::single, ThemeKind::high_contrast), "timeline-high-contrast",
                       most_pixels);
}

TEST(TimelinePicture, ZeroBubbleAgainstOneForwardOneBackward) {
    const foreshard::Run a = test::smallRun(4, 6);
    const foreshard::Run b = test::zeroBubbleRun(4, 6);
    test::expectGolden(pictureOf({&a, &b}, TimelineMode::stack, ThemeKind::light), "timeline-stack", most_pixels);
    test::expectGolden(pictureOf({&a, &b}, TimelineMode::diff, ThemeKind::light), "timeline-diff", most_pixels);
    test::expectGolden(pictureOf({&a, &b}, TimelineMode::overlay, ThemeKind::light), "timeline-overlay", most_pixels);
}

TEST(TimelinePicture, AGapWithItsChain) {
    const foreshard::Run run = test::smallRun(4, 6);
    ViewState state;
    TimelineView view(state);
    view.setRuns({&run});
    for (int i = 0; i < 8 && view.scene().chain.empty(); ++i) view.selectNextBubble();
    const auto paint = [&](QPainter& painter, QRect area) { view.paint(painter, area); };
    test::expectGolden(test::painted({640, 260}, paint), "timeline-chain", most_pixels);
}

TEST(TimelinePicture, OfNothingIsAHint) {
    const QImage image = pictureOf({}, TimelineMode::single, ThemeKind::light);
    EXPECT_EQ(test::pixelsOf(image, Qt::magenta), 0);
    EXPECT_LT(test::pixelsOf(image, theme(ThemeKind::light).window), 640 * 260);
}

TEST(TimelinePicture, OfARunWithoutSpansDoesNotCrash) {
    foreshard::Run empty;
    const foreshard::Run run = test::smallRun(2, 2);
    for (const TimelineMode mode :
         {TimelineMode::single, TimelineMode::stack, TimelineMode::diff, TimelineMode::overlay}) {
        pictureOf({&empty}, mode, ThemeKind::light);
        pictureOf({&empty, &run}, mode, ThemeKind::light);
        pictureOf({&run, &empty}, mode, ThemeKind::light);
    }
}

TEST(Ruler, TicksAreRoundAndFarEnoughApart) {
    EXPECT_EQ(tickStep(1.0), 1);
    EXPECT_EQ(tickStep(1.1e9), 2'000'000'000);
    EXPECT_EQ(tickStep(2.1e9), 5'000'000'000);
    EXPECT_EQ(tickStep(6e9), 10'000'000'000);
    for (double least = 3.0; least < 1e15; least *= 1.7) {
        EXPECT_GE(static_cast<double>(tickStep(least)), least * (1 - 1e-12));
        EXPECT_LE(static_cast<double>(tickStep(least)), least * 2.5);
    }
}

TEST(Ruler, TicksOfOneStepHaveDifferentTexts) {
    for (const Picoseconds step :
         {1000LL, 50'000LL, 2'000'000LL, 500'000'000LL, 1'000'000'000LL, 2'000'000'000'000LL}) {
        for (int i = 1; i < 50; ++i) EXPECT_NE(tickText(i * step, step), tickText((i + 1) * step, step)) << step;
    }
    EXPECT_EQ(tickText(1'500'000'000, 500'000'000), "1.5 ms");
    EXPECT_EQ(tickText(0, 1000), "0");
}

}  // namespace
}  // namespace foreshard::gui
