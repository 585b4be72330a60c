#include "sim/result/compare.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace foreshard {

namespace {

/// What two spans must share to be the same work. Fields that a level does not ask for are -1.
struct Key {
    std::array<std::int32_t, 8> fields{};
    Picoseconds start = 0;
    std::size_t span = 0;
    bool known = true;  ///< stage or micro-batch is known

    bool same(const Key& other) const { return fields == other.fields; }
    bool operator<(const Key& other) const {
        if (fields != other.fields) return fields < other.fields;
        return start != other.start ? start < other.start : span < other.span;
    }
};

using NameNumbers = std::map<std::string, std::int32_t>;

/// One side of a comparison.
class Side {
public:
    Side(const Run& run, NameNumbers& numbers)
        : spans_(run.spans), step_(window_step(run.spans)), free_(run.spans.size(), false) {
        for (const std::string& name : spans_.names) {
            names_.push_back(numbers.try_emplace(name, static_cast<std::int32_t>(numbers.size())).first->second);
        }
        for (std::size_t i = 0; i < free_.size(); ++i) free_[i] = spans_.step[i] == step_ && says_something(i);
        outside_ = static_cast<std::size_t>(std::count(free_.begin(), free_.end(), false));
        find_places();
    }

    std::vector<Key> sorted_keys(MatchLevel level) const;
    void take(std::size_t span) { free_[span] = false; }
    std::vector<std::size_t> left() const {
        std::vector<std::size_t> spans;
        for (std::size_t i = 0; i < free_.size(); ++i) {
            if (free_[i]) spans.push_back(i);
        }
        return spans;
    }
    std::size_t outside() const { return outside_; }
    Picoseconds start(std::size_t span) const { return spans_.start[span] - spans_.window_begin; }
    Picoseconds length(std::size_t span) const { return spans_.end[span] - spans_.start[span]; }
    bool one_for_all_replicas() const { return one_for_all_; }
    /// The lowest replica of every pipeline rank stands for all.
    void merge_replicas();

private:
    /// The end of a step without work is not.
    bool says_something(std::size_t span) const {
        return spans_.kind[span] != SpanKind::host || spans_.start[span] < spans_.end[span];
    }
    void find_places();
    std::array<std::int32_t, 8> fields_of(std::size_t span, const SpanRow& row, MatchLevel level) const;

    const SpanTable& spans_;
    int step_ = 0;
    std::vector<bool> free_;  ///< of the window's step, not matched yet
    std::vector<std::int32_t> names_;
    std::vector<std::int32_t> place_;    ///< per SpanTable::ranks: the pipeline rank, or else the rank
    std::vector<std::int32_t> replica_;  ///< per SpanTable::ranks
    bool one_for_all_ = true;
    std::size_t outside_ = 0;
};

void Side::find_places() {
    for (const SpanRank& rank : spans_.ranks) {
        place_.push_back(rank.pp >= 0 ? rank.pp : rank.rank);
        replica_.push_back(rank.replica);
        one_for_all_ = one_for_all_ && rank.replica < 0;
    }
}

void Side::merge_replicas() {
    std::map<std::int32_t, std::size_t> lowest;
    for (std::size_t i = 0; i < place_.size(); ++i) {
        const auto found = lowest.try_emplace(place_[i], i).first;
        if (replica_[i] < replica_[found->second]) found->second = i;
    }
    for (const auto& [place, rank] : lowest) replica_[rank] = -1;
}

SpanKind folded(SpanKind kind) {
    return kind == SpanKind::input_grad ? SpanKind::backward : kind;
}

std::array<std::int32_t, 8> Side::fields_of(std::size_t span, const SpanRow& row, MatchLevel level) const {
    const auto rank = static_cast<std::size_t>(row.rank);
    const SpanKind kind = level == MatchLevel::exact ? spans_.kind[span] : folded(spans_.kind[span]);
    std::array<std::int32_t, 8> fields = {
        place_[rank], replica_[rank], static_cast<std::int32_t>(kind), -1, -1, -1, -1, -1};
    if (level == MatchLevel::order) return fields;
    fields[3] = spans_.stage[span];
    fields[4] = spans_.microbatch[span];
    if (level == MatchLevel::similar) return fields;
    fields[5] = static_cast<std::int32_t>(row.lane);
    fields[6] = spans_.chunk[span];
    fields[7] = names_[static_cast<std::size_t>(spans_.name[span])];
    return fields;
}

std::vector<Key> Side::sorted_keys(MatchLevel level) const {
    std::vector<Key> keys;
    for (const SpanRow& row : spans_.rows) {
        for (std::size_t span = row.first; span < row.last; ++span) {
            if (!free_[span]) continue;
            const bool known = spans_.stage[span] >= 0 || spans_.microbatch[span] >= 0;
            keys.push_back({fields_of(span, row, level), spans_.start[span], span, known});
        }
    }
    std::sort(keys.begin(), keys.end());
    return keys;
}

std::size_t end_of_group(const std::vector<Key>& keys, std::size_t first) {
    std::size_t last = first;
    while (last < keys.size() && keys[last].same(keys[first])) ++last;
    return last;
}

bool none_known(const std::vector<Key>& keys, std::size_t first, std::size_t last) {
    const auto known = [](const Key& key) { return key.known; };
    const auto begin = keys.begin();
    return std::none_of(begin + static_cast<std::ptrdiff_t>(first), begin + static_cast<std::ptrdiff_t>(last), known);
}

class Matcher {
public:
    Matcher(const Run& a, const Run& b) : a_(a, numbers_), b_(b, numbers_) {
        imported_ = a.source == RunSource::imported || b.source == RunSource::imported;
        if (a_.one_for_all_replicas() && !b_.one_for_all_replicas()) b_.merge_replicas();
        if (b_.one_for_all_replicas() && !a_.one_for_all_replicas()) a_.merge_replicas();
    }

