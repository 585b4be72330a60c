#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/rank_model.hpp"
#include "sim/sim.hpp"
#include "sim/spec/job_request.hpp"

/// Runs steps of small jobs without the executor: pipeline ranks in turns in one thread, tensor parallel ranks in
/// threads.
namespace foreshard::runtime::test {

/// A few layers of a tiny model of the catalogue ("gpt-tiny", "llama-tiny", "bert-tiny"), short sequences.
JobRequest small_request(const std::string& model, int tp = 1);

/// What a step left behind, put together from all ranks that hold a part; parameters by name.
struct StepResult {
    double loss = 0.0;
    std::map<std::string, std::vector<double>> gradients;
    std::map<std::string, std::vector<double>> weights;
    std::vector<PassMemory> passes;  ///< of the first rank, in order
    std::vector<Work> works;         ///< the same
    std::vector<std::string> ops;    ///< of the first rank
    MemoryUse left;                  ///< on the first rank after the step
};

struct RunOptions {
    ElementType type = ElementType::fp64;
    int steps = 1;  ///< the result is of the last
    ModelOptions model;
};

/// Precondition: dp 1; tp 1 or pp 1.
StepResult run_steps(const Job& job, const RunOptions& options = {});
StepResult run_steps(const Job& job, const TaskGraph& graph, const RunOptions& options);

/// Largest relative difference |a - b| / max(|b|) over the tensors of both; fails the test when their names differ.
/// Tensors of `a` may have rows more, of a vocabulary that is padded for its layout.
double largest_difference(const std::map<std::string, std::vector<double>>& a,
                          const std::map<std::string, std::vector<double>>& b);

}  // namespace foreshard::runtime::test
