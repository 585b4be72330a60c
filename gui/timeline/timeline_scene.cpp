#include "gui/timeline/timeline_scene.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "sim/result/compare.hpp"
#include "sim/result/span_subset.hpp"

namespace foreshard::gui {

namespace {

Picoseconds shiftOf(const Run& run, const Run& first, Alignment alignment) {
    return alignment == Alignment::start_of_step ? first.spans.window_begin - run.spans.window_begin
                                                 : first.spans.window_end - run.spans.window_end;
}

void accumulate(Lateness& lateness, const SpanTable& spans) {
    lateness.accumulated.resize(spans.size());
    for (const SpanRow& row : spans.rows) {
        double sum = 0.0;
        for (std::size_t span = row.first; span < row.last; ++span) {
            lateness.accumulated[span] = sum;
            sum += static_cast<double>(lateness.late[span]) * static_cast<double>(spans.end[span] - spans.start[span]);
        }
    }
}

Picoseconds stepOf(const Run& run) {
    const Picoseconds window = run.spans.window_end - run.spans.window_begin;
    return window > 0 ? window : run.step_time;
}

OnlyFirst onlyFirstOf(const ShownRun& first, const std::vector<std::size_t>& spans) {
    OnlyFirst only;
    only.spans = spans;
    only.run = std::make_unique<Run>();
    only.run->spans = subset_of(first.spans(), spans);
    only.shown.run = only.run.get();
    only.shown.coverage = std::make_unique<Coverage>(only.run->spans);
    only.shown.shift = first.shift;
    for (std::size_t row = 0; row < only.shown.spans().rows.size(); ++row) {
        const SpanRow& its = only.shown.spans().rows[row];
        if (its.first < its.last) only.rows.push_back(row);
    }
    return only;
}

void setSceneRange(TimelineScene& scene) {
    scene.first = std::numeric_limits<Picoseconds>::max();
    scene.last = std::numeric_limits<Picoseconds>::min();
    for (std::size_t i = 0; i < scene.shownRuns(); ++i) {
        const ShownRun& shown = scene.runs[i];
        scene.first = std::min(scene.first, shown.spans().begin + shown.shift);
        scene.last = std::max(scene.last, std::max(shown.spans().finish, shown.spans().begin + 1) + shown.shift);
    }
    if (scene.runs.empty()) scene.first = 0;
    if (scene.runs.empty()) scene.last = 1;
}

}  // namespace

MicrobatchIndex microbatchIndex(const SpanTable& spans) {
    MicrobatchIndex index;
    std::int32_t most = -1;
    for (const std::int32_t microbatch : spans.microbatch) most = std::max(most, microbatch);
    index.first.assign(static_cast<std::size_t>(most) + 2, 0);
    for (const std::int32_t microbatch : spans.microbatch) {
        if (microbatch >= 0) ++index.first[static_cast<std::size_t>(microbatch) + 1];
    }
    for (std::size_t m = 1; m < index.first.size(); ++m) index.first[m] += index.first[m - 1];
    index.spans.resize(index.first.back());
    std::vector<std::uint32_t> next = index.first;
    for (std::size_t span = 0; span < spans.size(); ++span) {
        if (spans.microbatch[span] < 0) continue;
        index.spans[next[static_cast<std::size_t>(spans.microbatch[span])]++] = static_cast<std::uint32_t>(span);
    }
    return index;
}

bool OnlyFirst::has(std::size_t span) const {
    return std::binary_search(spans.begin(), spans.end(), span);
}

/// Late and early are shares of A's step, and cut off at its half: pictures of different runs can then be compared.
double latenessHeight(Picoseconds full, double late) {
    const double share = std::min(std::abs(late) / static_cast<double>(full), 1.0);
    return std::copysign(std::sqrt(share), late);
}

Lateness latenessOf(const ShownRun& first, const ShownRun& second) {
    const Comparison comparison = compare(*first.run, *second.run);
    Lateness lateness;
    lateness.full = std::max<Picoseconds>(1, stepOf(*first.run) / 2);
    lateness.late.assign(second.spans().size(), 0);
    lateness.matched.assign(second.spans().size(), 1);
    for (const SpanPair& pair : comparison.pairs) {
        const Picoseconds late = second.spans().end[pair.b] + second.shift - first.spans().end[pair.a] - first.shift;
        lateness.late[pair.b] = late;
    }
    for (const std::size_t span : comparison.only_b) lateness.matched[span] = 0;
    lateness.onlyFirst = onlyFirstOf(first, comparison.only_a);
    lateness.onlyInSecond = comparison.only_b.size();
    lateness.matchRatio = comparison.match_ratio();
    accumulate(lateness, second.spans());
    return lateness;
}

std::vector<const Run*> TimelineScene::runPointers() const {
    std::vector<const Run*> pointers;
    pointers.reserve(runs.size());
    for (const ShownRun& shown : runs) pointers.push_back(shown.run);
    return pointers;
}

bool TimelineScene::comparesTwo() const {
    return runs.size() > 1 && (choice.mode == TimelineMode::diff || choice.mode == TimelineMode::overlay);
}

std::size_t TimelineScene::shownRuns() const {
    if (comparesTwo()) return 2;
    return choice.mode == TimelineMode::stack ? runs.size() : std::min<std::size_t>(runs.size(), 1);
}

void setSceneRuns(TimelineScene& scene, const std::vector<const Run*>& runs, Alignment alignment) {
    scene.runs.clear();
    scene.runs.reserve(runs.size());
    for (const Run* run : runs) {
        ShownRun shown;
        shown.run = run;
        shown.coverage = std::make_unique<Coverage>(run->spans);
        shown.shift = shiftOf(*run, *runs.front(), alignment);
        shown.phases = pipeline_phases(run->spans);
        scene.runs.push_back(std::move(shown));
    }
    scene.chain.clear();
    setSceneMode(scene, scene.choice.mode);
}

void setSceneMode(TimelineScene& scene, TimelineMode mode) {
    scene.choice.mode = mode;
    scene.lateness.reset();
    scene.choice.onlyFirstRows.clear();
    if (scene.comparesTwo()) scene.lateness = latenessOf(scene.runs[0], scene.runs[1]);
    if (scene.lateness && mode == TimelineMode::diff) scene.choice.onlyFirstRows = scene.lateness->onlyFirst.rows;
    setSceneRange(scene);
}

}  // namespace foreshard::gui
