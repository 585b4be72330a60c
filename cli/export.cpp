#include "cli/export.hpp"

#include <fmt/format.h>

#include "cli/messages.hpp"
#include "cli/output.hpp"
#include "sim/engine/evaluate.hpp"
#include "sim/error.hpp"
#include "sim/plan/schedule_csv.hpp"

namespace foreshard::cli {

ExitCode run_export(const ExportOptions& options) {
    if (options.format != "schedule-csv") {
        throw InputError("--format", "", fmt::format("'{}' is not known; valid: schedule-csv", options.format));
    }
    const Job job = job_from(options.job);
    const std::vector<BrokenRule> broken = check(job);
    if (!broken.empty()) {
        print_broken_rules(broken);
        return infeasible;
    }
    write_output(options.output_file, to_csv(schedule_of(job)));
    return ok;
}

}  // namespace foreshard::cli
