#include "cli/search.hpp"

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <limits>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/found_plans.hpp"
#include "cli/messages.hpp"
#include "cli/output.hpp"
#include "cli/progress_line.hpp"
#include "sim/error.hpp"
#include "sim/search/json_search.hpp"
#include "sim/search/json_sweep.hpp"
#include "sim/search/number_set.hpp"
#include "sim/search/search.hpp"
#include "sim/search/sweep.hpp"
#include "sim/search/text_search.hpp"
#include "sim/search/text_sweep.hpp"
#include "sim/spec/catalogue.hpp"
#include "sim/spec/request_text.hpp"
#include "sim/stop.hpp"

namespace foreshard::cli {

namespace {

/// Of a flag that gives way to a list of values, and of what turns it off.
struct RemovedNames {
    std::string on;
    std::string off;
};

RemovedNames names_of_removed(CLI::App& command, const std::string& flag) {
    CLI::Option* option = command.get_option(flag);
    RemovedNames names;
    for (const std::string& name : option->get_lnames()) {
        std::string& list = name.starts_with("no-") ? names.off : names.on;
        list += (list.empty() ? "--" : ",--") + name;
    }
    command.remove_option(option);
    return names;
}

void add_axes(CLI::App& command, SearchOptions& options) {
    for (const SearchAxis& axis : search_axes()) {
        const RemovedNames names = names_of_removed(command, axis_flag(axis.name));
        const auto store = [&options, name = axis.name](const std::string& text) {
            options.constraints[name] = text.empty() ? "on" : text;
        };
        CLI::Option* option = command.add_option_function<std::string>(names.on, store, axis.help);
        option->group("Axes of the search")->type_name("VALUES");
        if (names.off.empty()) continue;
        option->expected(0, 1);
        command
            .add_flag_callback(
                names.off, [&options, name = axis.name] { options.constraints[name] = "off"; },
                axis_flag(axis.name) + " off")
            ->group("Axes of the search");
    }
}

/// Flags of one job's size give way to several sizes.
void add_sizes(CLI::App& command, SearchOptions& options) {
    const auto add = [&](const std::string& names, std::optional<std::string>& target, const char* help) {
        command.add_option(names, target, help)->group("Sizes")->type_name("VALUES");
    };
    add(names_of_removed(command, "--gpus").on, options.gpus,
        "GPUs in all: 64, 64,128 or 64..4096 (a node times powers of two; 64..512:64 counts)");
    add("--nodes", options.nodes, "The same in nodes: 8, 8,16 or 8..512 (powers of two)");
    add(names_of_removed(command, "--gbs").on, options.batches,
        "Sequences a step over all ranks: 256, 256,512 or 256..2048 (doubles)");
}

void add_objectives(CLI::App& command, SearchOptions& options) {
    constexpr const char* group = "Objective (figures replace those of the cluster)";
    command
        .add_option("--objective", options.objective,
                    fmt::format("What is best: {} (default step-time)", fmt::join(objective_names(), ", ")))
        ->group(group);
    visit_operating_figures([&](const char* key, auto member, const char* help) {
        command.add_option(operating_flag(key), options.operation.*member, help)->group(group);
    });
    command.add_option("--train-tokens", options.train_tokens, "Tokens to train on, for time-to-train: 15e12")
        ->group(group);
}

std::atomic<bool> interrupt_asked{false};

/// While it lives, Ctrl-C asks the search to stop; a second one ends the program.
class StopOnInterrupt {
public:
    StopOnInterrupt() {
        interrupt_asked = false;
        before_ = std::signal(SIGINT, [](int) {
            if (interrupt_asked.exchange(true)) std::_Exit(interrupted);
        });
        watcher_ = std::jthread([this](const std::stop_token& ended) {
            while (!ended.stop_requested()) {
                if (interrupt_asked) source_.request_stop();
                std::this_thread::sleep_for(std::chrono::milliseconds(20));
            }
        });
    }
    StopOnInterrupt(const StopOnInterrupt&) = delete;
    StopOnInterrupt& operator=(const StopOnInterrupt&) = delete;
    ~StopOnInterrupt() { std::signal(SIGINT, before_); }

