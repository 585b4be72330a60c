#pragma once

#include <map>
#include <string>
#include <vector>

#include "gui/app/open_request.hpp"
#include "sim/units.hpp"

/// What a window shows, as a file: sources and changes, no results. They are simulated again. Without Qt.
namespace foreshard::gui {

struct SessionRun {
    OpenRequest open;
    bool shown = true;
    bool operator==(const SessionRun&) const = default;
};

struct Session {
    std::vector<SessionRun> runs;  ///< A first
    std::vector<std::string> searches;
    std::map<std::string, std::string> search;  ///< constraints of the search panel, by field
    std::size_t edited = 0;                     ///< of `runs`
    std::string mode = "single";
    std::string theme = "light";
    Picoseconds begin = 0;  ///< visible time
    Picoseconds end = 0;
    std::vector<Picoseconds> marks;         ///< on the axis
    std::vector<std::int64_t> pinnedRanks;  ///< as TimelineRow::rank counts them
    std::vector<std::int64_t> expandedRanks;
    bool operator==(const Session&) const = default;
};

std::string sessionText(const Session& session);
/// @throws InputError, UnreadableFile naming file and JSON path
Session parseSession(const std::string& name, const std::string& text);

}  // namespace foreshard::gui
