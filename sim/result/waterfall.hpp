#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/result/run.hpp"

/// What a step's time is made of, and what makes one step longer than another, to the picosecond.
namespace foreshard {

/// Parts of a step, means over ranks.
enum class StepTerm : std::uint8_t {
    forward,
    backward,
    weight_grad,
    recompute,
    optimizer,
    host,
    data,
    exposed_tp,
    exposed_cp,
    exposed_ep,
    exposed_pp,
    exposed_dp,
    exposed_offload,
    imbalance,  ///< idle time since other ranks have more work: busiest rank minus the mean
    bubble,     ///< the other idle time
};
inline constexpr int step_term_count = 15;
std::string_view to_string(StepTerm term);  ///< for people: "exposed TP"
std::string_view key_of(StepTerm term);     ///< for JSON: "exposed_tp"

/// True for forward, backward, weight gradients and recomputation.
bool is_compute(StepTerm term);

using StepTerms = std::array<Picoseconds, step_term_count>;

/// The terms of a run; they sum to its step time exactly. Whole picoseconds: what division by the number of ranks
/// leaves goes to the terms with the largest remainders. Precondition: run.accounts is not empty.
StepTerms step_terms(const Run& run);

/// Why B's step is longer or shorter than A's.
struct Waterfall {
    Picoseconds step_a = 0;
    Picoseconds step_b = 0;
    StepTerms a{};
    StepTerms b{};
    StepTerms difference{};  ///< b - a; sums to step_b - step_a exactly
};

/// Precondition: both runs have accounts.
Waterfall waterfall(const Run& a, const Run& b);

/// Terms that differ, by size of the difference, largest first.
std::vector<StepTerm> largest_first(const Waterfall& waterfall);

}  // namespace foreshard
