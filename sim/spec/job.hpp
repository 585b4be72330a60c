#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/spec/cluster_spec.hpp"
#include "sim/spec/model_spec.hpp"
#include "sim/spec/parallel_plan.hpp"
#include "sim/spec/software_profile.hpp"

/// A Job: everything that a prediction needs, and the rules that it must keep.
namespace foreshard {

/// Pass times given by the user in place of all computed ones.
struct StageTimes {
    struct Stage {
        Picoseconds forward = 0;
        Picoseconds input_grad = 0;
        Picoseconds weight_grad = 0;
    };
    std::vector<Stage> stages;
    Picoseconds hop = 0;             ///< latency of a message between two ranks; pure delay, it occupies nothing
    Picoseconds vocab_forward = 0;   ///< of S on every rank, where the vocabulary is split over ranks
    Picoseconds vocab_backward = 0;  ///< of T
};

/// A file of actions in place of a named schedule; parsed in plan/.
struct ScheduleFile {
    std::string name;
    std::string text;
    bool vpp_given = false;  ///< check the file against plan.vpp
};

struct Calibration;
using SharedCalibration = std::shared_ptr<const Calibration>;

struct Job {
    ModelSpec model;
    ClusterSpec cluster;
    SoftwareProfile software;
    ParallelPlan plan;
    int gpus = 0;
    std::int64_t global_batch = 0;  ///< sequences
    std::int64_t micro_batch = 1;   ///< sequences per data-parallel rank
    std::int64_t seq_length = 0;    ///< tokens
    std::optional<StageTimes> stage_times;
    std::optional<ScheduleFile> schedule_file;
    SharedCalibration calibration;  ///< null: none
    /// Ranks of a host that compute at a time, mean over compute; 0: all of them. Found by evaluate().
    double computing_ranks = 0.0;
    std::vector<std::string> assumptions;  ///< every default taken, for the report
    std::vector<std::string> warnings;
};

/// Micro-batches per data-parallel replica. Precondition: check(job) is empty.
std::int64_t microbatch_count(const Job& job);

/// The schedule's placement when none is asked for.
Placement default_placement(ScheduleKind kind);
Placement placement_of(const ParallelPlan& plan);

/// Pipeline ranks that share the vocabulary layers: pp with a vocabulary-parallel schedule, else 1.
int vocabulary_shares(const ParallelPlan& plan);

/// Vocabulary of the whole model, padded so that it divides over all its shards: tensor parallel ranks, and with a
/// vocabulary-parallel schedule pipeline ranks.
std::int64_t padded_vocab(const Job& job);

/// Bytes of one activation element under the plan's precision.
int activation_bytes(Precision precision);
int gradient_bytes(const Job& job);

/// Tensor-parallel size of experts: plan.etp, or tp where it is not given.
int expert_tp(const ParallelPlan& plan);

/// Ranks that replicate an expert's parameters: gpus / (etp ep pp), at least 1.
int expert_data_parallel(const Job& job);

/// One rule that a job breaks.
struct BrokenRule {
    std::string fields;   ///< names of the fields, e.g. "num_layers, pp, vpp"
    std::string rule;     ///< what must hold, with the values that break it
    std::string nearest;  ///< nearest valid values; empty when there are none
};

/// All rules that the job breaks; empty for a plan that can run. Never throws on a plan.
std::vector<BrokenRule> check(const Job& job);

}  // namespace foreshard
