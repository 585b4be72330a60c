#include "cli/verify_runs.hpp"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <thread>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/child_process.hpp"
#include "cli/exit_code.hpp"
#include "cli/flags.hpp"
#include "cli/messages.hpp"
#include "sim/error.hpp"
#include "sim/spec/text_file.hpp"

namespace foreshard::cli {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

constexpr std::string_view any_cluster = "dgx-a100-80g";

JobRequest request_of(const VerifyPlan& plan) {
    CLI::App app;
    JobFlags flags;
    prepare_command(app);
    add_job_flags(app, flags);
    std::vector<std::string> words = words_of(plan.flags);
    std::reverse(words.begin(), words.end());
    try {
        app.parse(std::move(words));
    } catch (const CLI::ParseError& error) {
        throw InputError("plan", "", fmt::format("'{}': {}", plan.flags, error.what()));
    }
    refuse_extras(app);
    // Flags of Megatron-LM are translated for a whole job. What it computes on and with has no part in that, and is
    // this machine in the run.
    const std::optional<NameOr<ClusterSpec>> cluster = flags.request.cluster;
    if (!cluster) flags.request.cluster = std::string(any_cluster);
    if (!flags.request.software && !flags.job_file) flags.request.software = std::string("foreshard");
    try {
        JobRequest request = request_from(flags);
        request.cluster = cluster;
        return request;
    } catch (const UnreadableFile&) {
        throw;
    } catch (const InputError& error) {
        throw InputError("plan", "", fmt::format("'{}': {}", plan.flags, error.what()));
    }
}

int ranks_of(const JobRequest& request) {
    const int product = request.dp.value_or(1) * request.tp.value_or(1) * request.pp.value_or(1);
    return std::max(request.gpus.value_or(1), product);
}

std::string last_line(std::string text) {
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) text.pop_back();
    return text.substr(text.rfind('\n') + 1);
}

/// The last line that tells of an error, without its label; the last of all where none does.
std::string reason_in(const std::string& errors, int code) {
    constexpr std::string_view label = "error: ";
    const std::size_t at = errors.rfind(label);
    if (at == std::string::npos) {
        return fmt::format("foreshard-run ended with exit code {}: {}", code, last_line(errors));
    }
    const std::size_t begin = at + label.size();
    return errors.substr(begin, errors.find('\n', begin) - begin);
}

/// A line that is written over on a terminal; a line a plan elsewhere.
class ProgressLine {
public:
    explicit ProgressLine(std::size_t runs) : runs_(runs), terminal_(isatty(STDERR_FILENO) == 1) {}
    ~ProgressLine() { clear(); }
    ProgressLine(const ProgressLine&) = delete;
    ProgressLine& operator=(const ProgressLine&) = delete;

    void begin(const std::string& plan) {
        std::string text = fmt::format("run {} of {}", done_ + 1, runs_);
        if (done_ > 0) {
            const double left = seconds_since(start_) / static_cast<double>(done_) * static_cast<double>(runs_ - done_);
            text += fmt::format(", about {:.0f} s left", left);
        }
        constexpr std::size_t columns = 100;
        text = (text + ": " + plan).substr(0, columns);
        fmt::print(stderr, "{}{}{}", terminal_ ? "\r\x1b[K" : "", text, terminal_ ? "" : "\n");
        std::fflush(stderr);
    }
    void end() { ++done_; }

private:
    void clear() const {
        if (terminal_) fmt::print(stderr, "\r\x1b[K");
    }

    std::size_t runs_;
    std::size_t done_ = 0;
    bool terminal_;
    Clock::time_point start_ = Clock::now();
};

/// Of foreshard-run, but for what it is to do.
std::vector<std::string> arguments_of(const RunSettings& settings, const PlanRuns& plan, const std::string& json) {
    std::vector<std::string> words;
    if (plan.plan.comm == "mpi") words = {settings.mpirun, "-np", std::to_string(plan.ranks)};
    words.push_back(settings.program);
    const std::vector<std::string> flags = words_of(plan.plan.flags);
    words.insert(words.end(), flags.begin(), flags.end());
    for (const std::string& word : {std::string("--backend"), settings.backend, std::string("--comm"), plan.plan.comm,
                                    std::string("--json"), json}) {
        words.push_back(word);
    }
    return words;
}

class Runner {
public:
    Runner(const RunSettings& settings, std::vector<PlanRuns>& plans, const std::atomic<bool>& stop)
        : settings_(settings), plans_(plans), stop_(stop) {}

    void run();

private:
    bool spent() const { return seconds_since(start_) > settings_.budget_s; }
    void run_plan(PlanRuns& plan, int round);

    const RunSettings& settings_;
    std::vector<PlanRuns>& plans_;
    const std::atomic<bool>& stop_;
    Clock::time_point start_ = Clock::now();
};

/// Open MPI binds a rank to a core, on which then all its threads wait for each other, counts no hyper-threads, and
/// refuses to start in a container, where everybody is root. What the user has set stays.
void free_mpi_ranks() {
    setenv("OMPI_MCA_hwloc_base_binding_policy", "none", 0);
    setenv("PRTE_MCA_hwloc_default_binding_policy", "none", 0);
    setenv("OMPI_MCA_rmaps_base_oversubscribe", "1", 0);
    if (geteuid() != 0) return;
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 0);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 0);
}

