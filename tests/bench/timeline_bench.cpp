#include <QApplication>
#include <QGraphicsRectItem>
#include <QGraphicsView>
#include <QPixmap>
#include <map>
#include <random>

#include <benchmark/benchmark.h>

#include "gui/timeline/timeline_view.hpp"

/// Frames of a timeline at 1920 x 1080 without a display, and the same boxes in a QGraphicsView.
namespace foreshard::gui {
namespace {

constexpr int rows = 64;
const QSize frame_size(1920, 1080);

/// Passes of 1 to 10 us with a bubble in front of every tenth, dealt to 64 ranks.
Run random_run(std::size_t events) {
    std::mt19937 random(7);
    Run run;
    run.name = "random";
    SpanTable& spans = run.spans;
    const std::size_t per_row = events / rows;
    for (int rank = 0; rank < rows; ++rank) {
        spans.ranks.push_back({rank, rank, -1, "PP" + std::to_string(rank)});
        const std::size_t first = spans.size();
        Picoseconds time = 0;
        for (std::size_t i = 0; i < per_row; ++i) {
            if (random() % 10 == 0) time += 1'000'000;
            spans.start.push_back(time);
            time += 1'000'000 + static_cast<Picoseconds>(random() % 9'000'000);
            spans.end.push_back(time);
            spans.kind.push_back(static_cast<SpanKind>(random() % 5));
            spans.microbatch.push_back(static_cast<std::int32_t>(i / 2));
        }
        spans.rows.push_back({rank, SpanLane::compute, 0, first, spans.size(), ""});
        spans.finish = std::max(spans.finish, time);
    }
    spans.stage.assign(spans.size(), 0);
    spans.chunk.assign(spans.size(), 0);
    spans.step.assign(spans.size(), 0);
    spans.task.assign(spans.size(), 0);
    spans.name.assign(spans.size(), 0);
    spans.names = {"pass"};
    spans.window_end = spans.finish;
    return run;
}

const Run& run_of(std::size_t events) {
    static std::map<std::size_t, Run> runs;
    const auto [found, added] = runs.try_emplace(events);
    if (added) found->second = random_run(events);
    return found->second;
}

/// A widget that is laid out and shown, and the picture it is drawn into.
struct Shown {
    explicit Shown(const Run& run) : view(state) {
        view.resize(frame_size);
        view.show();
        view.setRuns({&run});
        QApplication::processEvents();
    }
    void draw() { view.viewport()->render(&picture); }

    ViewState state;
    TimelineView view;
    QPixmap picture{frame_size};
};

/// Everything in view but a picosecond more or less, so that each frame is drawn anew; nothing but the minimap is kept.
void all_visible(benchmark::State& state) {
    const Run& run = run_of(static_cast<std::size_t>(state.range(0)));
    Shown shown(run);
    Picoseconds less = 0;
    for (auto _ : state) {
        less = 1 - less;
        shown.state.setVisible(0, run.spans.finish - less);
        shown.draw();
    }
}

/// The pointer moves over all of it.
void hover(benchmark::State& state) {
    Shown shown(run_of(static_cast<std::size_t>(state.range(0))));
    int frame = 0;
    for (auto _ : state) {
        shown.state.setCursor(shown.state.end() / 100 * (frame % 100));
        shown.state.lightMicrobatch(frame++ % 100);
        shown.draw();
    }
}

/// Each frame a step of a gesture: in by 7 %, some to the right, out again.
void pan_and_zoom(benchmark::State& state) {
    Shown shown(run_of(static_cast<std::size_t>(state.range(0))));
    int frame = 0;
    for (auto _ : state) {
        const int phase = frame++ % 120;
        const TimeAxis axis{shown.state.begin(), shown.state.end(), 1790.0};
        const TimeAxis next = phase < 40   ? zoomed(axis, 0.93, 700.0, 0, shown.view.scene().last)
                              : phase < 80 ? panned(axis, 25.0, 0, shown.view.scene().last)
                                           : zoomed(axis, 1.0 / 0.93, 700.0, 0, shown.view.scene().last);
        shown.state.setVisible(next.begin, next.end);
        shown.draw();
    }
}

/// A part in view in which boxes have edges and labels.
void labelled(benchmark::State& state) {
    const Run& run = run_of(static_cast<std::size_t>(state.range(0)));
    Shown shown(run);
    Picoseconds shift = 0;
    for (auto _ : state) {
        shift = 1'000'000 - shift;
        shown.state.setVisible(run.spans.finish / 2 + shift, run.spans.finish / 2 + shift + 500'000'000);
        shown.draw();
    }
}

void open_run(benchmark::State& state) {
    const Run& run = run_of(static_cast<std::size_t>(state.range(0)));
    for (auto _ : state) Shown shown(run);
}

void graphics_view(benchmark::State& state) {
    const Run& run = run_of(static_cast<std::size_t>(state.range(0)));
    const double scale = 1900.0 / static_cast<double>(run.spans.finish);
    const Theme& colors = theme(ThemeKind::light);
    QGraphicsScene scene;
    for (std::size_t row = 0; row < run.spans.rows.size(); ++row) {
        for (std::size_t i = run.spans.rows[row].first; i < run.spans.rows[row].last; ++i) {
            const double left = static_cast<double>(run.spans.start[i]) * scale;
            const double width = static_cast<double>(run.spans.end[i] - run.spans.start[i]) * scale;
            scene.addRect(left, static_cast<double>(row) * 16.0, width, 15.0, Qt::NoPen,
                          colors.fill(run.spans.kind[i]));
        }
    }
    QGraphicsView view(&scene);
    view.resize(frame_size);
    view.show();
    QApplication::processEvents();
    QPixmap picture(frame_size);
    for (auto _ : state) view.viewport()->render(&picture);
}

BENCHMARK(all_visible)->Arg(1'000'000)->Arg(10'000'000)->Unit(benchmark::kMillisecond);
BENCHMARK(pan_and_zoom)->Arg(1'000'000)->Arg(10'000'000)->Unit(benchmark::kMillisecond);
BENCHMARK(hover)->Arg(1'000'000)->Unit(benchmark::kMillisecond);
BENCHMARK(labelled)->Arg(1'000'000)->Unit(benchmark::kMillisecond);
BENCHMARK(open_run)->Arg(1'000'000)->Arg(10'000'000)->Unit(benchmark::kMillisecond);
BENCHMARK(graphics_view)->Arg(1'000'000)->Iterations(2)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace foreshard::gui

int main(int argc, char** argv) {
    if (qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
    const QApplication application(argc, argv);
    benchmark::Initialize(&argc, argv);
    benchmark::RunSpecifiedBenchmarks();
}
