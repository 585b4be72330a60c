#include "runtime/program/run_command.hpp"

#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>

#include "cli/messages.hpp"
#include "cli/output.hpp"
#include "cli/provenance.hpp"
#include "runtime/environment.hpp"
#include "runtime/program/calibrate.hpp"
#include "runtime/program/failure_file.hpp"
#include "runtime/program/json_bench.hpp"
#include "runtime/program/run_text.hpp"
#include "runtime/supported.hpp"
#include "sim/error.hpp"
#include "sim/json_report.hpp"
#include "sim/sim.hpp"
#include "traces/chrome_trace.hpp"

namespace foreshard::runtime {

namespace {

int ranks_asked_for(const cli::JobFlags& flags) {
    const JobRequest& request = flags.request;
    return std::max(
        {request.gpus.value_or(1), request.dp.value_or(1) * request.tp.value_or(1) * request.pp.value_or(1), 64});
}

class Program {
public:
    explicit Program(const RunOptions& options)
        : options_(options), environment_(this_environment()), processes_(options) {
        if (options.json_file) failure_file_.emplace(*options.json_file);
        processes_.describe(environment_);
    }

    cli::ExitCode run();

private:
    int rank() { return processes_.rank(); }
    bool speaks() { return rank() == 0; }
    cli::ExitCode run_plan(const Plan& plan);
    void refuse_several_ranks(const Plan& plan);
    cli::ExitCode calibrate_plan(const Plan& plan);
    JobOptions job_options(const Plan& plan) const;
    Listener listener(const Plan& plan, const JobOptions& job);
    cli::ExitCode tell(const Plan& plan, const TrainOptions& train, const Outcome& outcome);
    cli::ExitCode tell_failure(const Plan& plan, const TrainOptions& train, const Outcome& outcome);
    Evaluation evaluation_of(const Plan& plan, const Outcome& outcome, const Measurement& measurement) const;

