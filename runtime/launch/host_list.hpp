#pragma once

#include <string>

namespace foreshard::runtime {

/// First host of a list as Slurm writes it: "node[03-07,9],other" names node03.
/// @throws InputError naming the variable and its value, when brackets do not match or no host is named
std::string first_host(const std::string& variable, const std::string& list);

}  // namespace foreshard::runtime
