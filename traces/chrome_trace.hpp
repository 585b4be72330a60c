#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "sim/sim.hpp"

/// Writer of the Chrome trace format, which Perfetto and chrome://tracing open.
///
/// A process is a pipeline rank, a thread is a lane of it: compute, collectives inside passes, one or more lanes per
/// message stream, data parallel, tied embedding. Spans of a lane never overlap: what would is moved to another lane of
/// the same stream. Spans of zero length are written as instants. The same evaluation gives the same bytes.
namespace foreshard {

struct ChromeTraceOptions {
    std::int64_t most_events = 1'000'000;  ///< what chrome://tracing bears; arrows are left out beyond
};

/// @returns what the reader should be told about the file, e.g. that arrows were left out; mostly empty
std::vector<std::string> write_chrome_trace(std::ostream& out, const Evaluation& evaluation,
                                            const ChromeTraceOptions& options = {});

/// Compressed when `path` ends in ".gz". @throws InputError when the file cannot be written
std::vector<std::string> write_chrome_trace(const std::string& path, const Evaluation& evaluation,
                                            const ChromeTraceOptions& options = {});

}  // namespace foreshard
