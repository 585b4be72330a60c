#pragma once

#include <vector>

#include "gui/charts/table.hpp"
#include "sim/result/compare.hpp"

/// How good a prediction was, without drawing.
namespace foreshard::gui {

/// A prediction and its measurement.
struct OverlayPoint {
    Picoseconds predicted = 0;
    Picoseconds measured = 0;
    SpanKind kind = SpanKind::other;
    std::size_t pair = 0;  ///< of the comparison; of points from accounts, the rank
};

/// Errors of one kind, over all its pairs.
struct KindError {
    SpanKind kind = SpanKind::other;
    std::size_t pairs = 0;
    Picoseconds predicted = 0;
    Picoseconds measured = 0;
    double meanAbsoluteError =
        0.0;  ///< of single spans, as a share of the measured length; spans without length count as met
    Picoseconds transfer = 0;  ///< of communication, measured: data moved; the rest of `measured` was waiting
    Picoseconds wait = 0;
    /// Predicted over measured, less one; 0 when nothing was measured.
    double error() const;
};

/// A prediction with its measurement, compared once and drawn often.
struct Overlay {
    const Run* predicted = nullptr;
    const Run* measured = nullptr;
    std::size_t predictedIndex = 0;  ///< among the shown runs
    std::size_t measuredIndex = 0;
    Comparison comparison;  ///< A is the prediction
    std::vector<OverlayPoint> points;
    bool fromAccounts = false;  ///< no spans could be matched: points are accounts of ranks
    std::vector<KindError> errors;
};

/// The first simulated run is the prediction, the first other one the measurement; where all are of one sort, the first
/// two in their order. Precondition: at least two runs.
Overlay overlayOf(const std::vector<const Run*>& runs);

/// "Predicted 13.1 s, measured 13.8 s: -4.7 %; worst: exposed TP -9.0 %".
QString overlaySentence(const Overlay& overlay);
Table errorTable(const Overlay& overlay);

/// What the point is: "2F0 on PP2: predicted 12.1 ms, measured 12.9 ms (-6.2 %)".
QString pointText(const Overlay& overlay, const OverlayPoint& point);

}  // namespace foreshard::gui
