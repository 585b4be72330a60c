#pragma once

#include <map>
#include <set>
#include <tuple>

#include "runtime/rank_model.hpp"
#include "runtime/unit_run.hpp"

/// Internal to RankModel: what follows from the job before anything runs.
namespace foreshard::runtime {

/// A message by the stage that consumes it.
using MessageKey = std::tuple<int, int, Direction>;  ///< stage, micro-batch

/// @throws InputError naming what the runtime cannot run, and what it can
void refuse_unsupported(const Job& job, const TaskGraph& graph, ElementType type);

RankPosition position_of(const Job& job, int rank);

/// Global ranks of the tensor parallel group, ascending.
std::vector<int> tensor_parallel_group(const Job& job, const RankPosition& at);

AttentionShape attention_shape(const Job& job, const OpShapes& shapes);
/// The rank's rows of the vocabulary; all pipeline ranks have their own where they share it.
VocabularyPart vocabulary_part(const Job& job, const RankPosition& at);

/// Index into TaskGraph::rank_stages of the simulated rank that a real one runs.
int simulated_rank(const TaskGraph& graph, const RankPosition& at);

/// Messages that the rank sends; what is not among them goes to a stage on the same rank.
std::set<MessageKey> sent_messages(const TaskGraph& graph, int simulated);

}  // namespace foreshard::runtime
