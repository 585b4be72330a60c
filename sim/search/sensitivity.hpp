#pragma once

#include <array>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "sim/spec/job_request.hpp"

/// Which figure of the hardware moves the best plan, and by how much.
namespace foreshard {

struct SearchOutcome;
struct SearchRequest;

/// What is scaled.
enum class HardwareFigure : std::uint8_t {
    peak_flops,        ///< of every number format; measured kernel rates with it
    memory_bandwidth,  ///< of the device's memory
    memory_size,       ///< that a process can have, and --max-memory-gib
    intra_node_link,   ///< bandwidth inside a node; of measured collectives all that grows with the message
    inter_node_link,   ///< bandwidth between nodes
    latency,  ///< of messages and links, and the constant part of measured collectives; NCCL's own constants stay
};
inline constexpr int hardware_figure_count = 6;
std::string_view key_of(HardwareFigure figure);     ///< for JSON: "peak_flops"
std::string_view to_string(HardwareFigure figure);  ///< for people: "peak FLOP/s"

/// By how much figures are scaled: a fifth less, a quarter more, so that one undoes the other.
inline constexpr std::array<double, 2> sensitivity_scales = {0.8, 1.25};

/// The request on hardware where one figure is so many times as large.
/// @param request with specs in place of names (see with_specs) @return nothing where the hardware has no such figure
std::optional<SearchRequest> scaled_request(const SearchRequest& request, HardwareFigure figure, double scale);

struct Sensitivity {
    HardwareFigure figure = HardwareFigure::peak_flops;
    double scale = 1.0;
    std::optional<JobRequest> plan;           ///< the best one then; absent: none fits
    double step_time_ms = 0.0;                ///< of that plan
    bool other_plan = false;                  ///< it is not the best one of the unchanged hardware
    std::optional<double> kept_step_time_ms;  ///< of the unchanged hardware's best plan; absent: it does not fit
};

/// Searches again for every figure and scale. @param outcome of search(request); without plans there is nothing to tell
/// @throws Stopped
std::vector<Sensitivity> sensitivity_of(const SearchRequest& request, const SearchOutcome& outcome,
                                        const std::stop_token& stop = {});

}  // namespace foreshard
