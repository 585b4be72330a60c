#include "tests/gui/timeline_fixture.hpp"

#include <QTest>
#include <stdexcept>

#include "sim/engine/evaluate.hpp"
#include "tests/support/jobs.hpp"
#include "tests/support/runs.hpp"

namespace foreshard::gui::test {

namespace {

constexpr Picoseconds ms = 1'000'000'000;

}  // namespace

foreshard::Run smallRun(int p, int m) {
    using foreshard::test::timed_job;
    return foreshard::test::run_of(timed_job(ScheduleKind::one_f_one_b, p, m, 1, 10 * ms, 20 * ms, 0, ms), "1f1b");
}

foreshard::Run zeroBubbleRun(int p, int m) {
    using foreshard::test::timed_job;
    return foreshard::test::run_of(timed_job(ScheduleKind::zb_h1, p, m, 1, 10 * ms, 10 * ms, 10 * ms, ms), "zb-h1");
}

ShownTimeline::ShownTimeline(const std::vector<const foreshard::Run*>& runs) : view(state) {
    view.resize(1000, 400);
    view.setRuns(runs);
    view.show();
    QApplication::processEvents();
}

QPoint ShownTimeline::middleOf(std::size_t run, std::size_t span) const {
    return spanRect(view.frame(), run, span).value().center().toPoint();
}

QPoint ShownTimeline::middleOf(const Gap& gap) const {
    const TimelineFrame frame = view.frame();
    const int x = static_cast<int>(frame.x(0, gap.begin + gap.length() / 2));
    return {x, rowOfTable(frame, 0, gap.row).value().rect.center().y()};
}

void ShownTimeline::press(int key, Qt::KeyboardModifiers modifiers) {
    QTest::keyClick(&view, static_cast<Qt::Key>(key), modifiers);
}

void ShownTimeline::move(QPoint point) {
    QTest::mouseMove(view.viewport(), point);
    QApplication::processEvents();
}

std::size_t findSpan(const SpanTable& spans, int pp, SpanKind kind, int microbatch) {
    for (const SpanRow& row : spans.rows) {
        if (spans.ranks[static_cast<std::size_t>(row.rank)].pp != pp || row.lane != SpanLane::compute) continue;
        for (std::size_t span = row.first; span < row.last; ++span) {
            if (spans.kind[span] == kind && spans.microbatch[span] == microbatch) return span;
        }
    }
    throw std::out_of_range("no such span");
}

}  // namespace foreshard::gui::test