    void match(Comparison& result) {
        result.outside_a = a_.outside();
        result.outside_b = b_.outside();
        match_level(MatchLevel::exact, result);
        match_level(MatchLevel::similar, result);
        if (imported_) match_level(MatchLevel::order, result);
        const auto by_a = [](const SpanPair& x, const SpanPair& y) { return x.a < y.a; };
        std::sort(result.pairs.begin(), result.pairs.end(), by_a);
        result.only_a = a_.left();
        result.only_b = b_.left();
    }

private:
    void match_level(MatchLevel level, Comparison& result);
    void pair(std::size_t a, std::size_t b, MatchLevel level, Comparison& result) {
        a_.take(a);
        b_.take(b);
        ++result.matched[static_cast<std::size_t>(level)];
        result.pairs.push_back({a, b, level, b_.start(b) - a_.start(a), b_.length(b) - a_.length(a)});
    }

    NameNumbers numbers_;
    Side a_;
    Side b_;
    bool imported_ = false;  ///< other spans know their stage and micro-batch, or have none
};

/// Both sides are sorted by key and start: groups of equal keys pair off in order of time.
void Matcher::match_level(MatchLevel level, Comparison& result) {
    const std::vector<Key> a = a_.sorted_keys(level);
    const std::vector<Key> b = b_.sorted_keys(level);
    for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
        if (a[i].fields < b[j].fields) {
            i = end_of_group(a, i);
        } else if (b[j].fields < a[i].fields) {
            j = end_of_group(b, j);
        } else {
            const std::size_t last_a = end_of_group(a, i);
            const std::size_t last_b = end_of_group(b, j);
            const bool pairs = level != MatchLevel::order || none_known(a, i, last_a) || none_known(b, j, last_b);
            for (; pairs && i < last_a && j < last_b; ++i, ++j) pair(a[i].span, b[j].span, level, result);
            i = last_a;
            j = last_b;
        }
    }
}

std::pair<std::string, std::string> name_and_value(const std::string& setting) {
    const std::size_t space = setting.find(' ');
    if (space == std::string::npos) return {setting, ""};
    return {setting.substr(0, space), setting.substr(space + 1)};
}

std::map<std::string, std::string> values_of(const Run& run) {
    std::map<std::string, std::string> values;
    for (const std::string& setting : run.settings) values.insert(name_and_value(setting));
    return values;
}

/// What makes work different, in the order in which it is told. Names of job_settings.
constexpr std::array<std::string_view, 15> work_settings = {
    "model.num_layers",
    "model.num_attention_heads",
    "global_batch_size",
    "micro_batch_size",
    "seq_length",
    "model",
    "model.hidden_size",
    "model.ffn_hidden_size",
    "model.num_query_groups",
    "model.kv_channels",
    "model.vocab_size",
    "model.num_experts",
    "model.moe_router_topk",
    "model.moe_ffn_hidden_size",
    "model.mtp_num_layers",
};

/// Why a comparison of times may mislead.
std::vector<std::string> notes_on(const std::vector<SettingDifference>& settings) {
    std::vector<SettingDifference> split;
    for (const SettingDifference& s : settings) {
        if (!s.a.empty() && !s.b.empty() && (s.name == "pp" || s.name == "vpp" || s.name == "layout"))
            split.push_back(s);
    }
    std::vector<std::string> notes;
    const std::vector<SettingDifference> work = different_work(settings);
    if (!work.empty()) notes.push_back("the runs do different work: " + pairs_text(work));
    if (!split.empty()) {
        notes.push_back(fmt::format("stages of equal number hold different layers ({})", pairs_text(split)));
    }
    return notes;
}

