#include <algorithm>

#include <fmt/format.h>

#include "sim/error.hpp"
#include "sim/search/axes.hpp"
#include "sim/spec/data_parallel.hpp"
#include "sim/spec/resolve_options.hpp"

/// Axes of what ranks hold: saved tensors and model states.
namespace foreshard {

namespace {

/// Counts of layers that are worth a try of a stage of so many: powers of two, and quarters of all. @param dense all up
/// to 8 too
std::vector<int> layer_steps(int layers, bool dense) {
    std::vector<int> steps;
    for (int n = 1; n < layers; n *= 2) steps.push_back(n);
    for (int quarter = 1; quarter < 4; ++quarter) steps.push_back(layers * quarter / 4);
    for (int n = 1; dense && n <= 8; ++n) steps.push_back(n);
    std::erase_if(steps, [&](int n) { return n < 1 || n >= layers; });
    std::sort(steps.begin(), steps.end());
    steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
    return steps;
}

std::vector<int> all_counts(int most) {
    std::vector<int> counts;
    for (int n = 0; n <= most; ++n) counts.push_back(n);
    return counts;
}

void append_once(const Saving& saving, std::vector<Saving>& all) {
    if (std::find(all.begin(), all.end(), saving) == all.end()) all.push_back(saving);
}

}  // namespace

/// With fused attention selective recomputation has nothing to rebuild.
std::vector<std::string> SearchAxes::recomputations(bool fused) const {
    std::vector<std::string> own = {"none", "selective", "full", "partial"};
    if (fused) own.erase(own.begin() + 1);
    std::vector<std::string> all = words("recompute", own);
    for (const std::string& word : all) {
        if (word != "partial") parse_recompute(word);
    }
    return all;
}

std::vector<RecomputeMethod> SearchAxes::recompute_methods() const {
    std::vector<RecomputeMethod> methods;
    for (const std::string& word : words("recompute_method", {"block", "uniform"})) {
        methods.push_back(parse_recompute_method(word));
    }
    return methods;
}

/// Own values, or all that the constraint allows. @param refused grows by those that were named and are above `most`
std::vector<int> SearchAxes::layer_counts(const std::string& axis, std::vector<int> own, int most, int& refused) const {
    const auto set = numbers_.find(axis);
    if (set == numbers_.end()) return own;
    std::vector<int> counts = all_counts(most);
    std::erase_if(counts, [&](int n) { return !set->second.contains(n); });
    for (const std::int64_t n : set->second.singles()) refused += n > most ? 1 : 0;
    return counts;
}

/// Full recomputation of some layers, or of several at a time, as the constraints or the space have it.
void SearchAxes::append_parts(RecomputeMethod method, const StageLayers& layers, Savings& result) const {
    const bool block = method == RecomputeMethod::block;
    const int most = std::min(layers.largest, layers.average);
    std::vector<int> own = layer_steps(layers.largest, full_);
    if (!block && !full_ && free("recompute_method")) own.clear();  // saves little memory, and costs a working set
    if (!block && layers.largest > 1 && !own.empty()) own.push_back(layers.largest);
    for (const int n : layer_counts("recompute_num_layers", own, most, result.refused)) {
        if (n > most) continue;
        const bool whole = block ? n == 0 || n >= layers.largest : n <= 1;
        if (whole && !detailed()) continue;
        const Saving part{Recompute::full, method, n, 0};
        const Saving all{Recompute::full, RecomputeMethod::uniform, 1, 0};
        append_once(whole ? all : part, result.all);
    }
}

void SearchAxes::append_recomputation(const std::string& word, const StageLayers& layers, Savings& result) const {
    const Saving whole{Recompute::full, RecomputeMethod::uniform, 1, 0};
    if (word == "none") append_once({}, result.all);
    if (word == "selective") append_once({Recompute::selective, RecomputeMethod::uniform, 0, 0}, result.all);
    if (word == "full" && !detailed()) append_once(whole, result.all);
    if (word != "partial" && (word != "full" || !detailed())) return;
    for (const RecomputeMethod method : recompute_methods()) append_parts(method, layers, result);
}

SearchAxes::Savings SearchAxes::savings(const Job& job, const StageLayers& layers) const {
    Savings rebuilt;
    const bool fused = job.software.structure.attention == AttentionKernel::flash;
    for (const std::string& word : recomputations(fused)) append_recomputation(word, layers, rebuilt);
    std::vector<int> own = {0};
    if (full_) own = {0, (layers.largest + 1) / 2, layers.largest};
    if (keeps("offload_activation_layers")) own = {std::max(std::stoi(kept_.at("offload_activation_layers")), 0)};
    own.erase(std::unique(own.begin(), own.end()), own.end());
    Savings result;
    int too_many = 0;
    const std::vector<int> away = layer_counts("offload_activation_layers", own, layers.largest, too_many);
    for (const int offloaded : away) {
        if (offloaded > layers.largest) ++too_many;
        for (Saving saving : rebuilt.all) {
            saving.offloaded = offloaded;
            if (offloaded <= layers.largest) result.all.push_back(saving);
        }
    }
    result.refused = too_many * static_cast<int>(rebuilt.all.size()) + rebuilt.refused * static_cast<int>(away.size());
    return result;
}

/// Layers in groups are rebuilt in other portions in every form: only plans without any recomputation are sure to work
/// less.
Saving SearchAxes::least_work(const Job& job) const {
    const bool fused = job.software.structure.attention == AttentionKernel::flash;
    const std::vector<std::string> all = recomputations(fused);
    const auto has = [&](const char* word) { return std::find(all.begin(), all.end(), word) != all.end(); };
    if (has("none") || has("partial") || (has("full") && detailed())) return {};
    if (has("selective")) return {Recompute::selective, RecomputeMethod::uniform, 0, 0};
    return {Recompute::full, RecomputeMethod::uniform, 1, 0};
}

std::vector<DataParallelKind> SearchAxes::schemes() const {
    std::vector<DataParallelKind> kinds = {DataParallelKind::ddp};
    if (full_) kinds.push_back(DataParallelKind::fsdp2);
    const auto given = words_.find("data_parallel");
    if (given == words_.end()) return kinds;
    kinds.clear();
    for (const std::string& word : given->second) kinds.push_back(parse_data_parallel(word));
    for (const DataParallelKind kind : kinds) {
        if (kind == DataParallelKind::ddp || is_fsdp(kind)) continue;
        throw InputError("--data-parallel", "",
                         fmt::format("{} is not searched over: ddp, fsdp1, fsdp2 or hsdp", to_string(kind)));
    }
    return kinds;
}

/// What no constraint names is left out where it means nothing: gathers hide under forwards only where one gather a
/// step follows an overlapped reduction.
void SearchAxes::append_overlaps(Sharding sharding, std::vector<Sharding>& all) const {
    const bool fsdp = is_fsdp(sharding.kind);
    const bool one_gather = (sharding.zero == 1 || sharding.zero == 2) && !fsdp;
    const bool asked_gather = !free("overlap_param_gather");
    for (const std::optional<bool> reduce : switches_or("overlap_grad_reduce", !fsdp && sharding.zero != 3)) {
        for (const std::optional<bool> gather : switches_or("overlap_param_gather", one_gather && reduce != false)) {
            if (!asked_gather && gather == true && reduce == false) continue;
            sharding.overlap_grad_reduce = reduce;
            sharding.overlap_param_gather = gather;
            all.push_back(sharding);
        }
    }
}

/// The same of what leaves the device: parameters with the optimizer only.
void SearchAxes::append_shardings(DataParallelKind kind, int zero, std::vector<Sharding>& all) const {
    const bool shards = is_fsdp(kind) || zero == 3;
    const bool asked_parameters = !free("offload_parameters");
    for (const std::optional<bool> optimizer : switches_or("offload_optimizer", true)) {
        for (const std::optional<bool> parameters : switches_or("offload_parameters", shards)) {
            if (!asked_parameters && parameters == true && optimizer == false) continue;
            append_overlaps({kind, zero, optimizer, parameters}, all);
        }
    }
}

std::vector<Sharding> SearchAxes::shardings() const {
    const std::vector<DataParallelKind> kinds = schemes();
    const bool sharded = std::any_of(kinds.begin(), kinds.end(), is_fsdp);
    const std::vector<int> own = full_ || sharded ? std::vector<int>{0, 1, 2, 3} : std::vector<int>{0, 1};
    std::vector<Sharding> all;
    for (const DataParallelKind kind : kinds) {
        for (const int zero : numbers("zero", own)) {
            if (zero > 3) throw InputError("--zero", "", fmt::format("{}: 0, 1, 2 or 3", zero));
            if (!is_fsdp(kind) || zero >= 2) append_shardings(kind, zero, all);
        }
    }
    if (all.empty()) throw InputError("--zero", "", "FSDP is 3, or 2 (SHARD_GRAD_OP)");
    return all;
}

}  // namespace foreshard
