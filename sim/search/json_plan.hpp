#pragma once

#include "sim/search/search.hpp"
#include "sim/spec/json_reader.hpp"

/// Parts of foreshard.search (docs/formats.md).
namespace foreshard {

/// What the request says of the plan, and of the batch, as in a job file.
OrderedJson plan_fields_json(const JobRequest& request);
OrderedJson batch_fields_json(const JobRequest& request);

/// plan, batch, summary, and figures where some are known
OrderedJson found_plan_json(const FoundPlan& found);

/// evaluated, simulated, best, on_front, and what found_plan_json() has
OrderedJson improvement_document(const Improvement& improvement);

OrderedJson cells_json(const std::vector<InfeasibleCell>& cells);
OrderedJson neighbours_json(const std::vector<Neighbour>& neighbours);
OrderedJson sensitivity_json(const std::vector<Sensitivity>& all);

}  // namespace foreshard
