#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <exception>

#include "cli/messages.hpp"
#include "cli/provenance.hpp"
#include "runtime/program/run_command.hpp"
#include "sim/error.hpp"

namespace foreshard::runtime {

namespace {

constexpr const char* description =
    "Trains a model for real under a parallel plan, and measures it.\n\n"
    "Examples:\n"
    "  foreshard-run --model gpt-tiny --pp 4 --gbs 8 --check --dtype fp64\n"
    "  foreshard-run --model llama-tiny --tp 2 --pp 2 --gbs 16 --iterations 20 --json run.json --trace run.trace.json\n"
    "  mpirun -np 2 foreshard-run --comm mpi --model gpt-tiny --pp 2 --gbs 8\n"
    "  srun foreshard-run --backend cuda --comm nccl --model megatron-1.7b --tp 8 --gbs 64\n";

cli::ExitCode run_program(int count, const char* const* values) {
    CLI::App app(description, "foreshard-run");
    RunOptions options;
    options.command = "foreshard-run" + cli::command_line(count, values).substr(std::string("foreshard").size());
    cli::prepare_command(app);
    app.set_version_flag("--version", "foreshard-run " FORESHARD_VERSION);
    add_run_flags(app, options);
    try {
        std::vector<std::string> arguments = cli::normalised_arguments(count, values);
        std::reverse(arguments.begin(), arguments.end());
        app.parse(std::move(arguments));
        cli::refuse_extras(app);
    } catch (const CLI::Success& request) {
        app.exit(request);  // prints help or version on stdout
        return cli::ok;
    } catch (const CLI::ParseError& error) {
        cli::print_error(error.what());
        return cli::bad_input;
    }
    return run_job(options);
}

cli::ExitCode guarded(int count, const char* const* values) {
    try {
        return run_program(count, values);
    } catch (const UnreadableFile& error) {
        cli::print_error(error.what());
        return cli::unreadable_file;
    } catch (const InputError& error) {
        cli::print_error(error.what());
        return cli::bad_input;
    } catch (const TransportError& error) {  // the job's processes did not find each other
        cli::print_error(error.what());
        return cli::internal_error;
    } catch (const std::exception& error) {
        cli::print_error(std::string("internal error: ") + error.what());
        return cli::internal_error;
    }
}

}  // namespace

}  // namespace foreshard::runtime

int main(int count, char** values) {
    std::signal(SIGINT, [](int) { std::_Exit(foreshard::cli::interrupted); });
    return foreshard::runtime::guarded(count, values);
}