/// What this machine cannot measure: ranks that share a core take turns, which no plan asks for. Empty: it can.
std::string reason_against(const RunSettings& settings, const PlanRuns& plan) {
    const auto cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    if (settings.backend == "cpu" && plan.ranks > cores) {
        return fmt::format("{} ranks need a core each, of {}", plan.ranks, cores);
    }
    return plan.plan.comm == "mpi" && settings.mpirun.empty() ? "no MPI: mpirun was not found" : "";
}

/// The plan to time communication on: a pipeline's ranks send messages, and often sum up as well.
const PlanRuns* plan_to_benchmark(const RunSettings& settings, const std::vector<PlanRuns>& plans,
                                  const std::string& comm) {
    const PlanRuns* found = nullptr;
    for (const PlanRuns& plan : plans) {
        if (plan.plan.comm != comm || !reason_against(settings, plan).empty()) continue;
        const auto rank = [](const PlanRuns& of) { return of.request.pp.value_or(1) > 1 ? 2 : (of.ranks > 1 ? 1 : 0); };
        if (found == nullptr || rank(plan) > rank(*found)) found = &plan;
    }
    return found;
}

void Runner::run_plan(PlanRuns& plan, int round) {
    const auto index = static_cast<std::size_t>(&plan - plans_.data());
    const std::filesystem::path report = settings_.folder / fmt::format("plan-{}-round-{}.json", index + 1, round + 1);
    std::vector<std::string> words = arguments_of(settings_, plan, report.string());
    for (const std::string& word : {std::string("--warmup"), std::to_string(settings_.pace.warmup),
                                    std::string("--iterations"), std::to_string(settings_.pace.iterations)}) {
        words.push_back(word);
    }
    const ChildResult result = run_child(words, stop_);
    if (stop_.load()) return;
    if (result.code != ok) {
        plan.skipped = reason_in(result.last_lines, result.code);
        return;
    }
    add_measured_run(read_text_file(report.string()), report.string(), plan.measured);
    plan.reports.push_back(report);
}

void Runner::run() {
    for (PlanRuns& plan : plans_) plan.skipped = reason_against(settings_, plan);
    free_mpi_ranks();
    const auto runs = [](const PlanRuns& plan) { return plan.skipped.empty(); };
    const auto count = static_cast<std::size_t>(std::count_if(plans_.begin(), plans_.end(), runs));
    ProgressLine progress(count * static_cast<std::size_t>(settings_.pace.rounds));
    for (int round = 0; round < settings_.pace.rounds; ++round) {
        for (std::size_t i = 0; i < plans_.size(); ++i) {
            PlanRuns& plan = plans_[round % 2 == 0 ? i : plans_.size() - 1 - i];
            if (!plan.skipped.empty()) continue;
            if (stop_.load()) return;
            if (spent()) {
                if (plan.reports.empty()) plan.skipped = "the time was up";
                continue;
            }
            progress.begin(plan.plan.flags + " (" + plan.plan.comm + ")");
            run_plan(plan, round);
            progress.end();
        }
    }
}

}  // namespace

std::vector<PlanRuns> prepare(const std::vector<VerifyPlan>& plans) {
    std::vector<PlanRuns> prepared;
    prepared.reserve(plans.size());
    for (const VerifyPlan& plan : plans) {
        PlanRuns runs;
        runs.plan = plan;
        runs.request = request_of(plan);
        runs.ranks = ranks_of(runs.request);
        prepared.push_back(std::move(runs));
    }
    return prepared;
}

std::vector<std::filesystem::path> run_benchmarks(const RunSettings& settings, const std::vector<PlanRuns>& plans,
                                                  const std::atomic<bool>& stop) {
    std::vector<std::filesystem::path> files;
    if (settings.benchmark.empty()) return files;
    free_mpi_ranks();
    std::set<std::string> comms;
    for (const PlanRuns& plan : plans) comms.insert(plan.plan.comm);
    for (const std::string& comm : comms) {
        const PlanRuns* plan = plan_to_benchmark(settings, plans, comm);
        if (plan == nullptr || stop.load()) continue;
        const std::filesystem::path file = settings.folder / fmt::format("benchmark-{}.json", comm);
        std::vector<std::string> words = arguments_of(settings, *plan, file.string());
        words.insert(words.end(), {"--calibrate", settings.benchmark});
        fmt::print(stderr, "benchmarks of {}\n", comm);
        const ChildResult result = run_child(words, stop);
        if (result.code == ok) {
            files.push_back(file);
        } else if (!stop.load()) {
            print_warning(fmt::format("benchmarks of {}: {}", comm, reason_in(result.last_lines, result.code)));
        }
    }
    return files;
}

void make_runs(const RunSettings& settings, std::vector<PlanRuns>& plans, const std::atomic<bool>& stop) {
    Runner(settings, plans, stop).run();
}

}  // namespace foreshard::cli