    std::stop_token token() const { return source_.get_token(); }

private:
    void (*before_)(int) = nullptr;
    std::stop_source source_;
    std::jthread watcher_;
};

bool is_axis(const std::string& name) {
    for (const SearchAxis& axis : search_axes()) {
        if (axis.name == name) return true;
    }
    return false;
}

/// A job file's own plan is what the search varies, but for what it keeps.
void drop_axes(SearchRequest& request) {
    std::string dropped;
    for (const SearchAxis& axis : search_axes()) {
        const std::string value = request_value(request.base, axis.name);
        if (value.empty() || axis.kept) continue;
        dropped += fmt::format("{}{} {}", dropped.empty() ? "" : ", ", axis.name, value);
        request.base = with_value(std::move(request.base), axis.name, "");
    }
    if (!dropped.empty())
        print_warning("the search varies what the job says: " + dropped + "; --fix tp=8 keeps a value");
}

void fix(const std::string& text, SearchRequest& request) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
        throw InputError("--fix", "", fmt::format("'{}' is not of the form key=value", text));
    }
    std::string name = text.substr(0, equals);
    for (char& c : name) c = c == '-' ? '_' : c;
    const std::string value = text.substr(equals + 1);
    if (is_axis(name)) {
        request.constraints[name] =
            name == "sp" && (value == "true" || value == "false") ? (value == "true" ? "on" : "off") : value;
    } else {
        request.base = with_value(std::move(request.base), name, value);
    }
}

ObjectiveRequest objective_request(const SearchOptions& options) {
    const std::optional<Objective> kind = parse_objective(options.objective);
    if (!kind) {
        throw InputError("--objective", "",
                         fmt::format("'{}': valid are {}", options.objective, fmt::join(objective_names(), ", ")));
    }
    return {*kind, options.operation, options.train_tokens};
}

SearchRequest search_request(const SearchOptions& options) {
    if (options.space != "default" && options.space != "full") {
        throw InputError("--space", "", fmt::format("'{}': default or full", options.space));
    }
    if (options.max_memory_gib && *options.max_memory_gib <= 0.0) {
        throw InputError("--max-memory-gib", "", fmt::format("{} must be positive", *options.max_memory_gib));
    }
    SearchRequest request;
    const JobRequest file = options.job.job_file ? load_job_request(*options.job.job_file) : JobRequest{};
    request.base = merge(file, options.job.request);
    drop_axes(request);
    request.constraints = options.constraints;
    for (const std::string& text : options.fixed) fix(text, request);
    request.space = options.space == "full" ? SpaceKind::full : SpaceKind::usual;
    request.max_memory_gib = options.max_memory_gib;
    request.top = options.top;
    request.threads = options.threads;
    request.exhaustive = options.exhaustive;
    request.max_simulated = options.max_simulated;
    if (options.max_gap_pct) request.max_gap_ratio = *options.max_gap_pct / 100.0;
    request.objective = objective_request(options);
    if (options.sensitivity && request.base.calibration) {
        throw InputError("--sensitivity", "",
                         "scales figures of the hardware, which the measured times of --calibration do not follow: "
                         "leave one of them out");
    }
    request.relax = !options.no_relax;
    return request;
}

struct ResultTexts {
    std::string json;
    std::string csv;
    std::string table;
};

void write_results(const SearchOptions& options, const ResultTexts& texts) {
    if (options.json_file) write_output(*options.json_file, texts.json);
    if (options.csv_file) write_output(*options.csv_file, texts.csv);
    const bool other_output = options.json_file == "-" || options.csv_file == "-" || options.jsonl_file == "-";
    if (!other_output) write_output("-", texts.table);
}

/// What the program says besides the result, and how it ends.
ExitCode conclude(bool stopped, bool found, const std::vector<std::string>& advice) {
    if (stopped) {
        print_warning("interrupted: plans and explanations are those so far");
        return interrupted;
    }
    if (found) return ok;
    print_error("no plan is feasible");
    for (const std::string& line : advice) print_error(line);
    return infeasible;
}

/// What is told about the best plan beside its figures.
void explain(const SearchOptions& options, const SearchRequest& request, const std::stop_token& stop,
             SearchOutcome& result) {
    if (result.stopped) return;
    try {
        if (options.explain) result.neighbours = neighbours_of_best(request, result, stop);
        if (options.sensitivity) result.sensitivity = sensitivity_of(request, result, stop);
    } catch (const Stopped&) {
        result.stopped = true;
    }
}

