#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "sim/search/search.hpp"

/// What tables of a search say of plans.
namespace foreshard {

/// "none", "block 4": some layers of every stage; "groups 4": all, so many at a time.
std::string recompute_words(const JobRequest& plan);

/// Axes that the default space leaves alone and in which these plans differ.
std::vector<std::string> varied_axes(const std::vector<const JobRequest*>& plans);

/// What a plan says of axes: values, and names of those that are on.
std::string axis_words(const JobRequest& plan, const std::vector<std::string>& axes);

/// Places of a front that a table has room for: the ends, and evenly between them. Precondition: `most` is 2 or more.
std::vector<std::size_t> thinned_front(const std::vector<std::size_t>& front, std::size_t most);

}  // namespace foreshard
