#include <QApplication>

#include <benchmark/benchmark.h>

#include "gui/app/kept_memory.hpp"
#include "gui/app/main_window.hpp"
#include "gui/editor/plan_editor.hpp"
#include "sim/spec/catalogue.hpp"
#include "sim/spec/request_text.hpp"

/// From an edit of the plan to the new picture of the whole window: debounce, simulation on the worker thread, all
/// views painted (off screen, 1920 x 1080). The first millisecond figure is what a user waits for; `simulation_ms` is
/// the worker's part of it, debounce left out.
namespace foreshard::gui {
namespace {

void edit_to_picture(benchmark::State& state, const std::string& plan) {
    MainWindow window(MainWindow::Persistence::none);
    window.resize(1920, 1080);
    window.show();
    window.add(openNow({.source = plan}));
    QApplication::processEvents();
    int finished = 0;
    QObject::connect(&window.runner(), &JobRunner::finished, [&] { ++finished; });
    bool full = request_value(window.editor().request(), "recompute") == "full";
    double simulation = 0.0;
    for (auto step : state) {
        const int before = finished;
        full = !full;
        window.editor().change("recompute", full ? "full" : "none");
        while (finished == before) QApplication::processEvents(QEventLoop::WaitForMoreEvents);
        simulation += window.runner().latencyMs() - JobRunner::debounce_ms;
        QApplication::processEvents();
        benchmark::DoNotOptimize(window.grab());
    }
    state.counters["simulation_ms"] = benchmark::Counter(simulation, benchmark::Counter::kAvgIterations);
    state.counters["spans"] = static_cast<double>(window.workspace().document(0).run.spans.size());
}

}  // namespace
}  // namespace foreshard::gui

int main(int argc, char** argv) {
    foreshard::gui::keepFreedMemory();
    if (qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
    const QApplication application(argc, argv);
    for (const foreshard::CatalogueEntry& plan : foreshard::catalogue("plans")) {
        const std::string id(plan.id);
        benchmark::RegisterBenchmark(("edit_to_picture/" + id).c_str(), foreshard::gui::edit_to_picture, id)
            ->Unit(benchmark::kMillisecond);
    }
    benchmark::Initialize(&argc, argv);
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}
