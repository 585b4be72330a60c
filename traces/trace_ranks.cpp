#include "traces/trace_ranks.hpp"

#include <algorithm>
#include <charconv>
#include <set>
#include <string_view>

#include <fmt/format.h>

namespace foreshard {

namespace {

bool on_gpu(TraceSort sort) {
    return sort == TraceSort::kernel || sort == TraceSort::communication || sort == TraceSort::copy ||
           sort == TraceSort::gpu_range;
}

/// Passes, optimizer, and messages that are named after passes.
bool is_named_work(const StoredEvent& event) {
    return event.kind != SpanKind::other && event.sort != TraceSort::communication;
}

int number_in(std::string_view text, int otherwise) {
    int value = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && stop == text.data() + text.size() && value >= 0 ? value : otherwise;
}

/// The number behind a word: 3 of "pp rank 3, dp rank 1 (stage 3)" for "pp rank ".
int number_behind(std::string_view text, std::string_view word) {
    const std::size_t at = text.find(word);
    if (at == std::string_view::npos) return -1;
    const std::string_view rest = text.substr(at + word.size());
    return number_in(rest.substr(0, rest.find_first_not_of("0123456789")), -1);
}

class RankFinder {
public:
    explicit RankFinder(const CollectedTrace& trace) : trace_(trace), rank_of_(trace.processes.size(), -1) {
        result_.format = format_of(trace);
    }

    TraceRanks find() {
        if (result_.format == TraceFormat::profile) {
            number_gpus();
        } else {
            number_processes();
        }
        find_steps();
        find_passes();
        for (std::size_t i = 0; i < trace_.events.size(); ++i) add(i);
        number_stages();
        return std::move(result_);
    }

private:
    void number_gpus();
    void number_processes();
    void add_rank(std::size_t process, SpanRank rank);
    void find_steps();
    void find_passes();
    void add(std::size_t index);
    void add_span(std::size_t index, int rank, SpanLane lane, SpanKind kind);
    bool draws_range(const StoredEvent& event) const;
    bool in_a_pass(int rank, const StoredEvent& event) const;
    void number_stages();
    int rank_of(const StoredEvent& event) const {
        const std::int32_t process = trace_.threads[static_cast<std::size_t>(event.thread)].process;
        const int rank = rank_of_[static_cast<std::size_t>(process)];
        // Ranges of the CPU belong to the only GPU.
        return rank < 0 && result_.ranks.size() == 1 ? 0 : rank;
    }
    int step_of(Picoseconds time) const;
    void leave(const StoredEvent& event) {
        const std::string& category = trace_.categories.all()[static_cast<std::size_t>(event.category)];
        ++result_.left_by_category[category.empty() ? "without a category" : category];
    }

