#include "gui/theme.hpp"

#include <QFontInfo>
#include <QGuiApplication>
#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <string>

namespace foreshard::gui {

namespace {

// Okabe and Ito's eight colours, and a set found by maximising the smallest distance over all pairs for normal and
// colour-blind vision on light and dark grounds.
struct Palette {
    QColor forward, backward, weightGrad, recompute, communication, optimizer;
};

const Palette okabe_ito = {QColor(0x00, 0x72, 0xB2), QColor(0xE6, 0x9F, 0x00), QColor(0x00, 0x9E, 0x73),
                           QColor(0xCC, 0x79, 0xA7), QColor(0x56, 0xB4, 0xE9), QColor(0xD5, 0x5E, 0x00)};
const Palette high_contrast = {QColor(0x09, 0x25, 0xB9), QColor(0xFF, 0xD9, 0x43), QColor(0x0C, 0x8C, 0x57),
                               QColor(0x90, 0x73, 0x90), QColor(0x79, 0xBC, 0xFF), QColor(0x68, 0x1E, 0x05)};

QColor of(const Palette& palette, SpanKind kind) {
    switch (kind) {
        case SpanKind::forward:
            return palette.forward;
        case SpanKind::backward:
        case SpanKind::input_grad:
            return palette.backward;
        case SpanKind::weight_grad:
            return palette.weightGrad;
        case SpanKind::recompute:
            return palette.recompute;
        case SpanKind::vocabulary:
            return palette.recompute.lighter(130);
        case SpanKind::optimizer:
        case SpanKind::dp:
            return palette.optimizer;
        case SpanKind::host:
        case SpanKind::other:
            return {0x80, 0x80, 0x80};
        case SpanKind::tp:
        case SpanKind::cp:
        case SpanKind::ep:
        case SpanKind::p2p:
        case SpanKind::offload:
            return palette.communication;
    }
    return {};
}

/// Relative luminance of WCAG 2.
double luminance(const QColor& color) {
    const auto linear = [](double channel) {
        return channel <= 0.04045 ? channel / 12.92 : std::pow((channel + 0.055) / 1.055, 2.4);
    };
    return 0.2126 * linear(color.redF()) + 0.7152 * linear(color.greenF()) + 0.0722 * linear(color.blueF());
}

Theme lightTheme() {
    return {ThemeKind::light, "#FFFFFF", "#F7F8FA", "#1B1F24", "#5B6570", "#D8DCE1",
            "#DDE2E8",        "#0072B2", "#B00020", "#0072B2", "#D55E00"};
}

Theme darkTheme() {
    return {ThemeKind::dark, "#16191D", "#1D2126", "#E8EAED", "#A9B1BB", "#3A4048",
            "#39414B",       "#56B4E9", "#FF8A80", "#56B4E9", "#E69F00"};
}

Theme highContrastTheme() {
    return {ThemeKind::high_contrast,
            "#FFFFFF",
            "#FFFFFF",
            "#000000",
            "#000000",
            "#000000",
            "#ECEFF1",
            "#0925B9",
            "#B00020",
            "#0925B9",
            "#681E05"};
}

}  // namespace

ThemeKind themeKind(std::string_view name) {
    if (name == "light") return ThemeKind::light;
    if (name == "dark") return ThemeKind::dark;
    if (name == "high-contrast") return ThemeKind::high_contrast;
    throw std::invalid_argument("unknown theme '" + std::string(name) + "' (light, dark, high-contrast)");
}

QColor Theme::fill(SpanKind spanKind, int chunk) const {
    const QColor color = of(kind == ThemeKind::high_contrast ? high_contrast : okabe_ito, spanKind);
    const int steps = std::clamp(chunk, 0, 4);
    return steps == 0 ? color : color.lighter(100 + 12 * steps);
}

QColor Theme::label(SpanKind spanKind, int chunk) const {
    const QColor ground = fill(spanKind, chunk);
    return contrast(ground, Qt::white) > contrast(ground, Qt::black) ? Qt::white : Qt::black;
}

Qt::BrushStyle Theme::pattern(SpanKind kind) {
    switch (kind) {
        case SpanKind::weight_grad:
            return Qt::BDiagPattern;
        case SpanKind::recompute:
            return Qt::DiagCrossPattern;
        case SpanKind::vocabulary:
            return Qt::Dense6Pattern;
        default:
            return Qt::SolidPattern;
    }
}

const Theme& theme(ThemeKind kind) {
    static const std::array<Theme, 3> themes = {lightTheme(), darkTheme(), highContrastTheme()};
    return themes[static_cast<std::size_t>(kind)];
}

double contrast(const QColor& a, const QColor& b) {
    const double lighter = std::max(luminance(a), luminance(b));
    const double darker = std::min(luminance(a), luminance(b));
    return (lighter + 0.05) / (darker + 0.05);
}

QFont viewFont(double scale) {
    QFont font("DejaVu Sans");
    font.setPointSizeF(QFontInfo(QGuiApplication::font()).pointSizeF() * scale);
    return font;
}

QFont pictureFont() {
    QFont font("DejaVu Sans");
    font.setPointSizeF(9.0);
    return font;
}

}  // namespace foreshard::gui
