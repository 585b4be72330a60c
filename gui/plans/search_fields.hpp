#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "gui/editor/plan_fields.hpp"
#include "sim/error.hpp"
#include "sim/search/sweep.hpp"

/// What a search in the window is asked for beside the job, without Qt.
namespace foreshard::gui {

/// By field: the axes of the search (see search_axes), "gpus" and "gbs" (sizes, see sizes.hpp), "objective",
/// "train_tokens", figures of operation in lower case, "max_memory_gib", "space", "top". What is not said is absent.
using SearchTexts = std::map<std::string, std::string>;

/// The fields in the order of the panel; the first group is what most searches need.
const std::vector<FieldGroup>& searchFieldGroups();

bool isSearchField(std::string_view name);

/// A search for plans of the job that is edited. What its plan says of the axes, of layouts, and in other words for
/// these, is left out (see freedText). @param resolved of the same plan, for counts that it does not say; may be null
/// @throws InputError naming the flag of a text that cannot be read
SweepRequest searchRequestOf(const JobRequest& edited, const Job* resolved, const SearchTexts& texts);

/// "tp 8, layout 3,4": what the plan says and the search varies; empty: nothing.
std::string freedText(const JobRequest& edited);

/// Bad input at the field of its flag; an empty name where it is about the job or the whole.
FieldMessage searchMessageOf(const std::string& flag, const std::string& error);

}  // namespace foreshard::gui