ExitCode run_one_size(const SearchOptions& options, const SearchRequest& request) {
    SearchOutcome result;
    {
        const StopOnInterrupt interrupt;
        ProgressLine line;
        FoundPlanLines found(options.jsonl_file, options.verbose);
        result = search(
            request, [&](const SearchProgress& progress) { line.show(progress); }, interrupt.token(),
            [&](const Improvement& improvement) { found.show(improvement); });
        explain(options, request, interrupt.token(), result);
    }
    write_results(options, {search_json(result), search_csv(result), search_text(result, options.top)});
    return conclude(result.stopped, !result.plans.empty(), search_advice(result));
}

void explain_best(const SearchOptions& options, const SweepRequest& request, const std::stop_token& stop,
                  SweepOutcome& result) {
    if (result.stopped || result.plans.empty()) return;
    SweepPoint& best = result.best_point();
    explain(options, point_request(request, best), stop, *best.outcome);
    result.stopped = best.outcome->stopped;
}

ExitCode run_sweep(const SearchOptions& options, const SweepRequest& request) {
    SweepOutcome result;
    {
        const StopOnInterrupt interrupt;
        ProgressLine line;
        FoundPlanLines found(options.jsonl_file, options.verbose);
        result = sweep(
            request, [&](const SearchProgress& progress) { line.show(progress); }, interrupt.token(),
            [&](const SweepPoint& point, const Improvement& improvement) { found.show(point, improvement); });
        explain_best(options, request, interrupt.token(), result);
    }
    write_results(options, {sweep_json(result), sweep_csv(result), sweep_text(result)});
    return conclude(result.stopped, !result.plans.empty(), sweep_advice(result));
}

}  // namespace

void add_search_flags(CLI::App& command, SearchOptions& options) {
    add_job_flags(command, options.job);
    add_axes(command, options);
    add_sizes(command, options);
    add_objectives(command, options);
    command.add_option("--fix", options.fixed, "A value that all plans share, by its key in a job file: tp=8")
        ->group("Search")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false);
    command.add_option("--max-memory-gib", options.max_memory_gib, "Memory a plan may need on a GPU, of the device's")
        ->group("Search");
    command
        .add_option("--space", options.space,
                    "default: what keeps numerics and batch, in the usual order of axes; full: all that the search "
                    "can bound")
        ->group("Search");
    command.add_option("--top", options.top, "Plans to find (default 10)")->group("Search");
    command
        .add_flag("--explain,!--no-explain", options.explain,
                  "Simulate the neighbours of the best plan and tell why they lose (default)")
        ->group("Search");
    command
        .add_flag("--sensitivity", options.sensitivity,
                  "Search again with every figure of the hardware 0.8 and 1.25 times as large")
        ->group("Search");
    command
        .add_option("--max-gap-pct", options.max_gap_pct,
                    "Stop once no plan can be better than the best one by more than so many percent")
        ->group("Search")
        ->check(CLI::Range(0.0, 100.0));
    command
        .add_option("--max-simulated", options.max_simulated,
                    "Stop once about so many plans were simulated, and tell how much better the rest could be")
        ->group("Search")
        ->check(CLI::Range(std::int64_t{1}, std::numeric_limits<std::int64_t>::max()));
    command.add_flag("--exhaustive", options.exhaustive, "Bound every plan: cut no branches")->group("Search");
    command.add_flag("--no-relax", options.no_relax, "Where nothing fits, do not look for what makes room")
        ->group("Search");
    command.add_option("--threads", options.threads, "Threads (default as many as the machine has)")
        ->group("Search")
        ->check(CLI::Range(1, 4096));
    command.add_option("--json", options.json_file, "Write foreshard.search; '-' is standard output")
        ->group("Output")
        ->type_name("FILE");
    command
        .add_option("--jsonl", options.jsonl_file,
                    "Write a line of JSON for each plan as it is found; '-' is standard output")
        ->group("Output")
        ->type_name("FILE");
    command.add_flag("--verbose", options.verbose, "Tell plans as they are found, on stderr (terminals: always)")
        ->group("Output");
    command.add_option("--csv", options.csv_file, "Write the plans as CSV; '-' is standard output")
        ->group("Output")
        ->type_name("FILE");
}

ExitCode run_search(const SearchOptions& options) {
    const SweepRequest request = with_sizes(search_request(options), {options.gpus, options.nodes, options.batches});
    return one_size(request) ? run_one_size(options, request.search) : run_sweep(options, request);
}

}  // namespace foreshard::cli
