#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/search/number_set.hpp"
#include "sim/search/space.hpp"

/// Values of every axis: the space's own, cut to what the constraints allow.
namespace foreshard {

class SearchAxes {
public:
    /// @throws InputError for malformed constraints
    explicit SearchAxes(const SearchRequest& request);

    bool full() const { return full_; }
    bool free(const std::string& axis) const { return !numbers_.contains(axis) && !words_.contains(axis); }
    bool allows(const std::string& axis, std::int64_t value) const;
    /// Asked for by itself, so that a rule that it breaks must be told.
    bool named(const std::string& axis, std::int64_t value) const;

    std::vector<int> degrees(const std::string& axis, int gpus) const;
    std::vector<int> expert_degrees(const ModelSpec& model, int gpus) const;
    std::vector<int> expert_tp(const ModelSpec& model, int tp) const;
    std::vector<int> pipelines(int gpus, int layers) const;
    std::vector<std::int64_t> micro_batches(std::int64_t per_replica) const;
    std::vector<SequenceParallel> sequence_parallel(int tp) const;
    std::vector<ScheduleKind> schedules() const;
    /// Whether stages may have their layers by the load of their ranks (balanced), or as evenly as can be.
    bool splits(bool balanced) const;
    std::vector<Sharding> shardings() const;
    /// The job's own precision, and in the full space all below 16 bits that the device has.
    std::vector<Precision> precisions(const Job& job) const;
    /// The job's own order, and in the full space the one with pipeline ranks next to each other.
    std::vector<std::string> orders(const Job& job) const;

    /// Layers of the largest stage of a form, and how many check(job) lets full recomputation name.
    struct StageLayers {
        int largest = 0;
        int average = 0;
    };
    struct Savings {
        std::vector<Saving> all;
        int refused = 0;  ///< asked for by themselves, and the stages have too few layers
    };
    Savings savings(const Job& job, const StageLayers& layers) const;
    /// None of savings() takes less time, whatever the stages.
    Saving least_work(const Job& job) const;

    /// Looks at every text that can be judged without a job. @throws InputError
    void check_texts() const;
    /// The space in words.
    std::string text() const;

private:
    std::vector<int> numbers(const std::string& axis, std::vector<int> own) const;
    std::vector<std::string> words(const std::string& axis, const std::vector<std::string>& own) const;
    /// on, off
    std::optional<std::vector<bool>> switches(const std::string& axis) const;
    std::vector<std::optional<bool>> switches_or(const std::string& axis, bool vary) const;
    bool keeps(const std::string& name) const { return kept_.contains(name); }

    /// The constraints say how full recomputation is to be.
    bool detailed() const { return !free("recompute_method") || !free("recompute_num_layers"); }
    std::vector<std::string> recomputations(bool fused) const;
    std::vector<RecomputeMethod> recompute_methods() const;
    std::vector<int> layer_counts(const std::string& axis, std::vector<int> own, int most, int& refused) const;
    void append_parts(RecomputeMethod method, const StageLayers& layers, Savings& result) const;
    void append_recomputation(const std::string& word, const StageLayers& layers, Savings& result) const;
    std::vector<DataParallelKind> schemes() const;
    void append_overlaps(Sharding sharding, std::vector<Sharding>& all) const;
    void append_shardings(DataParallelKind kind, int zero, std::vector<Sharding>& all) const;

    bool full_;
    std::map<std::string, std::string> constraints_;
    std::map<std::string, std::string> kept_;  ///< what the job says of axes that the default space leaves alone
    std::map<std::string, NumberSet> numbers_;
    std::map<std::string, std::vector<std::string>> words_;
};

}  // namespace foreshard
