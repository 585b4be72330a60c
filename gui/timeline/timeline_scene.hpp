#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "gui/theme.hpp"
#include "gui/timeline/timeline_rows.hpp"
#include "sim/result/coverage.hpp"
#include "sim/result/phases.hpp"
#include "sim/result/run.hpp"
#include "sim/result/span_query.hpp"

/// What a timeline draws, apart from where on the screen.
namespace foreshard::gui {

/// Spans of one micro-batch, by counting sort: those of micro-batch m are spans[first[m]] to spans[first[m + 1] - 1].
struct MicrobatchIndex {
    std::vector<std::uint32_t> first;
    std::vector<std::uint32_t> spans;
};
MicrobatchIndex microbatchIndex(const SpanTable& spans);

struct ShownRun {
    const Run* run = nullptr;
    std::unique_ptr<Coverage> coverage;
    Picoseconds shift = 0;  ///< time on the axis minus time of the run
    std::optional<PipelinePhases> phases;
    std::optional<MicrobatchIndex> microbatches;  ///< made when first needed
    std::optional<SpanUsers> users;               ///< made when first needed
    const SpanTable& spans() const { return run->spans; }
};

/// Spans of the first run that the second lacks, ready to be drawn; rows have the index that they have in the run.
struct OnlyFirst {
    std::unique_ptr<Run> run;  ///< spans only
    ShownRun shown;
    std::vector<std::size_t> spans;    ///< per span: its index in the first run
    std::vector<std::size_t> rows;     ///< that have such spans
    bool has(std::size_t span) const;  ///< of the first run
};

/// The second run against the first.
struct Lateness {
    std::vector<Picoseconds> late;    ///< per span of the second run: its end minus its partner's, steps aligned
    std::vector<char> matched;        ///< per span of the second run; true outside its window
    std::vector<double> accumulated;  ///< per span of the second run: sum of late x length of the row's spans before it
    Picoseconds full = 1;             ///< late or early by this or more is drawn at full height: half of A's step
    OnlyFirst onlyFirst;
    std::size_t onlyInSecond = 0;
    double matchRatio = 1.0;
};
Lateness latenessOf(const ShownRun& first, const ShownRun& second);
/// Height of a bar of the strip, -1 (early) to 1: the square root of late / full, so that a hundredth of a step is
/// seen.
double latenessHeight(Picoseconds full, double late);

struct TimelineScene {
    std::vector<ShownRun> runs;
    std::optional<Lateness> lateness;  ///< modes diff and overlay
    RowChoice choice;
    ThemeKind themeKind = ThemeKind::light;
    std::vector<Picoseconds> marks;  ///< on the axis
    bool criticalPath = false;
    std::vector<std::size_t> chain;  ///< why the selected gap is there: spans of the selection's run, back in time
    Picoseconds first = 0;           ///< of the axis, over the runs that the mode shows
    Picoseconds last = 1;

    const Theme& theme() const { return gui::theme(themeKind); }
    std::vector<const Run*> runPointers() const;
    bool comparesTwo() const;
    std::size_t shownRuns() const;
    /// The run that rows show where there is only one: in comparisons the second.
    std::size_t drawnRun() const { return comparesTwo() ? 1 : 0; }
    /// What a row's `run` means.
    const ShownRun& shownOf(const TimelineRow& row) const {
        return row.content == RowContent::only_first ? lateness->onlyFirst.shown : runs[row.run];
    }
};

enum class Alignment : std::uint8_t { start_of_step, end_of_step };

/// Coverage of each run, shifted so that the windows start (or end) with the first one's.
void setSceneRuns(TimelineScene& scene, const std::vector<const Run*>& runs, Alignment alignment);
/// Sets the mode and what follows from it: the axis, and lateness where two runs are compared.
void setSceneMode(TimelineScene& scene, TimelineMode mode);

}  // namespace foreshard::gui
