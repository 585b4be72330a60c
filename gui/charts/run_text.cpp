#include "gui/charts/run_text.hpp"

namespace foreshard::gui {

QString rankName(const Run& run, std::size_t rank) {
    const std::vector<SpanRank>& ranks = run.spans.ranks;
    if (rank < ranks.size() && !ranks[rank].name.empty()) return QString::fromStdString(ranks[rank].name);
    return QString("rank %1").arg(rank);
}

}  // namespace foreshard::gui
