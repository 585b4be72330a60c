#include "gui/theme.hpp"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace foreshard::gui
