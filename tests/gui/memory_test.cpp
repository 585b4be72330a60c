#include <QKeyEvent>
#include <QTest>
#include <cmath>

#include <gmock/gmock.h>

#include "gui/memory/memory_head.hpp"
#include "gui/memory/memory_maximum.hpp"
#include "gui/memory/memory_view.hpp"
#include "tests/gui/golden_image.hpp"
#include "tests/gui/view_runs.hpp"
#include "tests/support/jobs.hpp"

namespace foreshard::gui {
namespace {

using test::catalogueRun;
using test::StepRun;

TimeAxis wholeStep(const StepRun& run, double width) {
    return {run.spans.window_begin, run.spans.window_end + 1, width};
}

ByteCount highest(const std::vector<CurvePoint>& curve) {
    ByteCount most = 0;
    for (const CurvePoint& point : curve) most = std::max(most, total(point.stack));
    return most;
}

/// However few pixels there are, the curve's maximum is the report's peak, on every rank.
TEST(MemoryCurve, ShowsThePeakAtEveryZoom) {
    for (const char* plan : {"gpt-tiny-pp4", "gpt3-175b-selene-64", "llama3-70b-dgx-h100-64"}) {
        const StepRun& run = catalogueRun(plan);
        for (const RankMemory& memory : run.memory) {
            for (const double width : {1.0, 7.0, 200.0, 4000.0}) {
                EXPECT_EQ(highest(memoryCurve(memory, wholeStep(run, width))), memory.runtime + memory.peak) << plan;
            }
        }
    }
}

TEST(MemoryCurve, ShowsThePeakOfAnyPlan) {
    for (std::uint64_t seed = 0; seed < 15; ++seed) {
        const Job job = foreshard::test::any_plan(seed);
        const Evaluation e = evaluate(job);
        const StepRun run = make_run("any", e.job, e.graph, e.timeline, e.report);
        for (std::size_t rank = 0; rank < run.memory.size(); ++rank) {
            const RankMemory& memory = run.memory[rank];
            ASSERT_FALSE(memory.points.empty()) << "seed " << seed;
            const TimeAxis axis{memory.points.front().time, memory.points.back().time + 1, 300.0};
            EXPECT_EQ(highest(memoryCurve(memory, axis)), memory.runtime + e.report.ranks[rank].memory.peak)
                << "seed " << seed;
            EXPECT_EQ(total(peakStack(memory)), memory.runtime + memory.peak) << "seed " << seed;
        }
    }
}

/// The curve without reduction, evaluated at a time, is what the profile says.
TEST(MemoryCurve, IsExactBetweenItsPoints) {
    const StepRun& run = catalogueRun("gpt-tiny-pp4");
    const RankMemory& memory = run.memory.front();
    for (std::size_t i = 1; i < memory.points.size(); ++i) {
        const MemoryPoint& before = memory.points[i - 1];
        if (memory.points[i].time == before.time) continue;
        EXPECT_EQ(stackAt(memory, before.time), stackOf(memory, before));
        EXPECT_EQ(stackAt(memory, memory.points[i].time - 1), stackOf(memory, before));
    }
    EXPECT_EQ(total(stackAt(memory, memory.points.front().time - 1)), memory.runtime + memory.states.total());
}

TEST(MemoryCurve, HasAtMostTwoPointsPerPixelAndStaysInOrder) {
    const StepRun& run = catalogueRun("gpt3-175b-selene-64");
    const std::vector<CurvePoint> curve = memoryCurve(run.memory.front(), wholeStep(run, 50.0));
    EXPECT_LE(curve.size(), 102U);
    EXPECT_TRUE(std::is_sorted(curve.begin(), curve.end(), [](const auto& a, const auto& b) { return a.x < b.x; }));
}

/// By definition: the largest of what every rank holds at any time of a pixel.
ByteCount largestOf(const StepRun& run, const TimeAxis& axis, double pixel) {
    ByteCount most = 0;
    for (const RankMemory& memory : run.memory) {
        for (std::size_t i = 0; i < memory.points.size(); ++i) {
            const bool last = i + 1 == memory.points.size();
            const double begin = axis.toPixel(memory.points[i].time);
            const double end = last ? axis.width : axis.toPixel(memory.points[i + 1].time);
            const bool there = std::floor(begin) == pixel || (begin < pixel + 1.0 && end > pixel);
            if (there) most = std::max(most, total(stackOf(memory, memory.points[i])));
        }
    }
    return most;
}

TEST(MemoryMaximum, IsTheLargestOfAllRanksInEveryPixel) {
    for (const char* plan : {"gpt-tiny-pp4", "gpt3-175b-selene-64"}) {
        const StepRun& run = catalogueRun(plan);
        const Picoseconds step = run.spans.window_end - run.spans.window_begin;
        for (const Picoseconds length : {step, step / 7}) {
            const Picoseconds begin = run.spans.window_begin + (step - length) / 3;
            const TimeAxis axis{begin, begin + length, 150.0};
            const MaximumCurve curve = maximumCurve(run, axis);
            ASSERT_EQ(curve.points.size(), curve.rank.size());
            std::size_t at = 0;
            for (int x = 0; x < 150; ++x) {
                while (at + 1 < curve.points.size() && curve.points[at + 1].x <= x) ++at;
                EXPECT_EQ(total(curve.points[at].stack), largestOf(run, axis, x)) << plan << " " << x;
            }
        }
    }
}

TEST(MemoryMaximum, SaysWhoseItIs) {
    const StepRun& run = catalogueRun("gpt3-175b-selene-64");
    const RankMemory& first = run.memory.front();
    const LargestRank largest = largestAt(run, first.peak_time);
    EXPECT_EQ(largest.rank, 0);
    EXPECT_EQ(largest.stack, peakStack(first));
    for (const RankMemory& memory : run.memory) {
        for (const MemoryPoint& point : memory.points) {
            const LargestRank then = largestAt(run, point.time);
            ASSERT_GE(total(then.stack), total(stackAt(memory, point.time)));
            ASSERT_EQ(then.stack, stackAt(run.memory[static_cast<std::size_t>(then.rank)], point.time));
        }
    }
}

/// What is listed as live adds up to activations and buffers, but for the working set of the pass at the peak.
TEST(MemoryPeak, ListsWhatIsLive) {
    const StepRun& run = catalogueRun("gpt3-175b-selene-64");
    const RankMemory& memory = run.memory.front();
    ByteCount saved = 0;
    for (const LiveSet& set : memory.live) saved += set.bytes;
    EXPECT_EQ(saved, memory.activations);
    EXPECT_THAT(liveAtPeak(run, 0), testing::Contains(testing::StartsWith("stage 0: ")));
    EXPECT_THAT(peakMoment(run, 0), testing::StartsWith("while "));
    EXPECT_EQ(worstRank(run), 0);
    EXPECT_THAT(peakListing(run, 0), testing::HasSubstr("\noptimizer: 31.55 GiB\n"));
    EXPECT_THAT(peakListing(run, 0), testing::HasSubstr("runtime, outside the allocator:\n"));
}

struct MemoryViewTest : testing::Test {
    ViewState state;
    MemoryView view{state};
    const StepRun& run = catalogueRun("gpt3-175b-selene-64");

