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
    std::vector<bool> sequence_parallel(int tp) const;
    std::vector<ScheduleKind> schedules() const;
    std::vector<Recompute> recompute(const Job& job) const;
    std::vector<Sharding> shardings() const;
    /// The space in words.
    std::string text() const;

private:
    std::vector<int> numbers(const std::string& axis, std::vector<int> own) const;

    bool full_;
    std::map<std::string, std::string> constraints_;
    std::map<std::string, NumberSet> numbers_;
    std::map<std::string, std::vector<std::string>> words_;
};

}  // namespace foreshard
