#pragma once

#include "sim/search/search.hpp"
#include "sim/spec/json_text.hpp"

/// Objective and figures in foreshard.search.
namespace foreshard {

/// Adds `objective`, `operation` and `train_tokens`, as far as they are given.
void add_objective(const SearchOutcome& result, OrderedJson& json);

/// Adds `figures` to a plan, unless none is known.
void add_figures(const PlanFigures& figures, OrderedJson& plan);

/// The document that search_json() writes.
OrderedJson search_document(const SearchOutcome& result);

}  // namespace foreshard
