#pragma once

#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "sim/result/run.hpp"

/// Reads traces of this and other programs: Chrome trace JSON as `foreshard` and PyTorch's profiler write it, plain or
/// compressed by gzip. Events are scanned once; the file is never held as a tree.
namespace foreshard {

struct TraceLimits {
    std::size_t most_events = 20'000'000;          ///< refused beyond, since memory grows with them
    std::size_t most_text = std::size_t{8} << 30;  ///< bytes, uncompressed
    std::stop_token stop = {};                     ///< looked at before every event
};

/// The trace as a run. Nothing is dropped silently: Run::notes counts events that were clipped, moved to a further row,
/// not classified, or not of a kind that is drawn. Passes are known by the arguments that our traces give them, by
/// ranges PP:{stage}{F|I|B|W}{micro-batch}, or by names such as "F mb3 c0".
/// @throws UnreadableFile when the file cannot be opened, is damaged, is no trace or exceeds the limits; Stopped
Run read_trace(const std::string& path, const TraceLimits& limits = {});

/// The same from text.
/// @param name how messages call it
Run parse_trace(const std::string& name, std::string_view text, const TraceLimits& limits = {});

/// One run of several files, a rank each (PyTorch writes them so). Times are put on one clock where files say theirs.
Run read_traces(const std::vector<std::string>& paths, const TraceLimits& limits = {});

}  // namespace foreshard
