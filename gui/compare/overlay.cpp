#include "gui/compare/overlay.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "gui/charts/draw.hpp"
#include "gui/charts/run_text.hpp"
#include "sim/result/span_query.hpp"

namespace foreshard::gui {

namespace {

SpanKind kindOf(Account account) {
    constexpr std::array<SpanKind, account_count> kinds = {
        SpanKind::forward, SpanKind::backward, SpanKind::weight_grad, SpanKind::recompute, SpanKind::optimizer,
        SpanKind::host,    SpanKind::host,     SpanKind::tp,          SpanKind::cp,        SpanKind::ep,
        SpanKind::p2p,     SpanKind::dp,       SpanKind::offload,     SpanKind::other};
    return kinds[static_cast<std::size_t>(account)];
}

Picoseconds length(const SpanTable& spans, std::size_t span) {
    return spans.end[span] - spans.start[span];
}

void addPairs(Overlay& overlay) {
    const SpanTable& a = overlay.predicted->spans;
    const SpanTable& b = overlay.measured->spans;
    overlay.points.reserve(overlay.comparison.pairs.size());
    for (std::size_t i = 0; i < overlay.comparison.pairs.size(); ++i) {
        const SpanPair& pair = overlay.comparison.pairs[i];
        overlay.points.push_back({length(a, pair.a), length(b, pair.b), a.kind[pair.a], i});
    }
}

void addAccounts(Overlay& overlay) {
    const std::size_t ranks = std::min(overlay.predicted->accounts.size(), overlay.measured->accounts.size());
    for (std::size_t rank = 0; rank < ranks; ++rank) {
        for (std::size_t a = 0; a < account_count; ++a) {
            const Picoseconds predicted = overlay.predicted->accounts[rank][a];
            const Picoseconds measured = overlay.measured->accounts[rank][a];
            if (predicted == 0 && measured == 0) continue;
            overlay.points.push_back({predicted, measured, kindOf(static_cast<Account>(a)), rank});
        }
    }
    overlay.fromAccounts = true;
}

double relative(Picoseconds predicted, Picoseconds measured) {
    return measured == 0 ? 0.0 : static_cast<double>(predicted) / static_cast<double>(measured) - 1.0;
}

std::vector<KindError> errorsOf(const Overlay& overlay) {
    std::array<KindError, span_kind_count> all{};
    std::vector<CommSplit> splits;
    if (!overlay.fromAccounts) splits = comm_splits(overlay.measured->spans);
    for (const OverlayPoint& point : overlay.points) {
        KindError& error = all[static_cast<std::size_t>(point.kind)];
        error.kind = point.kind;
        ++error.pairs;
        error.predicted += point.predicted;
        error.measured += point.measured;
        if (point.measured > 0) error.meanAbsoluteError += std::abs(relative(point.predicted, point.measured));
        if (overlay.fromAccounts) continue;
        const CommSplit& split = splits[overlay.comparison.pairs[point.pair].b];
        error.transfer += split.transfer;
        error.wait += split.wait;
    }
    std::vector<KindError> errors;
    for (KindError& error : all) {
        if (error.pairs == 0) continue;
        error.meanAbsoluteError /= static_cast<double>(error.pairs);
        errors.push_back(error);
    }
    return errors;
}

QString signedPercent(double ratio) {
    return (ratio > 0.0 ? "+" : "") + QString::number(100.0 * ratio, 'f', 1) + " %";
}

QString kindName(SpanKind kind) {
    const std::string_view name = to_string(kind);
    return qt(name);
}

}  // namespace

double KindError::error() const {
    return relative(predicted, measured);
}

Overlay overlayOf(const std::vector<const Run*>& runs) {
    const auto simulated = [](const Run* run) { return run->source == RunSource::simulated; };
    auto predicted = std::find_if(runs.begin(), runs.end(), simulated);
    auto measured = std::find_if_not(runs.begin(), runs.end(), simulated);
    if (predicted == runs.end() || measured == runs.end()) {
        predicted = runs.begin();
        measured = runs.begin() + 1;
    }
    Overlay overlay;
    overlay.predicted = *predicted;
    overlay.measured = *measured;
    overlay.predictedIndex = static_cast<std::size_t>(predicted - runs.begin());
    overlay.measuredIndex = static_cast<std::size_t>(measured - runs.begin());
    overlay.comparison = compare(**predicted, **measured);
    addPairs(overlay);
    if (overlay.points.empty()) addAccounts(overlay);
    overlay.errors = errorsOf(overlay);
    return overlay;
}

QString overlaySentence(const Overlay& overlay) {
    QString text = QString("Predicted %1, measured %2: %3")
                       .arg(durationText(overlay.predicted->step_time), durationText(overlay.measured->step_time),
                            signedPercent(relative(overlay.predicted->step_time, overlay.measured->step_time)));
    const auto worst =
        std::max_element(overlay.errors.begin(), overlay.errors.end(), [](const KindError& a, const KindError& b) {
            return std::abs(a.predicted - a.measured) < std::abs(b.predicted - b.measured);
        });
    if (worst == overlay.errors.end()) return text;
    return text + QString("; worst: %1 %2").arg(kindName(worst->kind), signedPercent(worst->error()));
}

Table errorTable(const Overlay& overlay) {
    Table table;
    table.columns = {{"kind"},
                     {"pairs", Column::Kind::number},
                     {"predicted", Column::Kind::number},
                     {"measured", Column::Kind::number},
                     {"error", Column::Kind::number},
                     {"mean abs. error", Column::Kind::number},
                     {"transfer, measured", Column::Kind::number},
                     {"wait, measured", Column::Kind::number}};
    for (const KindError& error : overlay.errors) {
        const bool split = !overlay.fromAccounts && !is_compute(error.kind);
        const auto time = [](Picoseconds t) { return Cell{durationText(t), static_cast<qlonglong>(t)}; };
        Cell::Tone tone = std::abs(error.error()) > 0.1 ? Cell::Tone::warning : Cell::Tone::plain;
        table.rows.push_back({{kindName(error.kind)},
                              {QString::number(error.pairs), static_cast<qulonglong>(error.pairs)},
                              time(error.predicted),
                              time(error.measured),
                              {signedPercent(error.error()), error.error(), "predicted over measured, less one", tone},
                              {percentText(error.meanAbsoluteError), error.meanAbsoluteError},
                              split ? time(error.transfer) : Cell{"-", -1},
                              split ? time(error.wait) : Cell{"-", -1}});
    }
    return table;
}

QString pointText(const Overlay& overlay, const OverlayPoint& point) {
    QString what;
    if (overlay.fromAccounts) {
        what = kindName(point.kind) + " of " + rankName(*overlay.predicted, point.pair);
    } else {
        const std::size_t span = overlay.comparison.pairs[point.pair].a;
        const SpanTable& spans = overlay.predicted->spans;
        const int rank = spans.rows[row_of(spans, span)].rank;
        what = QString::fromStdString(span_name(spans, span)) + " on " +
               rankName(*overlay.predicted, static_cast<std::size_t>(rank));
    }
    return QString("%1: predicted %2, measured %3 (%4)")
        .arg(what, durationText(point.predicted), durationText(point.measured),
             signedPercent(relative(point.predicted, point.measured)));
}

}  // namespace foreshard::gui
