#include "gui/theme.hpp"

#include <QApplication>
#include <QSignalSpy>

#include <gtest/gtest.h>

#include "tests/gui/timeline_fixture.hpp"

namespace foreshard::gui {
namespace {

class EveryTheme : public testing::TestWithParam<ThemeKind> {};

// WCAG AA asks for 4.5 to 1.
TEST_P(EveryTheme, LabelsAreReadableOnEveryFill) {
    const Theme& colors = theme(GetParam());
    for (int kind = 0; kind < span_kind_count; ++kind) {
        for (int chunk = -1; chunk < 8; ++chunk) {
            const auto its = static_cast<SpanKind>(kind);
            EXPECT_GE(contrast(colors.fill(its, chunk), colors.label(its, chunk)), 4.5) << to_string(its) << chunk;
        }
    }
}

TEST_P(EveryTheme, TextsAreReadableOnEveryGround) {
    const Theme& colors = theme(GetParam());
    for (const QColor& ground : {colors.window, colors.panel, colors.bubble}) {
        EXPECT_GE(contrast(ground, colors.text), 4.5) << ground.name().toStdString();
        EXPECT_GE(contrast(ground, colors.faintText), 4.5) << ground.name().toStdString();
    }
}

// Kinds that share a colour differ by pattern or stand in other lanes; a bubble differs from the ground.
TEST_P(EveryTheme, PassesAreToldApart) {
    const Theme& colors = theme(GetParam());
    const SpanKind passes[] = {SpanKind::forward, SpanKind::backward, SpanKind::weight_grad, SpanKind::recompute,
                               SpanKind::optimizer};
    for (const SpanKind a : passes) {
        EXPECT_NE(colors.fill(a), colors.bubble);
        for (const SpanKind b : passes) {
            EXPECT_TRUE(a == b || colors.fill(a) != colors.fill(b)) << to_string(a) << to_string(b);
        }
    }
    EXPECT_NE(colors.bubble, colors.window);
    for (int chunk = 1; chunk < 5; ++chunk) {
        EXPECT_NE(colors.fill(SpanKind::forward, chunk), colors.fill(SpanKind::forward, chunk - 1)) << chunk;
    }
}

INSTANTIATE_TEST_SUITE_P(Themes, EveryTheme,
                         testing::Values(ThemeKind::light, ThemeKind::dark, ThemeKind::high_contrast));

TEST(Theme, ContrastIsThatOfWcag) {
    EXPECT_DOUBLE_EQ(contrast(Qt::black, Qt::white), 21.0);
    EXPECT_DOUBLE_EQ(contrast(Qt::red, Qt::red), 1.0);
    EXPECT_NEAR(contrast(QColor("#767676"), Qt::white), 4.54, 0.01);
}

TEST(Theme, NamesAreChecked) {
    EXPECT_EQ(themeKind("high-contrast"), ThemeKind::high_contrast);
    EXPECT_THROW(themeKind("blue"), std::invalid_argument);
}

/// Sets the application's font size for a scope.
class FontSize {
public:
    explicit FontSize(double points) : before_(QApplication::font()) {
        QFont font = before_;
        font.setPointSizeF(points);
        QApplication::setFont(font);
        QApplication::processEvents();
    }
    ~FontSize() { QApplication::setFont(before_); }

private:
    QFont before_;
};

TEST(Fonts, TheTimelineFollowsTheApplication) {
    const foreshard::Run run = test::smallRun(4, 6);
    test::ShownTimeline shown({&run});
    QSignalSpy gutter(&shown.view, &TimelineView::gutterChanged);
    const TimelineMetrics before = shown.view.frame().metrics;
    const int rows = shown.view.frame().rows.top();
    {
        const FontSize large(18.0);
        const TimelineMetrics after = shown.view.frame().metrics;
        EXPECT_GT(after.text, before.text * 3 / 2);
        EXPECT_GT(after.gutter, before.gutter * 3 / 2);
        EXPECT_GT(shown.view.frame().rows.top(), rows);
        ASSERT_FALSE(gutter.empty());
        EXPECT_EQ(gutter.back()[0].toInt(), after.gutter);
    }
    EXPECT_EQ(shown.view.frame().metrics.text, before.text);
}

}  // namespace
}  // namespace foreshard::gui
