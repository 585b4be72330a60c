#include "cli/search.hpp"

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <thread>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/messages.hpp"
#include "cli/output.hpp"
#include "sim/error.hpp"
#include "sim/result/text_format.hpp"
#include "sim/search/json_search.hpp"
#include "sim/search/number_set.hpp"
#include "sim/search/search.hpp"
#include "sim/search/text_search.hpp"
#include "sim/spec/catalogue.hpp"
#include "sim/spec/request_text.hpp"

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

/// One line that is written again and again, on terminals only.
class ProgressLine {
public:
    void show(const SearchProgress& progress) {
        const auto now = std::chrono::steady_clock::now();
        if (!terminal_ || now - last_ < std::chrono::milliseconds(100)) return;
        last_ = now;
        if (progress.phase != phase_) {
            phase_ = progress.phase;
            phase_start_ = now;
        }
        const double elapsed = std::chrono::duration<double>(now - phase_start_).count();
        std::string line = fmt::format("{} {:.0f} %", phase_, 100.0 * progress.done_ratio);
        if (progress.done_ratio > 0.02) {
            line += fmt::format(", {:.0f} s to go at most", elapsed / progress.done_ratio - elapsed);
        }
        line += fmt::format(", {} bounded, {} simulated", progress.evaluated, progress.simulated);
        if (progress.best_ms) line += ", best " + milliseconds(*progress.best_ms);
        fmt::print(stderr, "\r\x1b[K{}", line);
        std::fflush(stderr);
        shown_ = true;
    }
    ProgressLine() = default;
    ProgressLine(const ProgressLine&) = delete;
    ProgressLine& operator=(const ProgressLine&) = delete;
    ~ProgressLine() {
        if (shown_) fmt::print(stderr, "\r\x1b[K");
    }

private:
    bool terminal_ = isatty(STDERR_FILENO) == 1;
    bool shown_ = false;
    std::string phase_;
    std::chrono::steady_clock::time_point last_;
    std::chrono::steady_clock::time_point phase_start_;
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

/// All GPUs of so many nodes of the cluster.
void take_nodes(const SearchOptions& options, JobRequest& base) {
    if (!options.nodes) return;
    if (!base.cluster) throw InputError("--nodes", "", "needs --cluster, which says how many GPUs a node has");
    const auto* name = std::get_if<std::string>(&*base.cluster);
    const int per_node = (name != nullptr ? load_cluster(*name) : std::get<ClusterSpec>(*base.cluster)).gpus_per_node;
    if (*options.nodes < 1 || *options.nodes > 1'000'000) {
        throw InputError("--nodes", "", fmt::format("{} is out of range: at least 1", *options.nodes));
    }
    const int gpus = *options.nodes * per_node;
    if (options.job.request.gpus && *options.job.request.gpus != gpus) {
        throw InputError("--nodes", "",
                         fmt::format("{} nodes of {} GPUs have {}, but --gpus is {}: leave one of them out",
                                     *options.nodes, per_node, gpus, *options.job.request.gpus));
    }
    base.gpus = gpus;
}

SearchRequest search_request(const SearchOptions& options) {
    if (options.objective != "step-time" && options.objective != "tokens-per-s-per-gpu") {
        throw InputError("--objective", "",
                         fmt::format("'{}' is not part of this version; valid: step-time, tokens-per-s-per-gpu (with "
                                     "one batch on one cluster, both order plans alike)",
                                     options.objective));
    }
    if (options.space != "default" && options.space != "full") {
        throw InputError("--space", "", fmt::format("'{}': default or full", options.space));
    }
    if (options.max_memory_gib && *options.max_memory_gib <= 0.0) {
        throw InputError("--max-memory-gib", "", fmt::format("{} must be positive", *options.max_memory_gib));
    }
    SearchRequest request;
    const JobRequest file = options.job.job_file ? load_job_request(*options.job.job_file) : JobRequest{};
    request.base = merge(file, options.job.request);
    take_nodes(options, request.base);
    drop_axes(request);
    request.constraints = options.constraints;
    for (const std::string& text : options.fixed) fix(text, request);
    request.space = options.space == "full" ? SpaceKind::full : SpaceKind::usual;
    request.max_memory_gib = options.max_memory_gib;
    request.top = options.top;
    request.threads = options.threads;
    request.exhaustive = options.exhaustive;
    request.relax = !options.no_relax;
    return request;
}

void write_results(const SearchOptions& options, const SearchOutcome& result) {
    if (options.json_file) write_output(*options.json_file, search_json(result));
    if (options.csv_file) write_output(*options.csv_file, search_csv(result));
    if (options.json_file != "-" && options.csv_file != "-") write_output("-", search_text(result, options.top));
}

}  // namespace

void add_search_flags(CLI::App& command, SearchOptions& options) {
    add_job_flags(command, options.job);
    add_axes(command, options);
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
    command.add_option("--objective", options.objective, "step-time or tokens-per-s-per-gpu")->group("Search");
    command.add_option("--top", options.top, "Plans to find (default 10)")->group("Search");
    command.add_flag("--exhaustive", options.exhaustive, "Bound every plan: cut no branches")->group("Search");
    command.add_flag("--no-relax", options.no_relax, "Where nothing fits, do not look for what makes room")
        ->group("Search");
    command.add_option("--nodes", options.nodes, "Nodes to use, in place of --gpus")->group("Search");
    command.add_option("--threads", options.threads, "Threads (default as many as the machine has)")
        ->group("Search")
        ->check(CLI::Range(1, 4096));
    command.add_option("--json", options.json_file, "Write foreshard.search; '-' is standard output")
        ->group("Output")
        ->type_name("FILE");
    command.add_option("--csv", options.csv_file, "Write the plans as CSV; '-' is standard output")
        ->group("Output")
        ->type_name("FILE");
}

ExitCode run_search(const SearchOptions& options) {
    const SearchRequest request = search_request(options);
    SearchOutcome result;
    {
        const StopOnInterrupt interrupt;
        ProgressLine line;
        result = search(
            request, [&](const SearchProgress& progress) { line.show(progress); }, interrupt.token());
    }
    write_results(options, result);
    if (result.stopped) {
        print_warning("interrupted: the plans are the best so far");
        return interrupted;
    }
    if (!result.plans.empty()) return ok;
    print_error("no plan is feasible");
    for (const std::string& line : search_advice(result)) print_error(line);
    return infeasible;
}

}  // namespace foreshard::cli
