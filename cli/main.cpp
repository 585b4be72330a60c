#include <csignal>
#include <cstdlib>
#include <exception>

#include <fmt/format.h>

#include "cli/calibrate.hpp"
#include "cli/commands.hpp"
#include "cli/compare.hpp"
#include "cli/completion.hpp"
#include "cli/export.hpp"
#include "cli/fit.hpp"
#include "cli/json_catalog.hpp"
#include "cli/messages.hpp"
#include "cli/output.hpp"
#include "cli/provenance.hpp"
#include "cli/search.hpp"
#include "cli/validate.hpp"
#include "cli/verify.hpp"
#include "sim/error.hpp"
#include "sim/spec/catalogue.hpp"

namespace foreshard::cli {

namespace {

constexpr const char* example =
    "Example:\n"
    "  foreshard simulate --model gpt3-175b --cluster selene --gpus 64 --tp 8 --pp 8 --vpp 3 --gbs 64 --sp \\\n"
    "      --recompute selective --software megatron-2022\n";

/// Everything that the arguments are parsed into.
struct Arguments {
    RunOptions run;
    CatalogOptions catalog;
    FitOptions fit;
    CalibrateOptions calibrate;
    ValidateOptions validate;
    VerifyOptions verify;
    ExportOptions exported;
    CompareOptions compared;
    SearchOptions search;
    std::string schema;
    std::string shell;
};

CLI::App* add_command(CLI::App& app, const std::string& name, const std::string& what, const std::string& usage) {
    CLI::App* command = app.add_subcommand(name, what);
    command->description(usage + "\n" + what);
    prepare_command(*command);
    return command;
}

void add_run_command(CLI::App& app, Arguments& arguments, const std::string& name, const std::string& what) {
    const std::string usage = fmt::format("Example:\n  foreshard {} --job gpt3-175b-selene-64\n", name);
    CLI::App* command = add_command(app, name, what, usage);
    RunOptions& run = arguments.run;
    add_job_flags(*command, run.job);
    command->add_option("--json", run.json_file, "Write the report as JSON to a file, or '-' for standard output")
        ->group("Output")
        ->type_name("FILE");
    command->add_option("--trace", run.trace_file, "Write the timeline as a Chrome trace")
        ->group("Output")
        ->type_name("FILE");
    command->add_option("--fail-if", run.thresholds, "Exit 5 when a figure meets a condition: 'step_time_ms>900'")
        ->group("Output")
        ->type_name("CONDITION")
        ->allow_extra_args(false);
}

void add_validate_command(CLI::App& app, ValidateOptions& options) {
    CLI::App* command =
        add_command(app, "validate", "Predict published runs and print how far off the predictions are.",
                    "Example:\n  foreshard validate training.jsonl\n");
    command->add_option("dataset", options.datasets, "Files of published runs, one JSON object a line")->required();
    command->add_option("--json", options.json_file, "Write foreshard.validation; '-' is standard output");
    command->add_flag("--rows", options.rows, "Print every row");
    command->add_flag("--ablation", options.ablation, "Print what each effect contributes, per source");
    command->add_option("--record", options.record_file, "Write the median error of every source");
    command->add_option("--against", options.against_file,
                        "Fail when a median grew by more than 0.5 points over a record");
    command->add_option("--fail-if", options.thresholds,
                        "Exit with 5 if this holds, e.g. 'step_time.median_abs_pct>5'");
}

void add_verify_command(CLI::App& app, VerifyOptions& options) {
    CLI::App* command = add_command(app, "verify", "Run plans on this machine, calibrate on some, predict the others.",
                                    "Example:\n  foreshard verify --backend cpu --plot verify.html\n");
    command->add_option("--backend", options.backend, "cpu (default) or cuda")->check(CLI::IsMember({"cpu", "cuda"}));
    command->add_option("--comm", options.comms, "Only plans with this way of communication: threads, mpi, ...")
        ->type_name("NAME")
        ->allow_extra_args(false);
    command->add_flag_callback(
        "--short,--quick", [&options] { options.effort = VerifyEffort::quick; },
        "Tiny models and few steps: that it works, not how exact it is");
    command
        ->add_option("--plans", options.plans_file,
                     "Own plans: job flags on a line each, 'calibrate:' in front of those to calibrate on")
        ->type_name("FILE");
    command->add_option("--iterations", options.iterations, "Steps of a run behind its warm-up (default 5)")
        ->check(CLI::Range(1, 100000));
    command->add_option("--rounds", options.rounds, "Runs of each plan, in turns (default 5)")
        ->check(CLI::Range(1, 1000));
    command
        ->add_option("--benchmark", options.benchmark,
                     "Time kernels and communication by themselves first, as foreshard-run --calibrate: none, "
                     "communication (default on processors), quick (default on GPUs), full, tiny")
        ->check(CLI::IsMember({"none", "communication", "quick", "full", "tiny"}));
    command->add_option("--budget-s", options.budget_s, "No run starts after so many seconds (default 480)")
        ->check(CLI::PositiveNumber);
    command->add_option("--json", options.json_file, "Write foreshard.validation; '-' is standard output")
        ->type_name("FILE");
    command->add_option("--plot", options.plot_file, "Draw predicted against measured: a .svg, or a .html with a table")
        ->type_name("FILE");
    command->add_option("--calibration-output", options.calibration_file, "Keep what was calibrated")
        ->type_name("FILE");
    command->add_option("--fail-if", options.thresholds, "Exit with 5 if this holds, e.g. 'step_time_median_abs_pct>6'")
        ->type_name("CONDITION")
        ->allow_extra_args(false);
}

void add_compare_command(CLI::App& app, CompareOptions& options) {
    CLI::App* command = add_command(app, "compare", "Say why one step takes longer than another.",
                                    "Example:\n  foreshard compare gpt3-175b-selene-64 my-job.json trace.json.gz\n");
    command
        ->add_option("runs", options.inputs, "Plan ids, job files, reports or traces; the first is compared with each")
        ->required();
    command->add_option("--json", options.json_file, "Write foreshard.comparison; '-' is standard output")
        ->type_name("FILE");
    command
        ->add_option("--fail-on-regression", options.regression,
                     "Exit with 5 when a step is longer than the first by more than this, e.g. 2%")
        ->type_name("PERCENT");
}

void add_search_command(CLI::App& app, SearchOptions& options) {
    CLI::App* command = add_command(app, "search", "Find the best plans for a model on a cluster.",
                                    "Example:\n  foreshard search --model llama3-70b --cluster dgx-h100 --gpus 64 "
                                    "--gbs 128 --tp 1..8\n");
    add_search_flags(*command, options);
}

void add_export_command(CLI::App& app, ExportOptions& options) {
    CLI::App* command = add_command(app, "export", "Write the schedule or the settings of a job for other programs.",
                                    "Examples:\n  foreshard export --format schedule-csv --model llama3-8b \\\n"
                                    "      --cluster dgx-h100 --pp 4 --schedule zb-v --gbs 16 -o zb-v.csv\n"
                                    "  foreshard export --format megatron-args --job llama3-70b-dgx-h100-64\n");
    add_job_flags(*command, options.job);
    command
        ->add_option("--format", options.format,
                     "schedule-csv: a line per rank, a cell per action; megatron-args: "
                     "arguments of Megatron-LM; torchtitan: its job file")
        ->group("Output");
    command->add_option("-o,--output", options.output_file, "The file to write; '-' (default): standard output")
        ->group("Output")
        ->type_name("FILE");
}

void add_fit_command(CLI::App& app, FitOptions& options) {
    CLI::App* command = add_command(app, "fit", "Make a table of kernel rates from measured kernel times.",
                                    "Example:\n  foreshard fit --kernels gemm.csv --attention attention.csv \\\n"
                                    "      --device a100-sxm-80gb --output kernels-a100.json\n");
    KernelFitRequest& request = options.kernels;
    command->add_option("--kernels", request.gemm_file, "CSV with columns m, n, k and time_us or tflops")->required();
    command->add_option("--attention", request.attention_file,
                        "CSV with columns batch, seq, heads, head_dim and time_us or tflops_causal");
    command->add_option("--attention-scale", request.attention_scale,
                        "Multiply the attention rates, which were measured on another device");
    command->add_option("--device", options.device, "The device that was measured: its id or file")->required();
    command->add_option("--output", options.output_file, "The file to write, named after its id; '-': standard output")
        ->required();
    command->add_option("--max-points", request.max_points, "Nodes of all tables together");
}

void add_calibrate_command(CLI::App& app, CalibrateOptions& options) {
    CLI::App* command = add_command(app, "calibrate", "Make a calibration from what was measured on a machine.",
                                    "Example:\n  foreshard-run --model gpt-mini --pp 2 --gbs 8 --json run.json\n"
                                    "  foreshard calibrate run.json -o mine.json\n"
                                    "  foreshard simulate --calibration mine.json --model gpt-mini --pp 2 --gbs 16\n");
    command
        ->add_option(
            "inputs", options.inputs,
            "Reports of foreshard-run, times of foreshard-run --calibrate, output of nccl-tests (text or JSON), "
            "CSV of kernel times")
        ->required();
    command
        ->add_option("-o,--output", options.output_file, "The file to write, named after its id; '-': standard output")
        ->type_name("FILE");
    command->add_option("--json", options.json_file, "The same file once more; '-' is standard output")
        ->type_name("FILE");
    command->add_option("--device", options.device, "The device whose kernel times a CSV file holds: its id or file");
    command->add_option("--cluster", options.cluster, "The machine that was measured, in place of what the inputs say");
    command->add_flag("--holdout", options.holdout,
                      "Fit four fifths of the points once more, and print the errors at the others");
}

void add_commands(CLI::App& app, Arguments& arguments) {
    add_run_command(app, arguments, "simulate", "Predict step time, bubbles, exposed communication and memory.");
    add_run_command(app, arguments, "memory", "Predict the memory of every pipeline rank.");
    add_run_command(app, arguments, "explain", "Say where the time of a step goes.");

    CLI::App* catalog = add_command(app, "catalog", "List the models, clusters, ... that have a name.",
                                    "Example:\n  foreshard catalog models\n");
    catalog->add_option("kind", arguments.catalog.kind,
                        "models, clusters, devices, software, calibrations, plans or schedules");
    catalog->add_option("id", arguments.catalog.id, "Print this entry");
    catalog->add_flag("--json", arguments.catalog.json, "Print the list as JSON");

    add_search_command(app, arguments.search);

    add_compare_command(app, arguments.compared);

    add_export_command(app, arguments.exported);

    add_validate_command(app, arguments.validate);

    add_verify_command(app, arguments.verify);

    add_fit_command(app, arguments.fit);

    add_calibrate_command(app, arguments.calibrate);

    CLI::App* schema =
        add_command(app, "schema", "Print the JSON Schema of a file format.", "Example:\n  foreshard schema model\n");
    schema
        ->add_option("name", arguments.schema,
                     "model, cluster, device, fabric, kernels, calibration, software, job, report, search, comparison "
                     "or validation")
        ->required();

    CLI::App* completion = add_command(app, "completion", "Print a completion script.",
                                       "Example:\n  eval \"$(foreshard completion bash)\"\n");
    completion->add_option("shell", arguments.shell, "bash, zsh or fish")->required();
}

ExitCode dispatch(const CLI::App& app, const Arguments& arguments) {
    if (app.got_subcommand("simulate")) return run(View::simulate, arguments.run);
    if (app.got_subcommand("memory")) return run(View::memory, arguments.run);
    if (app.got_subcommand("explain")) return run(View::explain, arguments.run);
    if (app.got_subcommand("search")) return run_search(arguments.search);
    if (app.got_subcommand("compare")) return run_compare(arguments.compared);
    if (app.got_subcommand("export")) return run_export(arguments.exported);
    if (app.got_subcommand("validate")) return run_validate(arguments.validate);
    if (app.got_subcommand("verify")) return run_verify(arguments.verify);
    if (app.got_subcommand("fit")) return run_fit(arguments.fit);
    if (app.got_subcommand("calibrate")) return run_calibrate(arguments.calibrate);
    if (app.got_subcommand("catalog")) write_output("-", catalog_text(arguments.catalog));
    if (app.got_subcommand("schema")) write_output("-", std::string(schema_text(arguments.schema)));
    if (app.got_subcommand("completion")) write_output("-", completion_script(app, arguments.shell));
    return ok;
}

/// CLI11 wants the arguments in reverse.
void parse(CLI::App& app, int count, const char* const* values) {
    std::vector<std::string> arguments = normalised_arguments(count, values);
    std::reverse(arguments.begin(), arguments.end());
    app.parse(std::move(arguments));
    refuse_extras(app);
    if (app.get_subcommands().empty()) throw InputError("foreshard", "", "which command? see foreshard --help");
}

ExitCode run_program(int count, const char* const* values) {
    CLI::App app(std::string("Predicts the step time and memory of training under a parallel plan.\n\n") + example,
                 "foreshard");
    Arguments arguments;
    arguments.run.command = command_line(count, values);
    prepare_command(app);
    app.set_version_flag("--version", "foreshard " FORESHARD_VERSION);
    add_commands(app, arguments);
    try {
        parse(app, count, values);
    } catch (const CLI::Success& request) {
        app.exit(request);  // prints help or version on stdout
        return ok;
    } catch (const CLI::ParseError& error) {
        print_error(error.what());
        return bad_input;
    }
    return dispatch(app, arguments);
}

/// Exceptions become exit codes here and nowhere else.
ExitCode guarded(int count, const char* const* values) {
    try {
        return run_program(count, values);
    } catch (const UnreadableFile& error) {
        print_error(error.what());
        return unreadable_file;
    } catch (const InputError& error) {
        print_error(error.what());
        return bad_input;
    } catch (const std::exception& error) {
        print_error(std::string("internal error: ") + error.what());
        return internal_error;
    }
}

}  // namespace

}  // namespace foreshard::cli

int main(int count, char** values) {
    std::signal(SIGINT, [](int) { std::_Exit(foreshard::cli::interrupted); });
    return foreshard::cli::guarded(count, values);
}
