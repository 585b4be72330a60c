#include "cli/export.hpp"

#include <fmt/format.h>

#include "cli/messages.hpp"
#include "cli/output.hpp"
#include "sim/engine/evaluate.hpp"
#include "sim/error.hpp"
#include "sim/plan/schedule_csv.hpp"
#include "sim/plan/schedule_request.hpp"
#include "sim/spec/launch_config.hpp"
#include "traces/read_search.hpp"

namespace foreshard::cli {

namespace {

/// What is not expressed is a comment in the output, and a warning beside it.
ExitCode export_launch(const ExportOptions& options, const LaunchConfig& config) {
    if (!config.refused.empty()) {
        print_broken_rules(config.refused);
        return infeasible;
    }
    for (const std::string& what : config.not_expressed) print_warning("not expressed: " + what);
    write_output(options.output_file, to_text(config));
    return ok;
}

/// A plan of a search that can run, best first, as the table of the search counts them.
JobRequest request_of_rank(const ReadSearch& search, int rank) {
    int feasible = 0;
    for (const SearchPlan& plan : search.plans) {
        if (!plan.infeasible.empty() || !plan.fits) continue;
        if (++feasible == rank) return plan.request;
    }
    throw InputError("--rank", "",
                     feasible == 0 ? fmt::format("{} has no plan that can run", search.name)
                                   : fmt::format("{}: {} has plans 1 to {}", rank, search.name, feasible));
}

JobRequest exported_request(const ExportOptions& options) {
    if (!options.search_file) {
        if (options.rank) throw InputError("--rank", "", "is the place of a plan in a search: give --search too");
        return request_from(options.job);
    }
    if (options.job.job_file) throw InputError("--search", "", "and --job: the plan comes from one of them");
    const JobRequest found = request_of_rank(read_search(*options.search_file), options.rank.value_or(1));
    return merge(found, translated(options.job.megatron, found, options.job.request));
}

}  // namespace

ExitCode run_export(const ExportOptions& options) {
    const bool known =
        options.format == "schedule-csv" || options.format == "megatron-args" || options.format == "torchtitan";
    if (!known) {
        throw InputError(
            "--format", "",
            fmt::format("'{}' is not known; valid: schedule-csv, megatron-args, torchtitan", options.format));
    }
    Job job = resolve(with_schedule_counts(exported_request(options)));
    const std::vector<BrokenRule> broken = check(job);
    if (!broken.empty()) {
        print_broken_rules(broken);
        return infeasible;
    }
    if (options.format == "schedule-csv") {
        write_output(options.output_file, to_csv(schedule_of(job)));
        return ok;
    }
    if (job.plan.balance) job = evaluate(job).job;  // the split that was found
    return export_launch(options, options.format == "torchtitan" ? torchtitan_config(job) : megatron_args(job));
}

}  // namespace foreshard::cli
