#include "sim/search/axes.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "sim/error.hpp"
#include "sim/spec/data_parallel.hpp"
#include "sim/spec/resolve_options.hpp"
#include "sim/spec/schedule_kinds.hpp"
#include "sim/spec/suggest.hpp"

namespace foreshard {

namespace {

/// Larger micro-batches only cost memory and bubbles; a constraint may ask for them.
constexpr std::int64_t largest_usual_micro_batch = 64;

constexpr std::array<std::string_view, 9> number_axes = {"tp", "cp", "ep", "etp", "pp", "dp", "vpp", "mbs", "zero"};

std::string axis_flag(const std::string& axis) {
    std::string flag = "--" + axis;
    std::replace(flag.begin(), flag.end(), '_', '-');
    return flag;
}

bool is_number_axis(const std::string& axis) {
    return std::find(number_axes.begin(), number_axes.end(), axis) != number_axes.end();
}

/// Schedules that the search has no bound for: they change the numerics, or spread the vocabulary.
bool searchable(const ScheduleTraits& traits) {
    return !traits.asynchronous && traits.kind != ScheduleKind::none && !vocabulary_split(traits.kind);
}

}  // namespace

SearchAxes::SearchAxes(const SearchRequest& request)
    : full_(request.space == SpaceKind::full), constraints_(request.constraints) {
    for (const auto& [axis, text] : request.constraints) {
        const auto& all = search_axes();
        if (std::none_of(all.begin(), all.end(), [&, &name = axis](const SearchAxis& a) { return a.name == name; })) {
            throw InputError(axis_flag(axis), "", "is no axis of the search");
        }
        if (is_number_axis(axis)) {
            numbers_[axis] = parse_number_set(axis_flag(axis), text);
        } else {
            words_[axis] = parse_word_list(axis_flag(axis), text);
        }
    }
}

bool SearchAxes::allows(const std::string& axis, std::int64_t value) const {
    const auto set = numbers_.find(axis);
    return set == numbers_.end() || set->second.contains(value);
}

bool SearchAxes::named(const std::string& axis, std::int64_t value) const {
    const auto set = numbers_.find(axis);
    if (set == numbers_.end()) return false;
    const std::vector<std::int64_t> singles = set->second.singles();
    return std::find(singles.begin(), singles.end(), value) != singles.end();
}

/// Own values within the constraint, and all that it names one by one.
std::vector<int> SearchAxes::numbers(const std::string& axis, std::vector<int> own) const {
    const auto set = numbers_.find(axis);
    if (set == numbers_.end()) return own;
    std::erase_if(own, [&](int value) { return !set->second.contains(value); });
    for (const std::int64_t value : set->second.singles()) {
        if (value < 0 || value > 1'000'000) {
            throw InputError(axis_flag(axis), "", fmt::format("{} is out of range", value));
        }
        own.push_back(static_cast<int>(value));
    }
    std::sort(own.begin(), own.end());
    own.erase(std::unique(own.begin(), own.end()), own.end());
    if (own.empty() || own.front() < (axis == "zero" || axis == "etp" ? 0 : 1)) {
        throw InputError(axis_flag(axis), "",
                         fmt::format("'{}' allows no value; the search would try {}", constraints_.at(axis),
                                     axis == "zero" ? "0 to 3" : "divisors of the GPUs"));
    }
    return own;
}

std::vector<int> SearchAxes::degrees(const std::string& axis, int gpus) const {
    return numbers(axis, divisors(gpus));
}

std::vector<int> SearchAxes::expert_degrees(const ModelSpec& model, int gpus) const {
    if (!model.moe) return numbers("ep", {1});
    std::vector<int> own;
    for (const int d : divisors(gpus)) {
        if (model.moe->num_experts % d == 0) own.push_back(d);
    }
    return numbers("ep", own);
}

/// Experts are cut as attention is, or not at all.
std::vector<int> SearchAxes::expert_tp(const ModelSpec& model, int tp) const {
    if (!model.moe) return free("etp") ? std::vector<int>{0} : numbers("etp", {});
    return numbers("etp", tp > 1 ? std::vector<int>{1, tp} : std::vector<int>{1});
}

std::vector<int> SearchAxes::pipelines(int gpus, int layers) const {
    std::vector<int> own = divisors(gpus);
    std::erase_if(own, [&](int pp) { return pp > layers; });
    return numbers("pp", own);
}

std::vector<std::int64_t> SearchAxes::micro_batches(std::int64_t per_replica) const {
    std::vector<std::int64_t> sizes;
    const auto set = numbers_.find("mbs");
    if (per_replica < 1) return sizes;
    for (const int d : divisors(per_replica)) {
        const bool usual = full_ || d <= largest_usual_micro_batch;
        if (set == numbers_.end() ? usual : set->second.contains(d)) sizes.push_back(d);
    }
    if (set == numbers_.end()) return sizes;
    for (const std::int64_t size : set->second.singles()) {
        if (size < 1) throw InputError("--mbs", "", fmt::format("{} is out of range", size));
        if (per_replica % size != 0) sizes.push_back(size);
    }
    return sizes;
}

std::vector<bool> SearchAxes::sequence_parallel(int tp) const {
    const auto words = words_.find("sp");
    if (words == words_.end()) return tp > 1 ? std::vector<bool>{false, true} : std::vector<bool>{false};
    std::vector<bool> values;
    for (const std::string& word : words->second) {
        if (word != "on" && word != "off") throw InputError("--sp", "", fmt::format("'{}': on or off", word));
        const bool on = word == "on" && tp > 1;  // with one rank there is nothing to divide
        if (std::find(values.begin(), values.end(), on) == values.end()) values.push_back(on);
    }
    return values;
}

std::vector<ScheduleKind> SearchAxes::schedules() const {
    std::vector<ScheduleKind> kinds;
    const auto words = words_.find("schedule");
    if (words != words_.end()) {
        for (const std::string& word : words->second) {
            const ScheduleKind kind = parse_schedule(word);
            if (kind != ScheduleKind::none && !searchable(traits_of(kind))) {
                throw InputError(
                    "--schedule", "",
                    fmt::format(
                        "{} is not searched over: it {}; simulate single plans of it", traits_of(kind).id,
                        traits_of(kind).asynchronous ? "changes the numerics" : "spreads the vocabulary over ranks"));
            }
            kinds.push_back(kind);
        }
        return kinds;
    }
    for (const ScheduleTraits& traits : schedule_kinds()) {
        if (full_ && searchable(traits)) kinds.push_back(traits.kind);
    }
    if (!full_) kinds = {ScheduleKind::one_f_one_b, ScheduleKind::interleaved, ScheduleKind::zb_v};
    kinds.push_back(ScheduleKind::none);
    return kinds;
}

/// With fused attention selective recomputation has nothing to rebuild.
std::vector<Recompute> SearchAxes::recompute(const Job& job) const {
    const auto words = words_.find("recompute");
    std::vector<Recompute> modes;
    if (words != words_.end()) {
        for (const std::string& word : words->second) modes.push_back(parse_recompute(word));
        std::sort(modes.begin(), modes.end());
        modes.erase(std::unique(modes.begin(), modes.end()), modes.end());
        return modes;
    }
    const bool fused = job.software.structure.attention == AttentionKernel::flash;
    return fused ? std::vector<Recompute>{Recompute::none, Recompute::full}
                 : std::vector<Recompute>{Recompute::none, Recompute::selective, Recompute::full};
}

std::vector<Sharding> SearchAxes::shardings() const {
    std::vector<DataParallelKind> kinds = {DataParallelKind::ddp};
    if (full_) kinds.push_back(DataParallelKind::fsdp2);
    const auto words = words_.find("data_parallel");
    if (words != words_.end()) {
        kinds.clear();
        for (const std::string& word : words->second) kinds.push_back(parse_data_parallel(word));
    }
    std::vector<Sharding> all;
    const bool sharded = std::any_of(kinds.begin(), kinds.end(), is_fsdp);
    std::vector<int> own = full_ ? std::vector<int>{0, 1, 2, 3} : std::vector<int>{0, 1};
    if (sharded && !full_) own = {0, 1, 2, 3};
    for (const DataParallelKind kind : kinds) {
        if (kind != DataParallelKind::ddp && !is_fsdp(kind)) {
            throw InputError("--data-parallel", "",
                             fmt::format("{} is not searched over: ddp, fsdp1, fsdp2 or hsdp", to_string(kind)));
        }
        for (const int zero : numbers("zero", own)) {
            if (zero > 3) throw InputError("--zero", "", fmt::format("{}: 0, 1, 2 or 3", zero));
            if (!is_fsdp(kind) || zero >= 2) all.push_back({kind, zero});
        }
    }
    if (all.empty()) throw InputError("--zero", "", "FSDP is 3, or 2 (SHARD_GRAD_OP)");
    return all;
}

std::string SearchAxes::text() const {
    std::string text = full_ ? "full" : "default";
    for (const auto& [axis, values] : constraints_) text += fmt::format(", {} {}", axis, values);
    return text;
}

}  // namespace foreshard
