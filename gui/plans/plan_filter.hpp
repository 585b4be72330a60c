#pragma once

#include <QString>
#include <optional>
#include <string>
#include <vector>

#include "traces/read_search.hpp"

/// What the filter line of the plans means.
namespace foreshard::gui {

/// "pp<=4": a setting or figure against a number. "zb": a word that must stand in a setting's value or the remark.
struct FilterTerm {
    enum class Kind { word, less, less_equal, equal, not_equal, greater_equal, greater } kind = Kind::word;
    std::string key;  ///< of a comparison
    std::string value;
};

/// Terms are separated by spaces and all must hold. Keys are those of the plans, and step (ms), tokens (per s), mfu,
/// bubble (both in %), memory (GiB).
struct PlanFilter {
    std::vector<FilterTerm> terms;
    QString error;  ///< not empty: what is wrong with the text, and which keys there are
};

PlanFilter parsePlanFilter(const QString& text, const ReadSearch& search);

/// Whether a plan passes; a plan that lacks the figure does not.
bool passes(const PlanFilter& filter, const SearchPlan& plan);

}  // namespace foreshard::gui
