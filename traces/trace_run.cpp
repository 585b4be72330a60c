#include "traces/trace_run.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/result/span_accounts.hpp"
#include "sim/result/span_query.hpp"
#include "traces/trace_memory.hpp"
#include "traces/trace_ranks.hpp"

namespace foreshard {

namespace {

using Facts = std::map<std::string, std::string>;

std::optional<double> number_of(const Facts& facts, const std::string& key) {
    const auto fact = facts.find(key);
    if (fact == facts.end()) return std::nullopt;
    double value = 0.0;
    const char* end = fact->second.data() + fact->second.size();
    const auto [stop, error] = std::from_chars(fact->second.data(), end, value);
    return error == std::errc() && stop == end && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::string count_text(std::size_t count, const char* what) {
    return fmt::format("{} {}{}", count, count == 1 ? "event" : "events", what);
}

/// The same on both ranks of a message: its group, number, and the two ranks.
std::string comm_key(const CollectedTrace& trace, std::int32_t comm, int rank) {
    const std::string& key = trace.comms.all()[static_cast<std::size_t>(comm)];
    const std::int32_t peer = trace.peers[static_cast<std::size_t>(comm)];
    if (peer < 0) return key;
    return fmt::format("{} {}-{}", key.substr(0, key.rfind(" of ")), std::min(rank, peer), std::max(rank, peer));
}

class RunMaker {
public:
    RunMaker(const std::string& name, const std::vector<TraceFile>& files) : files_(files) {
        run_.name = name;
        run_.source = RunSource::imported;
    }

    Run make() {
        for (const TraceFile& file : files_) add(file);
        set_window();
        shift_to_zero();
        run_.spans.names = names_.all();
        run_.spans.names_lack_microbatch = true;
        const RowCounts counts = fill_rows(std::move(spans_), run_.spans);
        if (counts.moved > 0) note(count_text(counts.moved, " overlap others and stand in further rows"));
        if (counts.left_out > 0) note(count_text(counts.left_out, " overlap more than 512 others and are left out"));
        add_accounts();
        set_step_time();
        return std::move(run_);
    }

private:
    void add(const TraceFile& file);
    Picoseconds offset_of(const TraceFile& file);
    /// Remarks on reading name their file; what the trace itself says does not.
    void note(const std::string& text) { note(run_.name, text); }
    void note(const std::string& file, const std::string& text) {
        run_.notes.insert(run_.notes.begin() + remarks_++, file + ": " + text);
    }
    void note_counts(const TraceFile& file, const TraceRanks& ranks);
    void note_oddities(const TraceFile& file);
    void add_settings(const Facts& facts);
    void set_window();
    bool set_window_of_ours();
    void set_window_of_steps();
    void shift_to_zero();
    void add_accounts();
    void set_step_time();

    const std::vector<TraceFile>& files_;
    Run run_;
    Names names_;
    Names comms_;
    std::vector<LooseSpan> spans_;
    std::vector<StepRange> steps_;  ///< of all files
    std::ptrdiff_t remarks_ = 0;    ///< in front of Run::notes
    bool knows_passes_ = false;
    bool ours_ = false;
};

/// Between the clocks of the first file and this one.
Picoseconds RunMaker::offset_of(const TraceFile& file) {
    const CollectedTrace& first = files_.front().trace;
    if (&file == &files_.front()) return 0;
    const double ns = number_of(file.trace.info.facts, "baseTimeNanoseconds").value_or(0.0) -
                      number_of(first.info.facts, "baseTimeNanoseconds").value_or(0.0);
    const double microseconds =
        static_cast<double>(file.trace.base_microseconds) - static_cast<double>(first.base_microseconds) + ns / 1e3;
    constexpr double hour = 3.6e9;
    if (std::abs(microseconds) > hour) {
        note(file.name, fmt::format("its clock is {:.0f} s away from the first file's: both are put at the same start",
                                    microseconds / 1e6));
        return 0;
    }
    return std::llround(microseconds * 1e6);
}

void RunMaker::add(const TraceFile& file) {
    const TraceRanks ranks = ranks_of(file.trace);
    const Picoseconds offset = offset_of(file);
    const auto first_rank = static_cast<std::int32_t>(run_.spans.ranks.size());
    std::vector<std::int32_t> names;
    for (const std::string& name : file.trace.names.all()) names.push_back(names_.number_of(name));
    for (LooseSpan span : ranks.spans) {
        span.start += offset;
        span.end += offset;
        if (span.kind == SpanKind::recompute) {
            span.name = names_.number_of("recompute " + file.trace.names.all()[static_cast<std::size_t>(span.name)]);
        } else {
            span.name = names[static_cast<std::size_t>(span.name)];
        }
        if (span.comm >= 0) {
            const int rank = ranks.ranks[static_cast<std::size_t>(span.rank)].rank;
            span.comm = comms_.number_of(comm_key(file.trace, span.comm, rank));
        }
        span.rank += first_rank;
        spans_.push_back(span);
    }
    for (const StepRange& step : ranks.steps) steps_.push_back({step.begin + offset, step.end + offset});
    run_.spans.ranks.insert(run_.spans.ranks.end(), ranks.ranks.begin(), ranks.ranks.end());
    for (const std::vector<CounterPoint>& points : ranks.memory) run_.memory.push_back(memory_of(points));
    knows_passes_ = knows_passes_ || ranks.knows_passes;
    ours_ = ours_ || ranks.format == TraceFormat::ours;
    note_counts(file, ranks);
    note_oddities(file);
    if (&file == &files_.front()) add_settings(file.trace.info.facts);
    run_.notes.insert(run_.notes.end(), file.trace.info.notes.begin(), file.trace.info.notes.end());
}

void RunMaker::note_counts(const TraceFile& file, const TraceRanks& ranks) {
    note(file.name, fmt::format("{} of {} events are drawn", ranks.spans.size(),
                                file.trace.events.size() + file.trace.counts.not_drawn));
    std::vector<std::string> left;
    for (const auto& [category, count] : ranks.left_by_category) left.push_back(fmt::format("{} {}", count, category));
    if (!left.empty())
        note(file.name, fmt::format("not drawn, of CPU threads or other ranges: {}", fmt::join(left, ", ")));
    if (ranks.host_kernels > 0 && ranks.knows_passes) {
        note(file.name, count_text(ranks.host_kernels, " are kernels outside of all passes and count as host"));
    }
    if (!ranks.knows_rank) note(file.name, "the file does not say its rank: it is shown as rank 0");
}

void RunMaker::note_oddities(const TraceFile& file) {
    const TraceCounts& counts = file.trace.counts;
    const auto say = [&](std::size_t count, const char* what) {
        if (count > 0) note(file.name, count_text(count, what));
    };
    say(counts.not_drawn, " are instants, counters or arrows and not drawn");
    say(counts.no_time, " without a usable time are left out");
    say(counts.no_duration, " without a duration are drawn without length");
    say(counts.negative, " end before they start and are drawn without length");
    say(counts.unopened, " end without a begin and are left out");
    say(counts.unclosed, " begin without an end and last to the end of the trace");
    say(file.trace.info.broken, " are no JSON and left out");
    if (file.trace.info.cut_short) note(file.name, "the file is cut short");
}

void RunMaker::add_settings(const Facts& facts) {
    for (const char* key : {"model", "cluster", "gpus", "software"}) {
        const auto fact = facts.find(std::string("otherData.") + key);
        if (fact != facts.end()) run_.settings.push_back(fmt::format("{} {}", key, fact->second));
    }
    const auto world = facts.find("distributedInfo.world_size");
    if (world != facts.end()) run_.settings.push_back("gpus " + world->second);
    const auto plan = facts.find("otherData.plan");
    run_.provenance = fmt::format("trace {}{}", run_.name, plan == facts.end() ? "" : ": " + plan->second);
}

/// The step that our traces name. False when it is not in the trace.
bool RunMaker::set_window_of_ours() {
    const CollectedTrace& trace = files_.front().trace;
    const auto begin = number_of(trace.info.facts, "otherData.step_start_ms");
    const auto end = number_of(trace.info.facts, "otherData.step_end_ms");
    constexpr double longest = 1e8;
    if (!begin || !end || *begin < 0.0 || *end <= *begin || *end > longest) return false;
    const Picoseconds base = trace.base_microseconds * 1'000'000;
    run_.spans.window_begin = std::llround(*begin * 1e9) - base;
    run_.spans.window_end = std::llround(*end * 1e9) - base;
    return true;
}

/// The median step of those between the first and the last, which often hold warm-up and the profiler's own work.
void RunMaker::set_window_of_steps() {
    std::vector<StepRange> steps = steps_;
    const auto length = [](const StepRange& step) { return step.end - step.begin; };
    std::sort(steps.begin(), steps.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
    if (steps.size() >= 3) {
        steps.erase(steps.begin());
        steps.pop_back();
    }
    std::stable_sort(steps.begin(), steps.end(), [&](const auto& a, const auto& b) { return length(a) < length(b); });
    const StepRange& median = steps[(steps.size() - 1) / 2];
    run_.spans.window_begin = median.begin;
    run_.spans.window_end = median.end;
    note(fmt::format("{} profiler steps; figures are of the median of {}: {:.3f} ms (shortest {:.3f}, longest {:.3f})",
                     steps_.size(), steps.size(), to_milliseconds(length(median)),
                     to_milliseconds(length(steps.front())), to_milliseconds(length(steps.back()))));
}

void RunMaker::set_window() {
    if (ours_ && set_window_of_ours()) return;
    if (!steps_.empty()) return set_window_of_steps();
    if (spans_.empty()) return;
    run_.spans.window_begin = spans_.front().start;
    run_.spans.window_end = spans_.front().end;
    for (const LooseSpan& span : spans_) {
        run_.spans.window_begin = std::min(run_.spans.window_begin, span.start);
        run_.spans.window_end = std::max(run_.spans.window_end, span.end);
    }
}

/// Our traces start at zero already.
void RunMaker::shift_to_zero() {
    if (spans_.empty()) return;
    const auto earlier = [](const LooseSpan& a, const LooseSpan& b) { return a.start < b.start; };
    const Picoseconds first = std::min_element(spans_.begin(), spans_.end(), earlier)->start;
    if (ours_ && first >= 0) return;
    for (LooseSpan& span : spans_) {
        span.start -= first;
        span.end -= first;
    }
    run_.spans.window_begin -= first;
    run_.spans.window_end -= first;
}

void RunMaker::add_accounts() {
    const bool any_memory =
        std::any_of(run_.memory.begin(), run_.memory.end(), [](const RankMemory& m) { return m.peak > 0; });
    if (!any_memory) run_.memory.clear();
    if (any_memory) note("memory is that of the trace's counters: its states are shown as weights");
    if (!knows_passes_) {
        note("no passes are known: name them by ranges PP:{stage}{F|B|I|W}{micro-batch} to see where the time goes");
        return;
    }
    run_.accounts = accounts_of(run_.spans);
    if (ours_) return;
    const std::vector<CommSplit> splits = comm_splits(run_.spans);
    std::size_t alone = 0;
    for (std::size_t span = 0; span < run_.spans.size(); ++span) {
        if (run_.spans.kind[span] == SpanKind::p2p && splits[span].participants < 2) ++alone;
    }
    if (alone > 0) {
        note(count_text(alone,
                        " are messages whose other rank is not known: their waiting counts as exposed PP; open "
                        "the traces of all ranks together to tell it apart"));
    }
}

void RunMaker::set_step_time() {
    run_.step_time = run_.spans.window_end - run_.spans.window_begin;
    run_.figures["step_time_ms"] = to_milliseconds(run_.step_time);
    if (run_.accounts.empty()) return;
    const auto mean_ms = [&](Account account) {
        double sum = 0.0;
        for (const RankAccount& rank : run_.accounts) sum += to_milliseconds(rank[static_cast<std::size_t>(account)]);
        return sum / static_cast<double>(run_.accounts.size());
    };
    run_.figures["exposed_comm_ms.tp"] = mean_ms(Account::exposed_tp);
    run_.figures["exposed_comm_ms.cp"] = mean_ms(Account::exposed_cp);
    run_.figures["exposed_comm_ms.ep"] = mean_ms(Account::exposed_ep);
    run_.figures["exposed_comm_ms.pp"] = mean_ms(Account::exposed_pp);
    run_.figures["exposed_comm_ms.dp"] = mean_ms(Account::exposed_dp);
}

}  // namespace

Run make_trace_run(const std::string& name, const std::vector<TraceFile>& files) {
    return RunMaker(name, files).make();
}

}  // namespace foreshard
