#include "gui/app/kpi_strip.hpp"

#include <QHBoxLayout>
#include <QPainter>

namespace foreshard::gui {

namespace {

QString qt(std::string_view text) {
    return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

QString valueText(const Run* run, Figure figure) {
    if (!run) return {};
    const auto value = valueOf(*run, figure);
    if (!value) return QStringLiteral("\u2013");
    return qt(figure == Figure::memory ? memoryText(*run) : textOf(figure, *value));
}

QFont bold(QFont font) {
    font.setBold(true);
    return font;
}

}  // namespace

KpiTile::KpiTile(Figure figure, QWidget* parent) : QAbstractButton(parent), figure_(figure) {
    setFocusPolicy(Qt::TabFocus);
    setCursor(Qt::PointingHandCursor);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

void KpiTile::setRuns(const Run* a, const Run* b) {
    a_ = valueText(a, figure_);
    b_ = valueText(b, figure_);
    difference_.clear();
    verdict_ = Verdict::same;
    const auto va = a ? valueOf(*a, figure_) : std::nullopt;
    const auto vb = b ? valueOf(*b, figure_) : std::nullopt;
    if (va && vb) {
        difference_ = qt(differenceText(figure_, *va, *vb));
        verdict_ = verdictOf(figure_, *va, *vb);
    }
    const Run* last = b ? b : a;
    alarm_ = figure_ == Figure::memory && last && !fits(*last);
    const QString spoken = b ? tr("A %1, B %2, difference %3").arg(a_, b_, difference_) : a_;
    setAccessibleName(qt(titleOf(figure_)) + ": " + spoken);
    setToolTip(accessibleName());
    updateGeometry();
    update();
}

void KpiTile::setTheme(ThemeKind kind) {
    theme_ = kind;
    update();
}

QSize KpiTile::sizeHint() const {
    const QFontMetrics metrics(font());
    return {metrics.horizontalAdvance("Exposed comm. 00.0"), metrics.height() * (b_.isEmpty() ? 2 : 4) + 14};
}

void KpiTile::paintEvent(QPaintEvent* /*event*/) {
    const Theme& colors = theme(theme_);
    QPainter painter(this);
    painter.setFont(font());
    painter.fillRect(rect(), colors.panel);
    painter.setPen(hasFocus() ? colors.accent : colors.grid);
    painter.drawRect(rect().adjusted(0, 0, -1, -1));
    const int line = painter.fontMetrics().height();
    QRect row(8, 6, width() - 16, line);
    const auto put = [&](const QString& text, const QColor& color, const QFont& with) {
        painter.setFont(with);
        painter.setPen(color);
        painter.drawText(row, Qt::AlignLeft | Qt::AlignVCenter,
                         painter.fontMetrics().elidedText(text, Qt::ElideRight, row.width()));
        row.translate(0, line);
    };
    put(qt(titleOf(figure_)), colors.faintText, font());
    if (b_.isEmpty()) {
        put(a_, alarm_ ? colors.capacity : colors.text, bold(font()));
        return;
    }
    put("A  " + a_, colors.text, font());
    put("B  " + b_, alarm_ ? colors.capacity : colors.text, bold(font()));
    const QColor color = verdict_ == Verdict::same     ? colors.faintText
                         : verdict_ == Verdict::better ? colors.early
                                                       : colors.late;
    const QString word = verdict_ == Verdict::same     ? QString()
                         : verdict_ == Verdict::better ? tr(" better")
                                                       : tr(" worse");
    put("\u0394  " + difference_ + word, color, bold(font()));
}

KpiStrip::KpiStrip(QWidget* parent) : QWidget(parent) {
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(4);
    for (int i = 0; i < figure_count; ++i) {
        const auto figure = static_cast<Figure>(i);
        auto* tile = new KpiTile(figure, this);
        connect(tile, &KpiTile::clicked, this, [this, figure] { emit figureChosen(figure); });
        row->addWidget(tile);
        tiles_[static_cast<std::size_t>(i)] = tile;
    }
    setAccessibleName(tr("Key figures"));
}

void KpiStrip::setRuns(std::vector<const Run*> runs) {
    for (KpiTile* tile : tiles_) {
        tile->setRuns(runs.empty() ? nullptr : runs[0], runs.size() < 2 ? nullptr : runs[1]);
    }
}

void KpiStrip::setTheme(ThemeKind kind) {
    for (KpiTile* tile : tiles_) tile->setTheme(kind);
}

}  // namespace foreshard::gui