/// Figures in the order of interest, as views show them: what a plan is judged by, then what that consists of.
constexpr std::array<std::string_view, 29> figures_by_interest = {
    "step_time_ms",
    "tokens_per_s",
    "tokens_per_s_per_gpu",
    "model_tflops_per_gpu",
    "mfu_ratio",
    "hfu_ratio",
    "bubble_ratio",
    "gpu_busy_ratio",
    "exposed_comm_ms.tp",
    "exposed_comm_ms.cp",
    "exposed_comm_ms.ep",
    "exposed_comm_ms.pp",
    "exposed_comm_ms.dp",
    "hidden_comm_ms.dp",
    "peak_memory_bytes",
    "peak_reserved_bytes",
    "peak_device_bytes",
    "memory_capacity_bytes",
    "fits",
    "peak_memory_rank",
    "bubble_over_ideal_ratio",
    "bubble_span_ratio",
    "samples_per_s",
    "model_tflops_per_gpu_causal",
    "step_time_low_ms",
    "step_time_high_ms",
    "step_time_mean_ms",
    "step_time_p90_ms",
    "updates_per_s",
};

std::size_t interest_in(const FigureDifference& figure) {
    return static_cast<std::size_t>(std::find(figures_by_interest.begin(), figures_by_interest.end(), figure.key) -
                                    figures_by_interest.begin());
}

}  // namespace

std::string_view to_string(MatchLevel level) {
    static constexpr std::array<std::string_view, match_level_count> names = {"exact", "similar", "order"};
    return names[static_cast<std::size_t>(level)];
}

double Comparison::match_ratio() const {
    const std::size_t all = 2 * pairs.size() + only_a.size() + only_b.size();
    return all == 0 ? 1.0 : static_cast<double>(2 * pairs.size()) / static_cast<double>(all);
}

int window_step(const SpanTable& spans) {
    std::map<int, Picoseconds> time;
    for (std::size_t i = 0; i < spans.size(); ++i) {
        if (!is_compute(spans.kind[i])) continue;
        const Picoseconds inside =
            std::min(spans.end[i], spans.window_end) - std::max(spans.start[i], spans.window_begin);
        time[spans.step[i]] += std::max(inside, Picoseconds{0});
    }
    const auto by_time = [](const auto& x, const auto& y) { return x.second < y.second; };
    const auto most = std::max_element(time.begin(), time.end(), by_time);
    return most == time.end() ? 0 : most->first;
}

std::vector<SettingDifference> different_work(const std::vector<SettingDifference>& settings) {
    std::vector<SettingDifference> work;
    for (const std::string_view name : work_settings) {
        const auto found = std::find_if(settings.begin(), settings.end(),
                                        [&](const SettingDifference& setting) { return setting.name == name; });
        if (found != settings.end()) work.push_back(*found);
    }
    return work;
}

std::string pairs_text(const std::vector<SettingDifference>& settings) {
    std::vector<std::string> texts;
    texts.reserve(settings.size());
    for (const SettingDifference& s : settings) {
        const std::string name = s.name.starts_with("model.") ? s.name.substr(6) : s.name;
        texts.push_back(fmt::format("{} {} and {}", name, s.a.empty() ? "none" : s.a, s.b.empty() ? "none" : s.b));
    }
    return fmt::format("{}", fmt::join(texts, ", "));
}

std::vector<SettingDifference> differing_settings(const Run& a, const Run& b) {
    const std::map<std::string, std::string> of_a = values_of(a);
    const std::map<std::string, std::string> of_b = values_of(b);
    const bool imported = a.source == RunSource::imported || b.source == RunSource::imported;
    std::vector<SettingDifference> differences;
    for (const std::string& setting : a.settings) {
        const auto [name, value] = name_and_value(setting);
        const auto other = of_b.find(name);
        if (other == of_b.end() && imported) continue;
        const std::string other_value = other == of_b.end() ? "" : other->second;
        if (other_value != value) differences.push_back({name, value, other_value});
    }
    for (const std::string& setting : b.settings) {
        const auto [name, value] = name_and_value(setting);
        if (!of_a.contains(name) && !imported) differences.push_back({name, "", value});
    }
    return differences;
}

Comparison compare(const Run& a, const Run& b) {
    Comparison result;
    result.settings = differing_settings(a, b);
    result.notes = notes_on(result.settings);
    Matcher(a, b).match(result);
    return result;
}

std::vector<FigureDifference> compare_figures(const Run& a, const Run& b) {
    std::vector<FigureDifference> figures;
    for (const auto& [key, value] : a.figures) {
        const auto other = b.figures.find(key);
        if (other != b.figures.end()) figures.push_back({key, value, other->second});
    }
    std::stable_sort(figures.begin(), figures.end(), [](const FigureDifference& x, const FigureDifference& y) {
        return interest_in(x) < interest_in(y);
    });
    return figures;
}

}  // namespace foreshard
