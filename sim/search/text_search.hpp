#pragma once

#include <string>

#include "sim/search/search.hpp"
#include "sim/search/text_objective.hpp"

/// A search as text.
namespace foreshard {

/// Rows that a front gets in text.
inline constexpr std::size_t front_rows = 16;

/// A line above a table of a front, with how many of its plans the table shows unless it is all.
std::string front_title(const std::string& title, std::size_t shown, std::size_t all);

/// What searches left open that did not come to their ends; empty where they did, or where that is not known.
/// @param gap_ratio as of SearchOutcome, the largest of all
std::string gap_text(bool complete, const std::optional<double>& gap_ratio);

/// The best plans, the front of step time against memory, how many plans lost and why, and the flags of the best.
/// @param top rows of the first table
std::string search_text(const SearchOutcome& result, int top);

/// What each neighbour of the best plan gains and loses, or why it cannot run; rounded so that a row's accounts sum to
/// the difference of its step. Empty without neighbours.
std::string neighbours_text(const SearchOutcome& result);

/// The best step on scaled hardware, a line per figure and scale. Empty where it was not asked for.
std::string sensitivity_text(const SearchOutcome& result);

/// "best so far 812.4 ms, 61.20 GiB: --tp 8 ...": a plan as it is found.
std::string improvement_text(const Improvement& improvement);

/// One plan a line, with units in the names of columns and the flags of each plan.
std::string search_csv(const SearchOutcome& result);
/// The same with these figures. @param figures columns at the end
std::string search_csv(const SearchOutcome& result, const FigureColumns& figures);

/// What is needed for a plan to fit where none does, a line each; empty where some do.
std::vector<std::string> search_advice(const SearchOutcome& result);

/// All flags of a job that give one plan of a search.
std::string plan_flags(const SearchOutcome& result, const FoundPlan& found);

}  // namespace foreshard
