#pragma once

#include <string>
#include <vector>

#include "sim/spec/job.hpp"

/// Which layers every pipeline stage holds.
namespace foreshard {

/// Contents of one virtual stage, in execution order.
struct StageContents {
    bool embedding = false;
    int first_layer = 0;  ///< index of its first decoder layer
    int layers = 0;
    int mtp_layers = 0;
    bool loss = false;
    bool operator==(const StageContents&) const = default;
};

/// Parses a Megatron layout (`E|(t|)*3,m|m||L`) or a list of layers per stage (`7,8,8,7`).
/// @throws InputError naming the position in the text
std::vector<StageContents> parse_layout(const std::string& text);

/// The layout in Megatron's letters, one group per stage: "Ett|tt|ttL".
std::string to_string(const std::vector<StageContents>& stages);

/// Rules about layers, stages, chunks and layouts that the job breaks.
std::vector<BrokenRule> check_layout(const Job& job);

/// Contents of all stages. Precondition: check_layout(job) is empty.
std::vector<StageContents> stage_layout(const Job& job);

/// Layers spread as evenly as possible over stages, earlier stages larger; zero allowed.
std::vector<StageContents> even_layout(int layers, int stages);

/// Number of virtual stages: p * v, or p for a bidirectional placement.
int stage_count(const Job& job);

/// Stages that make up one replica of the layers, per rank: v, or 1 for a bidirectional placement.
int stages_per_rank(const Job& job);

}  // namespace foreshard
