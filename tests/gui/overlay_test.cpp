#include <random>

#include <gmock/gmock.h>

#include "gui/compare/overlay_painter.hpp"
#include "gui/compare/overlay_view.hpp"
#include "tests/gui/golden_image.hpp"
#include "tests/gui/view_runs.hpp"

namespace foreshard::gui {
namespace {

using test::catalogueRun;
using test::StepRun;

/// The run as if it had been measured: passes take `factor` times as long, give or take a few percent. Starts stay, so
/// rows may overlap; lengths are all that is compared.
StepRun measuredFrom(const StepRun& run, double factor) {
    StepRun measured = run;
    measured.name = "measured";
    measured.source = RunSource::measured;
    std::mt19937_64 random(7);
    std::uniform_real_distribution<double> noise(0.96, 1.04);
    for (std::size_t span = 0; span < measured.spans.size(); ++span) {
        const auto length = static_cast<double>(run.spans.end[span] - run.spans.start[span]);
        const double change = is_compute(run.spans.kind[span]) ? factor * noise(random) : 1.0;
        measured.spans.end[span] = run.spans.start[span] + static_cast<Picoseconds>(length * change);
    }
    measured.step_time = static_cast<Picoseconds>(static_cast<double>(run.step_time) * factor);
    return measured;
}

TEST(Overlay, TakesTheSimulatedRunAsPrediction) {
    const StepRun& run = catalogueRun("gpt-tiny-pp4");
    const StepRun measured = measuredFrom(run, 1.2);
    const Overlay overlay = overlayOf({&measured, &run});
    EXPECT_EQ(overlay.predicted, &run);
    EXPECT_EQ(overlay.measuredIndex, 0U);
    const Overlay equal = overlayOf({&run, &run});
    EXPECT_EQ(equal.predictedIndex, 0U);
    EXPECT_EQ(equal.measuredIndex, 1U);
}

/// Each matched pair is a point; totals of the kinds are those of the points, and known errors come back.
TEST(Overlay, FindsTheErrorOfEachKind) {
    const StepRun& run = catalogueRun("gpt-tiny-pp4");
    const StepRun measured = measuredFrom(run, 1.25);
    const Overlay overlay = overlayOf({&run, &measured});
    EXPECT_FALSE(overlay.fromAccounts);
    EXPECT_EQ(overlay.points.size(), overlay.comparison.pairs.size());
    std::size_t pairs = 0;
    for (const KindError& error : overlay.errors) {
        pairs += error.pairs;
        if (error.kind == SpanKind::forward) {
            EXPECT_NEAR(error.error(), 1.0 / 1.25 - 1.0, 0.02);
            EXPECT_NEAR(error.meanAbsoluteError, 0.2, 0.03);
        }
        if (error.kind == SpanKind::p2p) {
            EXPECT_NEAR(error.error(), 0.0, 1e-9);
            EXPECT_EQ(error.transfer + error.wait, error.measured);
        }
    }
    EXPECT_EQ(pairs, overlay.points.size());
    EXPECT_EQ(errorTable(overlay).rows.size(), overlay.errors.size());
}

/// A measured report has no spans: its accounts are compared rank by rank.
TEST(Overlay, FallsBackToAccounts) {
    const StepRun& run = catalogueRun("gpt-tiny-pp4");
    StepRun report = run;
    report.source = RunSource::measured;
    report.spans = {};
    report.critical_path.clear();
    const Overlay overlay = overlayOf({&run, &report});
    EXPECT_TRUE(overlay.fromAccounts);
    ASSERT_FALSE(overlay.points.empty());
    for (const OverlayPoint& point : overlay.points) EXPECT_EQ(point.predicted, point.measured);
    EXPECT_TRUE(pointText(overlay, overlay.points.front()).contains("PP0"));
}

TEST(OverlayView, BearsOneRunAndRunsThatKnowNothing) {
    ViewState state;
    OverlayView view(state);
    view.resize(800, 400);
    view.show();
    view.setRuns({&catalogueRun("gpt-tiny-pp4")});
    view.grab();
    StepRun bare;
    bare.source = RunSource::imported;
    view.setRuns({&catalogueRun("gpt-tiny-pp4"), &bare});
    view.grab();
    view.setRuns({});
    view.grab();
}

TEST(OverlayView, AnswersForThePointUnderTheMouse) {
    const StepRun& run = catalogueRun("gpt-tiny-pp4");
    const StepRun measured = measuredFrom(run, 1.1);
    const Overlay overlay = overlayOf({&run, &measured});
    const QImage device(1, 1, QImage::Format_RGB32);
    std::size_t found = 0;
    const QRect area(0, 0, 300, 300);
    for (int y = 0; y < 300; y += 6) {
        for (int x = 0; x < 300; x += 6) found += overlayPointAt(device, area, overlay, {x, y}) ? 1 : 0;
    }
    EXPECT_GT(found, 0U);
    EXPECT_LT(found, 1500U);  // not everywhere
}

TEST(OverlayView, LooksAsItDid) {
    ViewState state;
    OverlayView view(state);
    const StepRun& run = catalogueRun("gpt-tiny-pp4");
    const StepRun measured = measuredFrom(run, 1.15);
    view.setRuns({&run, &measured});
    const auto draw = [&](QPainter& painter, const QRect& area) { view.paint(painter, area); };
    test::expectGolden(test::painted({560, 420}, draw), "overlay-light", 1500);
}

}  // namespace
}  // namespace foreshard::gui