    const RunOptions& options_;
    Environment environment_;
    Processes processes_;
    std::optional<FailureFile> failure_file_;
    int steps_done_ = 0;
};

cli::ExitCode Program::run() {
    const Job job = runnable_job(options_, this_machine(environment_, ranks_asked_for(options_.job)));
    std::vector<BrokenRule> broken = check(job);
    if (broken.empty()) broken = unsupported(job, options_.type);
    if (!broken.empty()) {
        if (speaks()) cli::print_broken_rules(broken);
        return cli::infeasible;
    }
    for (const std::string& warning : job.warnings) {
        if (speaks()) cli::print_warning(warning);
    }
    const Schedule schedule = make_schedule(job);
    const TaskGraph graph = lower(job, schedule);
    const Ranks ranks(job);
    return run_plan({job, schedule, graph, ranks});
}

/// Times instead of training.
cli::ExitCode Program::calibrate_plan(const Plan& plan) {
    if (!options_.json_file) throw InputError("--calibrate", "", "writes its times to the file of --json; name one");
    const std::vector<BenchRow> rows = calibrate(plan, options_, processes_);
    if (options_.backend == Backend::cuda) environment_.gpu = gpu_info(processes_.gpu());
    if (speaks()) {
        cli::write_output(*options_.json_file,
                          microbench_json(options_, environment_, plan.job.cluster, plan.ranks.count(), rows));
    }
    return cli::ok;
}

JobOptions Program::job_options(const Plan& plan) const {
    JobOptions job;
    job.train = train_options(options_, plan.job, processes_.gpu());
    if (options_.backend == Backend::cuda) job.carrier = gpu_carrier();
    job.check = options_.check;
    job.timeout = std::chrono::duration<double>(options_.timeout_s);
    if (options_.inject_fault) job.train.fault = parse_fault(*options_.inject_fault, plan, options_.comm);
    return job;
}

Listener Program::listener(const Plan& plan, const JobOptions& job) {
    Listener listener;
    const int per_run = plan.graph.steps;
    const int steps = (job.train.warmup + job.train.steps + per_run - 1) / per_run * per_run;
    listener.progress = [this, steps, per_run](const RunRecord& record) {
        steps_done_ += per_run;
        fmt::print(stderr, "{}", progress_line(steps_done_, steps, record, per_run));
    };
    listener.stuck = [this, plan, &job](const Outcome& outcome) {
        tell_failure(plan, job.train, outcome);
        std::_Exit(cli::internal_error);
    };
    return listener;
}

/// What ranks that are threads of one process cannot do.
void Program::refuse_several_ranks(const Plan& plan) {
    if (processes_.several() || plan.ranks.count() == 1) return;
    if (options_.cuda_graph) {
        throw InputError("--cuda-graph", "",
                         fmt::format("the plan has {} ranks in one process, which meet while they issue; a captured "
                                     "step needs a process for every rank",
                                     plan.ranks.count()));
    }
    if (options_.backend == Backend::cuda && options_.comm == Comm::threads) {
        throw InputError("--comm", "",
                         fmt::format("threads: the plan has {} ranks; with --backend cuda take virtual (all of them on "
                                     "one GPU) or nccl (a GPU each)",
                                     plan.ranks.count()));
    }
}

cli::ExitCode Program::run_plan(const Plan& plan) {
    refuse_several_ranks(plan);
    processes_.open_nccl(plan);
    processes_.describe(environment_);
    if (options_.calibrate) return calibrate_plan(plan);
    const JobOptions job = job_options(plan);
    const Listener ears = listener(plan, job);
    if (options_.backend == Backend::cuda) environment_.gpu = gpu_info(processes_.gpu());
    Outcome outcome =
        processes_.several() ? run_as_process(plan, job, processes_.group(), ears) : run_as_threads(plan, job, ears);
    if (options_.backend == Backend::cuda && !outcome.failure && speaks()) find_arrivals(plan, outcome);
    if (outcome.failure) {
        const cli::ExitCode code = tell_failure(plan, job.train, outcome);
        if (processes_.several()) processes_.end(code);
        return code;
    }
    const bool missed = outcome.comparison && !outcome.comparison->passed();
    if (!speaks()) return cli::ok;
    const cli::ExitCode code = tell(plan, job.train, outcome);
    return missed ? cli::threshold_missed : code;
}

Evaluation Program::evaluation_of(const Plan& plan, const Outcome& outcome, const Measurement& measurement) const {
    Evaluation evaluation;
    evaluation.job = plan.job;
    evaluation.schedule = plan.schedule;
    evaluation.graph = plan.graph;
    evaluation.buffers = plan_buffers(plan.job, plan.graph);
    evaluation.timeline = timeline_of(plan, outcome, measurement.timeline_run);
    evaluation.report = make_report(plan.job, plan.graph, evaluation.buffers, evaluation.timeline);
    return evaluation;
}

cli::ExitCode Program::tell(const Plan& plan, const TrainOptions& train, const Outcome& outcome) {
    const Measurement measurement = measure(plan, outcome);
    const Evaluation evaluation = evaluation_of(plan, outcome, measurement);
    const RunReport report{options_, plan, train, outcome, environment_, &measurement};
    if (options_.trace_file) {
        for (const std::string& note : write_chrome_trace(*options_.trace_file, evaluation)) cli::print_warning(note);
    }
    if (options_.stage_times_file) {
        cli::write_output(*options_.stage_times_file, stage_times_json(stage_times_of(plan, outcome)));
    }
    if (options_.json_file) {
        const std::string json = report_json(evaluation, {options_.command, cli::input_files(options_.job)});
        cli::write_output(*options_.json_file, with_measured(json, report));
    }
    if (options_.json_file != "-") cli::write_output("-", run_text(report, evaluation.report));
    return cli::ok;
}

/// Every rank that failed tells why. Each knows the finished steps.
cli::ExitCode Program::tell_failure(const Plan& plan, const TrainOptions& train, const Outcome& outcome) {
    if (speaks() || outcome.failure->rank == rank()) cli::print_error(outcome.failure->reason);
    if (failure_file_) failure_file_->write(rank(), failure_json({options_, plan, train, outcome, environment_}));
    return cli::internal_error;
}

}  // namespace

cli::ExitCode run_job(const RunOptions& options) {
    return Program(options).run();
}

}  // namespace foreshard::runtime
