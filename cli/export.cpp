#include "cli/export.hpp"

#include <fmt/format.h>

#include "cli/messages.hpp"
#include "cli/output.hpp"
#include "sim/engine/evaluate.hpp"
#include "sim/error.hpp"
#include "sim/plan/schedule_csv.hpp"
#include "sim/spec/launch_config.hpp"

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

}  // namespace

ExitCode run_export(const ExportOptions& options) {
    const bool known =
        options.format == "schedule-csv" || options.format == "megatron-args" || options.format == "torchtitan";
    if (!known) {
        throw InputError(
            "--format", "",
            fmt::format("'{}' is not known; valid: schedule-csv, megatron-args, torchtitan", options.format));
    }
    Job job = job_from(options.job);
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
