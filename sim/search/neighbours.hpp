#pragma once

#include <array>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "sim/result/report.hpp"
#include "sim/result/waterfall.hpp"
#include "sim/spec/job_request.hpp"

/// Why the best plan of a search is better than the plans next to it.
namespace foreshard {

struct SearchOutcome;
struct SearchRequest;

/// What is held on the fullest rank at its peak; the parts sum to the summary's peak_memory.
enum class PeakPart : std::uint8_t { weights, gradients, optimizer, activations, buffers };
inline constexpr int peak_part_count = 5;
std::string_view to_string(PeakPart part);
using PeakParts = std::array<ByteCount, peak_part_count>;

/// A field of the plan that is not as in the best one. A value is empty where nothing is said.
struct PlanChange {
    std::string name;
    std::string from;
    std::string to;
};

/// Fields in which `to` differs from `from`.
std::vector<PlanChange> plan_changes(const JobRequest& from, const JobRequest& to);

/// A plan that differs from the best one in one axis of the search, and in what must follow from that.
struct Neighbour {
    PlanChange change;
    std::vector<PlanChange> follows;
    JobRequest plan;     ///< what has to be said beyond the search's base
    std::string broken;  ///< the rule that forbids it, with the nearest that it allows; empty: it was simulated
    std::optional<Summary> summary;
    Picoseconds step_difference = 0;  ///< of the neighbour, minus the best one's; so are the next ones
    StepTerms terms{};                ///< sum to it
    ByteCount peak_difference = 0;
    PeakParts peak_parts{};        ///< sum to it
    ByteCount missing_memory = 0;  ///< more than there is; 0: it fits
    bool runs() const { return broken.empty() && missing_memory == 0; }
};

/// The best plan's neighbours by axis, in the order of search_axes(): degrees, micro-batch, chunks and ZeRO stage one
/// value up and down; every other schedule, recomputation and data parallelism; sequence parallelism the other way.
/// A value that a rule forbids is told, and the next one is looked at too. Values are those of the request's space.
/// @param outcome of search(request); without plans there are no neighbours @throws Stopped
std::vector<Neighbour> neighbours_of_best(const SearchRequest& request, const SearchOutcome& outcome,
                                          const std::stop_token& stop = {});

}  // namespace foreshard