    const CollectedTrace& trace_;
    TraceRanks result_;
    std::vector<int> rank_of_;                     ///< per process; -1: none
    TraceSort range_sort_ = TraceSort::gpu_range;  ///< which ranges name passes
    std::vector<std::vector<StepRange>> passes_;   ///< per rank, sorted and joined
    bool draws_cpu_ = false;                       ///< nothing else is there
};

void RankFinder::add_rank(std::size_t process, SpanRank rank) {
    if (rank.name.empty()) {
        const std::string replica = rank.replica >= 0 ? fmt::format(" dp {}", rank.replica) : "";
        rank.name = rank.pp >= 0 ? fmt::format("PP{}{}", rank.pp, replica) : fmt::format("rank {}", rank.rank);
    }
    if (process < rank_of_.size()) rank_of_[process] = static_cast<int>(result_.ranks.size());
    result_.ranks.push_back(std::move(rank));
    result_.memory.push_back(process < trace_.processes.size() ? trace_.processes[process].memory
                                                               : std::vector<CounterPoint>{});
}

void RankFinder::number_gpus() {
    std::set<std::int32_t> gpus;
    for (const StoredEvent& event : trace_.events) {
        if (on_gpu(event.sort)) gpus.insert(trace_.threads[static_cast<std::size_t>(event.thread)].process);
    }
    const auto& facts = trace_.info.facts;
    const auto fact = facts.find("distributedInfo.rank");
    result_.knows_rank = fact != facts.end();
    const int rank = result_.knows_rank ? number_in(fact->second, 0) : 0;
    if (gpus.size() <= 1) {
        add_rank(gpus.empty() ? rank_of_.size() : static_cast<std::size_t>(*gpus.begin()), {rank, -1, -1, ""});
        return;
    }
    for (const std::int32_t gpu : gpus) {
        const std::string& id = trace_.processes[static_cast<std::size_t>(gpu)].id;
        add_rank(static_cast<std::size_t>(gpu), {rank, -1, -1, fmt::format("rank {} GPU {}", rank, id)});
    }
}

/// By their sort index, then by number, then as they come.
void RankFinder::number_processes() {
    std::vector<bool> used(trace_.processes.size(), false);
    for (const StoredEvent& event : trace_.events) {
        used[static_cast<std::size_t>(trace_.threads[static_cast<std::size_t>(event.thread)].process)] = true;
    }
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < used.size(); ++i) {
        if (used[i]) order.push_back(i);
    }
    const auto key = [&](std::size_t i) {
        const TraceProcess& process = trace_.processes[i];
        constexpr int last = 1'000'000'000;
        return std::pair(process.order < 0 ? std::int64_t{last} : process.order, number_in(process.id, last));
    };
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
    for (const std::size_t i : order) {
        const TraceProcess& process = trace_.processes[i];
        SpanRank rank{number_in(process.id, static_cast<int>(result_.ranks.size())), -1, -1, ""};
        rank.pp = number_behind(process.name, "pp rank ");
        rank.replica = number_behind(process.name, "dp rank ");
        if (rank.pp < 0) rank.name = process.name;
        add_rank(i, std::move(rank));
    }
}

void RankFinder::find_steps() {
    for (const TraceSort sort : {TraceSort::gpu_range, TraceSort::cpu_range, TraceSort::cpu, TraceSort::plain}) {
        for (const StoredEvent& event : trace_.events) {
            if (event.is_step && event.sort == sort) {
                result_.steps.push_back({event.start, event.start + event.duration});
            }
        }
        if (!result_.steps.empty()) break;
    }
    const auto earlier = [](const StepRange& a, const StepRange& b) { return a.begin < b.begin; };
    std::stable_sort(result_.steps.begin(), result_.steps.end(), earlier);
}

/// Of a profile: which ranges name passes, and where they lie.
void RankFinder::find_passes() {
    passes_.resize(result_.ranks.size());
    const auto names_passes = [&](TraceSort sort) {
        return std::any_of(trace_.events.begin(), trace_.events.end(),
                           [&](const StoredEvent& e) { return e.sort == sort && is_named_work(e); });
    };
    range_sort_ = names_passes(TraceSort::gpu_range) ? TraceSort::gpu_range : TraceSort::cpu_range;
    const auto gpu = [](const StoredEvent& e) { return on_gpu(e.sort); };
    const bool any_gpu = std::any_of(trace_.events.begin(), trace_.events.end(), gpu);
    draws_cpu_ = !any_gpu && !names_passes(range_sort_);
    for (const StoredEvent& event : trace_.events) {
        const int rank = rank_of(event);
        const bool is_pass = event.lane == SpanLane::compute && is_named_work(event);
        if (!is_pass || rank < 0) continue;
        result_.knows_passes = true;
        if (event.sort == range_sort_) {
            passes_[static_cast<std::size_t>(rank)].push_back({event.start, event.start + event.duration});
        }
    }
    for (std::vector<StepRange>& passes : passes_) {
        std::sort(passes.begin(), passes.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
        for (std::size_t i = 1; i < passes.size(); ++i) passes[i].end = std::max(passes[i].end, passes[i - 1].end);
    }
}

/// Ends grow with begins, since find_passes joined them.
bool RankFinder::in_a_pass(int rank, const StoredEvent& event) const {
    const std::vector<StepRange>& passes = passes_[static_cast<std::size_t>(rank)];
    const auto starts_later = [](Picoseconds time, const StepRange& pass) { return time < pass.begin; };
    const Picoseconds end = event.start + event.duration;
    const auto behind = std::upper_bound(passes.begin(), passes.end(), end - 1, starts_later);
    return behind != passes.begin() && std::prev(behind)->end > event.start;
}

bool RankFinder::draws_range(const StoredEvent& event) const {
    return event.sort == range_sort_ && is_named_work(event);
}

void RankFinder::add(std::size_t index) {
    const StoredEvent& event = trace_.events[index];
    const int rank = rank_of(event);
    if (event.is_step) return;
    if (rank < 0) return leave(event);
    switch (event.sort) {
        case TraceSort::ours:
        case TraceSort::communication:
            return add_span(index, rank, event.lane, event.kind);
        case TraceSort::kernel:
            if (in_a_pass(rank, event)) return add_span(index, rank, SpanLane::other, SpanKind::other);
            ++result_.host_kernels;
            return add_span(index, rank, SpanLane::compute, SpanKind::other);
        case TraceSort::copy:
            return add_span(index, rank, SpanLane::other, SpanKind::offload);
        case TraceSort::gpu_range:
        case TraceSort::cpu_range:
        case TraceSort::cpu:
            if (draws_range(event) || draws_cpu_) return add_span(index, rank, event.lane, event.kind);
            return leave(event);
        case TraceSort::plain:
            // Without passes, a rank's first thread stands for its compute.
            const bool first = !result_.knows_passes && event.thread == trace_.events.front().thread;
            return add_span(index, rank, first ? SpanLane::compute : event.lane, event.kind);
    }
}

int RankFinder::step_of(Picoseconds time) const {
    const auto starts_later = [](Picoseconds t, const StepRange& step) { return t < step.begin; };
    const auto behind = std::upper_bound(result_.steps.begin(), result_.steps.end(), time, starts_later);
    if (behind == result_.steps.begin() || std::prev(behind)->end <= time) return -1;
    return static_cast<int>(behind - result_.steps.begin()) - 1;
}

void RankFinder::add_span(std::size_t index, int rank, SpanLane lane, SpanKind kind) {
    const StoredEvent& event = trace_.events[index];
    LooseSpan span;
    span.start = event.start;
    span.end = event.start + event.duration;
    span.rank = rank;
    span.name = event.name;
    span.microbatch = event.microbatch;
    span.event = static_cast<std::int32_t>(index);
    span.comm = event.comm;
    span.stage = event.stage;
    span.chunk = event.chunk;
    const int step = event.step >= 0 ? event.step : result_.steps.empty() ? 0 : step_of(event.start);
    span.step = static_cast<std::int16_t>(std::min(step, 32767));
    span.lane = lane;
    span.kind = kind;
    if (event.recompute > 0 && event.recompute < event.duration) {
        LooseSpan first = span;
        first.kind = SpanKind::recompute;
        first.end = span.start = event.start + event.recompute;
        result_.spans.push_back(first);
    }
    result_.spans.push_back(span);
}

/// Where the trace does not say it: a rank's chunks are its stages in order, and the first is its pipeline rank (true
/// for every placement that puts stage r on rank r).
void RankFinder::number_stages() {
    std::vector<std::set<int>> stages(result_.ranks.size());
    for (const LooseSpan& span : result_.spans) {
        const bool pass = span.lane == SpanLane::compute && span.kind != SpanKind::vocabulary;
        if (pass && span.stage >= 0) stages[static_cast<std::size_t>(span.rank)].insert(span.stage);
    }
    for (std::size_t r = 0; r < stages.size(); ++r) {
        SpanRank& rank = result_.ranks[r];
        if (rank.pp < 0 && !stages[r].empty()) {
            rank.pp = *stages[r].begin();
            rank.name = fmt::format("PP{} ({})", rank.pp, rank.name);
        }
    }
    for (LooseSpan& span : result_.spans) {
        const std::set<int>& known = stages[static_cast<std::size_t>(span.rank)];
        const auto found = known.find(span.stage);
        if (span.chunk >= 0 || found == known.end() || span.kind == SpanKind::vocabulary) continue;
        span.chunk = static_cast<std::int16_t>(std::distance(known.begin(), found));
    }
}

}  // namespace

TraceFormat format_of(const CollectedTrace& trace) {
    const auto is_ours = [](const StoredEvent& e) { return e.sort == TraceSort::ours; };
    if (std::any_of(trace.events.begin(), trace.events.end(), is_ours)) return TraceFormat::ours;
    const auto profiled = [](const StoredEvent& e) { return e.sort != TraceSort::plain; };
    const bool kineto =
        trace.info.facts.contains("schemaVersion") || std::any_of(trace.events.begin(), trace.events.end(), profiled);
    return kineto ? TraceFormat::profile : TraceFormat::plain;
}

TraceRanks ranks_of(const CollectedTrace& trace) {
    return RankFinder(trace).find();
}

}  // namespace foreshard