    void SetUp() override {
        view.resize(900, 500);
        view.setRuns({&run});
    }
};

TEST_F(MemoryViewTest, ShowsTheWholeRunAtFirst) {
    EXPECT_EQ(state.begin(), run.spans.begin);
    EXPECT_EQ(state.end(), run.spans.finish);
}

TEST_F(MemoryViewTest, KeysChooseARankAndGoToItsPeak) {
    QTest::keyClick(&view, Qt::Key_Down);
    EXPECT_EQ(view.chosenRank(), 1);
    QTest::keyClick(&view, Qt::Key_Return);
    EXPECT_EQ(state.cursor(), run.memory[1].peak_time);
    EXPECT_TRUE(view.accessibleDescription().startsWith("PP1 "));
    QTest::keyClick(&view, Qt::Key_Up);
    EXPECT_EQ(view.chosenRank(), 0);
}

TEST_F(MemoryViewTest, ZoomKeepsTheCursorsPlaceAndPanMovesIt) {
    state.setCursor((run.spans.begin + run.spans.finish) / 2);
    QTest::keyClick(&view, Qt::Key_W);
    const Picoseconds width = state.end() - state.begin();
    EXPECT_LT(width, run.spans.finish - run.spans.begin);
    EXPECT_NEAR(static_cast<double>(*state.cursor() - state.begin()) / static_cast<double>(width), 0.5, 1e-6);
    const Picoseconds begin = state.begin();
    QTest::keyClick(&view, Qt::Key_D);
    EXPECT_GT(state.begin(), begin);
    EXPECT_EQ(state.end() - state.begin(), width);
}

TEST_F(MemoryViewTest, MouseSharesTheCursorAndAClickChoosesTheLane) {
    view.show();
    QTest::mouseMove(view.viewport(), QPoint(600, 300));
    ASSERT_TRUE(state.cursor());
    EXPECT_GT(*state.cursor(), run.spans.begin);
    QTest::mouseClick(view.viewport(), Qt::LeftButton, {}, QPoint(600, 120));
    const int high = view.chosenRank();
    QTest::mouseClick(view.viewport(), Qt::LeftButton, {}, QPoint(600, 400));
    EXPECT_GT(view.chosenRank(), high);
}

TEST_F(MemoryViewTest, AClickOnTheMaximumChoosesTheRankThatHoldsMostThen) {
    view.show();
    view.chooseRank(5);
    const MemoryScene scene{{&run}, ThemeKind::light, state.begin(), state.end(), {}, 5, 0};
    const MemoryLayout layout = layoutMemory(*view.viewport(), view.viewport()->rect(), scene, LaneFit::readable);
    const QPoint place = layout.maximum.center();
    QTest::mouseClick(view.viewport(), Qt::LeftButton, {}, place);
    const Picoseconds time = layout.axis.toTime(place.x() - layout.lanes.left() - layout.gutter);
    EXPECT_EQ(view.chosenRank(), largestAt(run, time).rank);
    EXPECT_NE(view.chosenRank(), 5);
}

TEST_F(MemoryViewTest, BearsRunsWithoutMemoryAndNone) {
    StepRun bare;
    bare.name = "trace";
    view.setRuns({&bare});
    view.grab();
    view.setRuns({});
    view.grab();
    view.setRuns({&run, &bare});
    view.grab();
    QTest::keyClick(&view, Qt::Key_Down);
    EXPECT_EQ(view.chosenRank(), 1);
}

/// The colour of what exceeds the capacity is seen in the view of a plan that does not fit, and only there.
TEST_F(MemoryViewTest, AStageThatDoesNotFitIsUnmistakable) {
    const auto red = [&](const StepRun& shown) {
        view.setRuns({&shown});
        state.setVisible(shown.spans.begin, shown.spans.finish);
        const auto draw = [&](QPainter& painter, const QRect& area) { view.paint(painter, area); };
        return test::pixelsOf(test::painted({900, 500}, draw), theme(ThemeKind::light).capacity);
    };
    const int fits = red(run);
    EXPECT_GT(red(test::runThatDoesNotFit()) - fits, 900 * 500 / 20);
    EXPECT_TRUE(peakSentence(test::runThatDoesNotFit(), 0).contains("DOES NOT FIT"));
}

TEST_F(MemoryViewTest, LooksAsItDid) {
    StepRun measured = run;
    measured.name = "measured";
    measured.source = RunSource::measured;
    for (RankMemory& memory : measured.memory) memory.states.weights = memory.states.weights * 9 / 10;
    const auto draw = [&](QPainter& painter, const QRect& area) { view.paint(painter, area); };
    view.setRuns({&run, &measured});
    test::expectGolden(test::painted({800, 420}, draw), "memory-measured-light", 2000);
    view.setRuns({&test::runThatDoesNotFit()});
    state.setVisible(test::runThatDoesNotFit().spans.begin, test::runThatDoesNotFit().spans.finish);
    view.setTheme(ThemeKind::dark);
    test::expectGolden(test::painted({800, 420}, draw), "memory-oom-dark", 2000);
    view.setTheme(ThemeKind::high_contrast);
    test::expectGolden(test::painted({800, 420}, draw), "memory-oom-high-contrast", 2000);
}

}  // namespace
}  // namespace foreshard::gui
