#pragma once

#include "gui/timeline/timeline_view.hpp"
#include "gui/view_state.hpp"
#include "sim/result/run.hpp"

/// Small runs whose times are known, and a timeline that shows them.
namespace foreshard::gui::test {

/// 1F1B on p ranks with m micro-batches: forward 10 ms, backward 20 ms, messages 1 ms.
foreshard::Run smallRun(int p, int m);

/// The same job with split backward passes (zb-h1): forward 10 ms, input gradient 10 ms, weight gradient 10 ms.
foreshard::Run zeroBubbleRun(int p, int m);

/// A shown timeline of 1000 x 400 pixels in the light theme.
struct ShownTimeline {
    explicit ShownTimeline(const std::vector<const foreshard::Run*>& runs);

    /// The middle of a span or gap on the viewport.
    QPoint middleOf(std::size_t run, std::size_t span) const;
    QPoint middleOf(const Gap& gap) const;
    void press(int key, Qt::KeyboardModifiers modifiers = Qt::NoModifier);
    void move(QPoint point);

    ViewState state;
    TimelineView view;
};

/// First span of a pipeline rank's compute row that has a kind and a micro-batch.
std::size_t findSpan(const SpanTable& spans, int pp, SpanKind kind, int microbatch);

}  // namespace foreshard::gui::test
