#pragma once

#include <string>
#include <vector>

#include "sim/spec/request_text.hpp"

namespace foreshard::gui {

/// Of a measured report: what stands in the file, and what is simulated of its job.
enum class ReportPart { all, simulation, measurement };

/// What to open: a source, with changes that are made to its plan (or to none, for an empty source).
struct OpenRequest {
    std::string source{};
    std::vector<RequestValue> changes{};
    std::string name{};       ///< empty: the source's
    bool bubbleFree = false;  ///< add the same plan without bubbles
    bool findPlans = false;   ///< once it is open, search plans for its job
    ReportPart part = ReportPart::all;
    bool operator==(const OpenRequest&) const = default;
};

}  // namespace foreshard::gui
