#include "tests/support/search_spaces.hpp"

#include <limits>
#include <map>
#include <random>

#include "sim/spec/request_text.hpp"

namespace foreshard::test {

namespace {

template <class T>
T drawn(std::mt19937_64& dice, const std::vector<T>& values) {
    return values[dice() % values.size()];
}

}  // namespace

SearchRequest random_search(std::uint64_t seed) {
    std::mt19937_64 dice(seed);
    SearchRequest request;
    const std::string model = drawn<std::string>(dice, {"gpt3-6.7b", "llama3-8b", "mixtral-8x7b", "bert-large"});
    request.base.model = model;
    request.base.num_layers = drawn<int>(dice, {4, 6, 8, 14});
    request.base.cluster = drawn<std::string>(dice, {"dgx-a100-80g", "dgx-h100"});
    request.base.software = drawn<std::string>(dice, {"megatron-core-te", "megatron-2022", "megatron-2021", "nemo-te"});
    request.base.gpus = drawn<int>(dice, {8, 16});
    request.base.gbs = drawn<int>(dice, {16, 24});
    request.base.precision = "bf16";
    if (dice() % 3 == 0) request.base.overlap_p2p = false;
    request.constraints["tp"] = drawn<std::string>(dice, {"1..4", "1..2", "2..8"});
    request.constraints["cp"] = "1..2";
    request.constraints["ep"] = drawn<std::string>(dice, {"1", "1..4"});
    request.constraints["mbs"] = "1..4";
    request.constraints["recompute"] =
        drawn<std::string>(dice, {"none,full", "selective,full", "none,selective", "none,partial"});
    request.top = 3;
    request.threads = 2;
    if (model != "mixtral-8x7b") request.constraints["ep"] = "1";
    return request;
}

SearchRequest with_kept_axes(SearchRequest request, int group) {
    const std::vector<std::vector<std::string>> groups = {{"precision"},
                                                          {"order"},
                                                          {"overlap_grad_reduce", "overlap_param_gather"},
                                                          {"tp_comm_overlap"},
                                                          {"recompute"},
                                                          {"offload_optimizer", "offload_parameters"},
                                                          {"offload_activation_layers"}};
    request.space = SpaceKind::full;
    const std::vector<std::string>& free = groups.at(static_cast<std::size_t>(group));
    const std::map<std::string, std::string> single = {
        {"precision", "bf16"},           {"order", "tp-cp-ep-dp-pp"},       {"overlap_grad_reduce", "off"},
        {"overlap_param_gather", "off"}, {"tp_comm_overlap", "off"},        {"offload_optimizer", "off"},
        {"offload_parameters", "off"},   {"offload_activation_layers", "0"}};
    for (const auto& [axis, value] : single) request.constraints[axis] = value;
    for (const std::string& axis : free) request.constraints.erase(axis);
    if (free.front() == "precision") request.constraints["precision"] = "bf16,fp16,fp32";
    if (free.front() == "recompute") request.constraints["recompute"] = "full,partial";
    return request;
}

BoundedSpace bounded_space(const SearchRequest& request) {
    BoundedSpace result{make_space(request), {}};
    const Space& space = result.space;
    const SpaceCosts costs(space);
    const AllGridCosts grids = all_grid_costs(space, costs, 1);
    const BoundInputs inputs{space, grids, costs, std::numeric_limits<ByteCount>::max(), true};
    BranchBounds bounds(inputs);
    for (std::size_t b = 0; b < space.branches.size(); ++b) {
        const BranchYield yield = bounds.expand(static_cast<int>(b), nullptr);
        result.plans.insert(result.plans.end(), yield.candidates.begin(), yield.candidates.end());
    }
    return result;
}

std::vector<std::string> plans_told(const SearchOutcome& outcome) {
    std::vector<std::string> lines;
    for (const FoundPlan& found : outcome.plans) {
        lines.push_back(request_flags(found.plan) + " " + std::to_string(found.summary.step_time_ms));
    }
    return lines;
}

Job job_of(const Space& space, const PlanKey& key) {
    return resolve(merge(space.base, plan_request(space, key)));
}

}  // namespace foreshard::test
