#include "gui/timeline/timeline_rows.hpp"

#include <algorithm>
#include <tuple>

namespace foreshard::gui {

namespace {

constexpr int gap_of_rows = 1;
constexpr int gap_of_ranks = 4;

/// One rank as all runs know it.
struct MergedRank {
    QString name;
    std::vector<std::optional<std::size_t>> of;  ///< per run: index into its ranks
};

std::tuple<int, int, int> keyOf(const SpanRank& rank) {
    return {rank.pp, rank.replica, rank.pp < 0 ? rank.rank : 0};
}

std::vector<MergedRank> mergedRanks(std::span<const Run* const> runs) {
    std::vector<MergedRank> merged;
    std::vector<std::tuple<int, int, int>> keys;
    for (std::size_t run = 0; run < runs.size(); ++run) {
        const std::vector<SpanRank>& ranks = runs[run]->spans.ranks;
        for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
            const auto key = keyOf(ranks[rank]);
            auto place = static_cast<std::size_t>(std::find(keys.begin(), keys.end(), key) - keys.begin());
            // Two ranks of one run with the same key stay two.
            if (place == keys.size() || merged[place].of[run]) {
                place = keys.size();
                keys.push_back(key);
                merged.push_back({QString::fromStdString(ranks[rank].name), {}});
                merged.back().of.resize(runs.size());
            }
            merged[place].of[run] = rank;
        }
    }
    return merged;
}

class LayoutBuilder {
public:
    LayoutBuilder(std::span<const Run* const> runs, const RowChoice& choice) : runs_(runs), choice_(choice) {}

    RowLayout build() {
        const std::vector<MergedRank> ranks = mergedRanks(runs_.first(std::min(runs_.size(), shownRuns())));
        for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
            const bool pinned = choice_.pinned.contains(rank);
            rows_ = pinned ? &layout_.pinned : &layout_.scrolled;
            height_ = pinned ? &layout_.pinnedHeight : &layout_.scrolledHeight;
            addRank(ranks[rank], rank);
        }
        return std::move(layout_);
    }

private:
    bool comparesTwo() const {
        return runs_.size() > 1 && (choice_.mode == TimelineMode::diff || choice_.mode == TimelineMode::overlay);
    }
    std::size_t shownRuns() const {
        if (comparesTwo()) return 2;
        return choice_.mode == TimelineMode::stack ? runs_.size() : 1;
    }

    void addRank(const MergedRank& rank, std::size_t number) {
        const std::size_t before = rows_->size();
        for (std::size_t run = comparesTwo() ? 1 : 0; run < rank.of.size(); ++run) {
            if (rank.of[run]) addRunOfRank(rank, run, number);
        }
        // A rank that only the first run has is shown from there, so that nothing is hidden.
        if (rows_->size() == before && rank.of[0]) addRunOfRank(rank, 0, number);
        if (rows_->size() != before && rank.of[0]) addOnlyFirst(*rank.of[0], number, before);
        if (rows_->size() == before) return;
        (*rows_)[before].firstOfRank = true;
        const QString second = (*rows_)[before].label;
        (*rows_)[before].label = second.isEmpty() ? rank.name : rank.name + " " + second;
        *height_ += gap_of_ranks - gap_of_rows;
    }

    void addRunOfRank(const MergedRank& rank, std::size_t run, std::size_t number) {
        const SpanTable& spans = runs_[run]->spans;
        const bool expanded = choice_.expanded.contains(number);
        bool first = true;
        for (std::size_t row = 0; row < spans.rows.size(); ++row) {
            const SpanRow& its = spans.rows[row];
            if (static_cast<std::size_t>(its.rank) != *rank.of[run]) continue;
            const bool lane = its.lane != SpanLane::compute;
            if (lane && !expanded && !first) continue;
            addRow(run, row, number, first ? letterOf(run) : laneName(its), lane || its.overflow > 0);
            if (!lane && comparesTwo() && run == 1) compareRow(rank, its);
            first = false;
        }
    }

    QString letterOf(std::size_t run) const {
        return choice_.mode == TimelineMode::stack && runs_.size() > 1 ? runLetter(run) : QString();
    }

    static QString laneName(const SpanRow& row) {
        const QString name = QString::fromUtf8(to_string(row.lane).data());
        return row.overflow > 0 ? QString("%1 +%2").arg(name).arg(row.overflow) : name;
    }

    void addRow(std::size_t run, std::size_t row, std::size_t rank, const QString& label, bool lane) {
        TimelineRow added;
        added.run = run;
        added.row = row;
        added.rank = rank;
        added.lane = lane;
        added.label = label;
        place(added, lane ? std::max(6, choice_.rowHeight * 11 / 20) : choice_.rowHeight);
    }

    void place(TimelineRow& row, int height) {
        row.top = *height_;
        row.height = height;
        *height_ += height + gap_of_rows;
        rows_->push_back(row);
    }

    /// What the second run lacks: of a folded rank its passes, else of all lanes.
    void addOnlyFirst(std::size_t rank, std::size_t number, std::size_t firstRow) {
        if ((*rows_)[firstRow].run == 0) return;
        for (const std::size_t row : choice_.onlyFirstRows) {
            const SpanRow& its = runs_[0]->spans.rows[row];
            const bool folded = its.lane != SpanLane::compute && !choice_.expanded.contains(number);
            if (static_cast<std::size_t>(its.rank) != rank || folded) continue;
            const bool passes = its.lane == SpanLane::compute && its.overflow == 0;
            addRow(0, row, number, passes ? "only A" : "only A " + laneName(its), true);
            rows_->back().content = RowContent::only_first;
        }
    }

    /// What a compute row of the second run shows of the first.
    void compareRow(const MergedRank& rank, const SpanRow& its) {
        const TimelineRow drawn = rows_->back();
        if (choice_.mode == TimelineMode::overlay) {
            rows_->back().outlineRow = rank.of[0] ? rowOf(runs_[0]->spans, *rank.of[0], its) : std::nullopt;
            return;
        }
        TimelineRow strip = drawn;
        strip.content = RowContent::late_early;
        strip.lane = true;
        strip.label = "late/early";
        place(strip, std::max(9, choice_.rowHeight * 12 / 20));
    }

    static std::optional<std::size_t> rowOf(const SpanTable& spans, std::size_t rank, const SpanRow& like) {
        for (std::size_t row = 0; row < spans.rows.size(); ++row) {
            const SpanRow& its = spans.rows[row];
            if (static_cast<std::size_t>(its.rank) == rank && its.lane == like.lane && its.overflow == like.overflow) {
                return row;
            }
        }
        return std::nullopt;
    }

    std::span<const Run* const> runs_;
    const RowChoice& choice_;
    RowLayout layout_;
    std::vector<TimelineRow>* rows_ = nullptr;
    int* height_ = nullptr;
};

}  // namespace

RowLayout layoutRows(std::span<const Run* const> runs, const RowChoice& choice) {
    return LayoutBuilder(runs, choice).build();
}

std::size_t rankCount(std::span<const Run* const> runs) {
    return mergedRanks(runs).size();
}

QString runLetter(std::size_t run) {
    return run < 26 ? QString(QChar(static_cast<char16_t>(u'A' + run))) : QString::number(run + 1);
}

}  // namespace foreshard::gui
