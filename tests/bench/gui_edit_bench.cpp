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

/// A field that goes back and forth between two values.
struct Edit {
    const char* name;
    const char* field;
    const char* on;
    const char* off;
};
constexpr Edit edits[] = {{"recompute", "recompute", "full", "none"}, {"jitter", "jitter_pct", "0.001", ""}};

void edit_to_picture(benchmark::State& state, const std::string& plan, const Edit& edit) {
    MainWindow window(MainWindow::Persistence::none);
    window.resize(1920, 1080);
    window.show();
    window.add(openNow({.source = plan}));
    QApplication::processEvents();
    int finished = 0;
    QObject::connect(&window.runner(), &JobRunner::finished, [&] { ++finished; });
    bool on = request_value(window.editor().request(), edit.field) == edit.on;
    double simulation = 0.0;
    for (auto step : state) {
        const int before = finished;
        on = !on;
        window.editor().change(edit.field, on ? edit.on : edit.off);
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
        for (const foreshard::gui::Edit& edit : foreshard::gui::edits) {
            const std::string id(plan.id);
            benchmark::RegisterBenchmark((std::string(edit.name) + "_to_picture/" + id).c_str(),
                                         foreshard::gui::edit_to_picture, id, edit)
                ->Unit(benchmark::kMillisecond);
        }
    }
    benchmark::Initialize(&argc, argv);
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}
