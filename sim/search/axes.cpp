#include "sim/search/axes.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/error.hpp"
#include "sim/spec/request_text.hpp"
#include "sim/spec/resolve_options.hpp"
#include "sim/spec/schedule_kinds.hpp"
#include "sim/spec/suggest.hpp"

namespace foreshard {

namespace {

/// Larger micro-batches only cost memory and bubbles; a constraint may ask for them.
constexpr std::int64_t largest_usual_micro_batch = 64;

constexpr std::array<std::string_view, 11> number_axes = {
    "tp", "cp", "ep", "etp", "pp", "dp", "vpp", "mbs", "zero", "recompute_num_layers", "offload_activation_layers"};

bool is_number_axis(const std::string& axis) {
    return std::find(number_axes.begin(), number_axes.end(), axis) != number_axes.end();
}

/// Values of the space on either side of what the constraint allows.
std::vector<int> nearest_values(const std::vector<int>& known, const NumberSet& set) {
    std::vector<int> nearest;
    for (const NumberSet::Range& range : set.ranges) {
        const auto above = std::find_if(known.begin(), known.end(), [&](int v) { return v > range.last; });
        const auto from = std::find_if(known.begin(), known.end(), [&](int v) { return v >= range.first; });
        if (from != known.begin()) nearest.push_back(*std::prev(from));
        if (above != known.end()) nearest.push_back(*above);
    }
    std::sort(nearest.begin(), nearest.end());
    nearest.erase(std::unique(nearest.begin(), nearest.end()), nearest.end());
    return nearest;
}

/// Schedules that the search has no bound for: they change the numerics, or spread the vocabulary.
bool searchable(const ScheduleTraits& traits) {
    return !traits.asynchronous && traits.kind != ScheduleKind::none && !vocabulary_split(traits.kind);
}

}  // namespace

SearchAxes::SearchAxes(const SearchRequest& request)
    : full_(request.space == SpaceKind::full), constraints_(request.constraints) {
    for (const SearchAxis& axis : search_axes()) {
        const std::string value = axis.kept ? request_value(request.base, axis.name) : "";
        if (!value.empty()) kept_[axis.name] = value;
    }
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
    const std::vector<int> known = own;
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
                         fmt::format("'{}' allows no value; nearest: {}", constraints_.at(axis),
                                     join(nearest_values(known, set->second))));
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

std::vector<std::string> SearchAxes::words(const std::string& axis, const std::vector<std::string>& own) const {
    const auto given = words_.find(axis);
    return given != words_.end() ? given->second : own;
}

std::optional<std::vector<bool>> SearchAxes::switches(const std::string& axis) const {
    if (!words_.contains(axis)) return std::nullopt;
    std::vector<bool> values;
    for (const std::string& word : words_.at(axis)) {
        const bool on = word == "on" || word == "true";
        if (!on && word != "off" && word != "false") {
            throw InputError(axis_flag(axis), "", fmt::format("'{}': on or off", word));
        }
        if (std::find(values.begin(), values.end(), on) == values.end()) values.push_back(on);
    }
    return values;
}

/// Without a constraint: both where the full space may vary it and the job says nothing, else what the job has.
std::vector<std::optional<bool>> SearchAxes::switches_or(const std::string& axis, bool vary) const {
    const std::optional<std::vector<bool>> asked = switches(axis);
    if (asked) return {asked->begin(), asked->end()};
    if (full_ && vary && !keeps(axis)) return {false, true};
    return {std::nullopt};
}

bool SearchAxes::splits(bool balanced) const {
    const std::vector<bool> values = switches("balance").value_or(std::vector<bool>{false, true});
    return std::find(values.begin(), values.end(), balanced) != values.end();
}

/// With one rank there is nothing to divide; only what sequence parallelism exchanges runs under GEMMs.
std::vector<SequenceParallel> SearchAxes::sequence_parallel(int tp) const {
    const std::optional<std::vector<bool>> divided = switches("sp");
    const std::optional<std::vector<bool>> tiled = switches("tp_comm_overlap");
    const bool kept = keeps("tp_comm_overlap") && kept_.at("tp_comm_overlap") == "true";
    std::vector<bool> overlaps = {kept};
    if (full_ && !keeps("tp_comm_overlap")) overlaps = {false, true};
    std::vector<SequenceParallel> all;
    for (const bool asked : divided.value_or(std::vector<bool>{false, true})) {
        const bool on = asked && tp > 1;
        for (const bool overlap : tiled.value_or(overlaps)) {
            const SequenceParallel choice{on, overlap && (on || tiled || kept)};
            const auto same = [&](const SequenceParallel& known) {
                return known.on == choice.on && known.overlap == choice.overlap;
            };
            if (std::none_of(all.begin(), all.end(), same)) all.push_back(choice);
        }
    }
    return all;
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

std::vector<Precision> SearchAxes::precisions(const Job& job) const {
    const auto known = [&](Precision precision) {
        return job.cluster.device.peak[static_cast<std::size_t>(precision)].has_value();
    };
    std::vector<Precision> all;
    if (free("precision")) {
        all = {job.plan.precision};
        if (!full_ || keeps("precision")) return all;
        // Both formats of 8 bits take the same time.
        const Precision eight = known(Precision::fp8) ? Precision::fp8 : Precision::mxfp8;
        for (const Precision precision : {eight, Precision::nvfp4}) {
            if (precision != job.plan.precision && known(precision)) all.push_back(precision);
        }
        return all;
    }
    for (const std::string& word : words_.at("precision")) {
        const Precision precision = parse_precision_option(word);
        if (!known(precision)) {
            std::vector<std::string_view> names;
            for (int i = 0; i < precision_count; ++i) {
                if (known(static_cast<Precision>(i))) names.push_back(to_string(static_cast<Precision>(i)));
            }
            throw InputError("--precision", "",
                             fmt::format("{} has no peak rate for {}; it has {}", job.cluster.device.id, word,
                                         fmt::join(names, ", ")));
        }
        if (std::find(all.begin(), all.end(), precision) == all.end()) all.push_back(precision);
    }
    return all;
}

std::vector<std::string> SearchAxes::orders(const Job& job) const {
    if (!free("order")) {
        std::vector<std::string> all = words_.at("order");
        std::sort(all.begin(), all.end());
        all.erase(std::unique(all.begin(), all.end()), all.end());
        return all;
    }
    std::vector<std::string> all = {job.plan.order};
    if (full_ && !keeps("order") && job.plan.order != pipeline_inside) all.emplace_back(pipeline_inside);
    return all;
}

void SearchAxes::check_texts() const {
    schedules();
    shardings();
    sequence_parallel(2);
    switches("balance");
    recomputations(true);
    recompute_methods();
    for (const std::string& word : words("precision", {})) parse_precision_option(word);
}

std::string SearchAxes::text() const {
    std::string text = full_ ? "full" : "default";
    for (const auto& [axis, values] : constraints_) text += fmt::format(", {} {}", axis, values);
    return text;
}

}  // namespace foreshard
