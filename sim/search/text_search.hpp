#pragma once

#include <string>

#include "sim/search/search.hpp"
#include "sim/search/text_objective.hpp"

/// A search as text.
namespace foreshard {

/// The best plans, the front of step time against memory, how many plans lost and why, and the flags of the best.
/// @param top rows of the first table
std::string search_text(const SearchOutcome& result, int top);

/// One plan a line, with units in the names of columns and the flags of each plan.
std::string search_csv(const SearchOutcome& result);
/// The same with these figures. @param figures columns at the end
std::string search_csv(const SearchOutcome& result, const FigureColumns& figures);

/// What is needed for a plan to fit where none does, a line each; empty where some do.
std::vector<std::string> search_advice(const SearchOutcome& result);

/// All flags of a job that give one plan of a search.
std::string plan_flags(const SearchOutcome& result, const FoundPlan& found);

}  // namespace foreshard
