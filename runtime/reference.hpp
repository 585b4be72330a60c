#pragma once

#include <string>
#include <vector>

#include "runtime/trainer.hpp"

/// The same training on one rank, and how far a rank of a parallel run is from it.
namespace foreshard::runtime {

struct ReferenceTensor {
    std::string name;
    std::vector<double> weight;
    std::vector<double> gradient;
};

struct Reference {
    std::vector<double> losses;            ///< per step
    std::vector<ReferenceTensor> tensors;  ///< by name
};

/// The job's model, batch and data on one rank, without any parallelism or recomputation.
Job one_rank_job(const Job& job);

/// @param steps number of steps that the parallel run makes, warm-up included
Reference run_reference(const Job& job, const TrainOptions& options, int steps);

/// Gives rank 0's reference to all ranks.
Reference share_reference(Transport& transport, const Reference& reference);

/// Distance ||x - x0|| / max(||x0||, 1e-3 N / sqrt(tensors)), over the part of a tensor that a rank holds; N is the
/// norm of all tensors together.
struct TensorError {
    std::string tensor;  ///< "gradient of layers.0.qkv.weight on rank 3"
    double relative = 0.0;
};

struct Comparison {
    int tensors = 0;  ///< compared: weights and gradients of every parameter
    TensorError worst;
    double loss = 0.0;  ///< of the last step
    double reference_loss = 0.0;
    double loss_error = 0.0;             ///< largest relative error over all steps
    std::vector<std::string> uncovered;  ///< parameters of which some element is on no rank
    double tolerance = 0.0;
    bool passed() const { return uncovered.empty() && worst.relative <= tolerance && loss_error <= tolerance; }
};

/// 1e-10 in fp64, 1e-5 in fp32, 5e-3 in tf32, 5e-2 in bf16.
double check_tolerance(ElementType type, MathMode math);

/// Compares all ranks; every rank calls it, and gets the same answer.
Comparison compare(RankModel& model, const Device& device, Transport& transport, const RankRecord& record,
                   const Reference& reference);

}  // namespace foreshard::runtime
