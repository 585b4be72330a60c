#include "runtime/program/run_options.hpp"

#include <charconv>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "runtime/gpu.hpp"
#include "runtime/supported.hpp"
#include "sim/error.hpp"
#include "sim/spec/catalogue.hpp"

namespace foreshard::runtime {

namespace {

constexpr const char* group = "Running";

/// "message=3" taken apart.
struct NamedNumber {
    std::string name;
    std::int64_t number = 0;
};

NamedNumber parse_named(const std::string& text) {
    const std::size_t equals = text.find('=');
    NamedNumber result{text.substr(0, equals), 0};
    const char* begin = text.data() + (equals == std::string::npos ? text.size() : equals + 1);
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(begin, end, result.number);
    if (error != std::errc() || stop != end || result.number < 0) {
        throw InputError(
            "--inject-fault", "",
            fmt::format("'{}' is not of the form message=K, size=K, memory=RANK, kill=RANK or stop=RANK", text));
    }
    return result;
}

/// First pass of the last step of a rank: when it breaks down.
Giver last_step_of(const Plan& plan, std::int64_t rank) {
    if (rank >= plan.ranks.count()) {
        throw InputError("--inject-fault", "",
                         fmt::format("there is no rank {}; ranks are 0 to {}", rank, plan.ranks.count() - 1));
    }
    const int real = static_cast<int>(rank);
    const TaskRange range = tasks_of(plan.graph, plan.ranks.position(real).pp);
    for (std::int32_t id = range.first; id < range.last; ++id) {
        const Task& task = plan.graph.tasks[static_cast<std::size_t>(id)];
        if (task.kind == TaskKind::pass && task.step == plan.graph.steps - 1) return {real, id};
    }
    return {real, range.first};
}

Giver message_of(const Plan& plan, std::int64_t number) {
    const std::vector<Giver> feeders = gradient_feeders(plan.schedule, plan.graph, plan.ranks);
    if (feeders.empty()) {
        throw InputError("--inject-fault", "", "the plan has no communication outside passes that feeds a gradient");
    }
    return feeders[static_cast<std::size_t>(number) % feeders.size()];
}

template <class Enum>
void add_choice(CLI::App& app, const std::string& flag, const std::map<std::string, Enum>& choices, Enum& target,
                const std::string& help) {
    std::vector<std::string> names;
    names.reserve(choices.size());
    for (const auto& [name, value] : choices) names.push_back(name);
    const auto store = [choices, &target](const std::string& name) { target = choices.at(name); };
    app.add_option_function<std::string>(flag, store, help)->check(CLI::IsMember(names))->group(group);
}

void add_dtype(CLI::App& app, RunOptions& options) {
    const std::map<std::string, std::pair<ElementType, MathMode>> choices = {
        {"fp32", {ElementType::fp32, MathMode::exact}},
        {"fp64", {ElementType::fp64, MathMode::exact}},
        {"tf32", {ElementType::fp32, MathMode::tf32}},
        {"bf16", {ElementType::bf16, MathMode::exact}},
    };
    const auto store = [choices, &options](const std::string& name) {
        std::tie(options.type, options.math) = choices.at(name);
    };
    app.add_option_function<std::string>("--dtype", store,
                                         "Numbers that tensors are made of: fp32 (default), fp64; with --backend cuda "
                                         "also bf16 (states in fp32), and tf32 for matrix products of fp32")
        ->check(CLI::IsMember({"fp32", "fp64", "tf32", "bf16"}))
        ->group(group);
}

void add_calibrate(CLI::App& app, RunOptions& options) {
    const std::map<std::string, Effort> efforts = {{"quick", Effort::quick},
                                                   {"full", Effort::full},
                                                   {"tiny", Effort::tiny},
                                                   {"communication", Effort::communication}};
    app.add_option_function<std::string>(
           "--calibrate", [efforts, &options](const std::string& name) { options.calibrate = efforts.at(name); },
           "Time kernels and communication of the plan's ranks instead of training, and write them to the file of "
           "--json: quick (the plan's sizes), full (and a sweep), communication (no kernels), tiny (to try it out)")
        ->check(CLI::IsMember({"quick", "full", "communication", "tiny"}))
        ->group(group);
}

/// What needs a GPU, asked of the processor.
void check_backend(const RunOptions& options) {
    if (options.backend == Backend::cuda) {
        if (options.comm != Comm::mpi && options.comm != Comm::tcp) return;
        throw InputError("--comm", "",
                         fmt::format("{}: moves data between processors; with --backend cuda take virtual "
                                     "(all ranks on one GPU) or nccl (a GPU each)",
                                     to_string(options.comm)));
    }
    if (options.type == ElementType::bf16 || options.math == MathMode::tf32) {
        throw InputError("--dtype", "",
                         fmt::format("{}: the processor computes in fp32 or fp64; take one of them, or --backend cuda",
                                     options.type == ElementType::bf16 ? "bf16" : "tf32"));
    }
    if (options.cuda_graph) throw InputError("--cuda-graph", "", "needs --backend cuda");
    if (options.comm == Comm::virtual_ranks || options.comm == Comm::nccl) {
        throw InputError("--comm", "",
                         fmt::format("{}: moves data between GPUs; add --backend cuda, or take threads, "
                                     "mpi or tcp",
                                     to_string(options.comm)));
    }
}

void add_launch_flags(CLI::App& app, RunOptions& options) {
    add_choice(app, "--comm",
               {{"threads", Comm::threads},
                {"virtual", Comm::virtual_ranks},
                {"mpi", Comm::mpi},
                {"tcp", Comm::tcp},
                {"nccl", Comm::nccl}},
               options.comm,
               "threads (default): all ranks in this process; virtual: all ranks in this process, on one GPU; mpi: "
               "started by mpirun; tcp: processes that torchrun, srun or a script starts; nccl: the same with a GPU "
               "each");
    LaunchFlags& launch = options.launch;
    app.add_option("--rank", launch.rank, "Rank of this process; by default from torchrun, Open MPI, PMI or Slurm")
        ->group(group);
    app.add_option("--ranks", launch.ranks, "Number of processes; with --rank")->group(group);
    app.add_option("--local-rank", launch.local_rank, "Among the processes of this host; chooses the GPU")
        ->group(group);
    app.add_option("--master", launch.master, "Where rank 0 is met (default MASTER_ADDR:MASTER_PORT)")
        ->group(group)
        ->type_name("HOST:PORT");
    app.add_option("--run-id", launch.run_id, "Tells this job from others at the same place; the same on all ranks")
        ->group(group);
    app.add_option("--rendezvous", options.rendezvous,
                   "How processes of --comm nccl and tcp meet: tcp (default), mpi, or a folder that all hosts share")
        ->group(group)
        ->type_name("tcp|mpi|DIR");
}

/// Communication that the runtime does and the simulator has no op for.
void add_untimed_sums(const Job& job, std::vector<std::string>& assumed) {
    const auto add = [&](const char* what) {
        assumed.push_back(
            fmt::format("optimizer: begins with all-reduces over tensor-parallel ranks of the gradients of "
                        "{}; a simulation of the job does not time them",
                        what));
    };
    if (job.plan.tp == 1) return;
    if (job.plan.sequence_parallel) add("parameters that every rank holds whole (norms, biases, positions)");
    if (job.plan.tp > job.model.kv_heads) add("KV heads that several ranks hold copies of");
}

}  // namespace

std::string_view to_string(Backend backend) {
    return backend == Backend::cuda ? "cuda" : "cpu";
}

std::string_view dtype_name(const RunOptions& options) {
    return options.math == MathMode::tf32 ? "tf32" : to_string(options.type);
}

std::string_view to_string(Comm comm) {
    switch (comm) {
        case Comm::threads:
            return "threads";
        case Comm::virtual_ranks:
            return "virtual";
        case Comm::mpi:
            return "mpi";
        case Comm::tcp:
            return "tcp";
        case Comm::nccl:
            return "nccl";
    }
    return "";
}

void add_run_flags(CLI::App& app, RunOptions& options) {
    add_job_flags(app, options.job);
    add_choice(app, "--backend", {{"cpu", Backend::cpu}, {"cuda", Backend::cuda}}, options.backend,
               "Where it computes: cpu (default), or cuda: an NVIDIA GPU");
    add_launch_flags(app, options);
    app.add_option("--iterations", options.iterations, "Steps to run after the warm-up (default 10, with --check 2)")
        ->check(CLI::Range(1, 1'000'000))
        ->group(group);
    app.add_option("--warmup", options.warmup, "Steps before, which no figure counts (default 2, with --check 0)")
        ->check(CLI::Range(0, 1'000'000))
        ->group(group);
    add_dtype(app, options);
    app.add_flag("--cuda-graph", options.cuda_graph, "Capture every step as a CUDA graph; with --backend cuda")
        ->group(group);
    app.add_flag("--check", options.check, "Compare loss, gradients and weights with the same training on one rank")
        ->group(group);
    app.add_option("--inject-fault", options.inject_fault,
                   "Go wrong on purpose: message=K spoils one number of the K-th communication, size=K halves a "
                   "message, memory=RANK, kill=RANK and stop=RANK break a rank in the last step")
        ->group(group);
    app.add_option("--optimizer", options.optimizer, "adamw (default) or sgd (default with --check)")
        ->check(CLI::IsMember({"adamw", "sgd"}))
        ->group(group);
    app.add_option("--lr", options.learning_rate, "Learning rate (default 0.001, of sgd 0.1)")
        ->check(CLI::PositiveNumber)
        ->group(group);
    app.add_option("--data", options.data, "synthetic (default), or a text file whose bytes are the tokens")
        ->group(group)
        ->type_name("synthetic|FILE");
    add_calibrate(app, options);
    app.add_option("--timeout-s", options.timeout_s, "A rank that waits longer ends the job (default 300)")
        ->check(CLI::PositiveNumber)
        ->group(group);
    app.add_option("--json", options.json_file, "Write the report as JSON to a file, or '-' for standard output")
        ->group("Output")
        ->type_name("FILE");
    app.add_option("--trace", options.trace_file, "Write the median step as a Chrome trace")
        ->group("Output")
        ->type_name("FILE");
    app.add_option("--write-stage-times", options.stage_times_file,
                   "Write measured pass times, for foreshard simulate --stage-times")
        ->group("Output")
        ->type_name("FILE");
}

namespace {

/// The flag's profile, else the job file's where it is one of the runtime's own, else foreshard.
void choose_software(cli::JobFlags& flags, std::vector<std::string>& assumed) {
    if (flags.request.software) return;
    if (flags.job_file) {
        const std::optional<NameOr<SoftwareProfile>> named = load_job_request(*flags.job_file).software;
        const auto* name = named ? std::get_if<std::string>(&*named) : nullptr;
        if (name != nullptr && is_own_profile(*name)) return;
    }
    flags.request.software = std::string("foreshard");
    assumed.emplace_back("software: foreshard, the runtime's own profile");
}

}  // namespace

Job runnable_job(const RunOptions& options, const ClusterSpec& machine) {
    check_backend(options);
    cli::JobFlags flags = options.job;
    std::vector<std::string> assumed;
    if (!flags.request.cluster) {
        flags.request.cluster = machine;
        assumed.emplace_back("cluster: this machine, whose peak rate is nominal (cores x clock x 32)");
    }
    choose_software(flags, assumed);
    if (!flags.request.precision) {
        const auto precision = std::string(to_string(plan_precision(options.type)));
        flags.request.precision = precision;
        assumed.push_back("precision: " + precision + ", which the runtime computes in");
    }
    Job job = job_from(flags);
    add_untimed_sums(job, assumed);
    job.assumptions.insert(job.assumptions.end(), assumed.begin(), assumed.end());
    return job;
}

GpuRequest gpu_request(const RunOptions& options, int gpu) {
    const GraphCapture capture = options.cuda_graph ? GraphCapture::on : GraphCapture::off;
    return {options.type, options.math, capture, gpu};
}

TrainOptions train_options(const RunOptions& options, const Job& job, int gpu) {
    TrainOptions train;
    if (options.backend == Backend::cuda) train.device = gpu_devices(gpu_request(options, gpu));
    train.steps = options.iterations.value_or(options.check ? 2 : 10);
    train.warmup = options.warmup.value_or(options.check ? 0 : 2);
    train.type = options.type;
    train.alternate = !options.check && train.steps >= 2;
    const std::string optimizer = options.optimizer.value_or(options.check ? "sgd" : "adamw");
    train.model.optimizer = optimizer == "sgd" ? OptimizerKind::sgd : OptimizerKind::adamw;
    // Filling freed tensors finds uses outside their lifetime, and costs time that is not the plan's.
    train.model.poison = options.check ? Poison::on : Poison::off;
    train.model.update.learning_rate = options.learning_rate.value_or(optimizer == "sgd" ? 0.1 : 1e-3);
    const auto seed = static_cast<std::uint64_t>(options.job.request.seed.value_or(1));
    train.model.seed = seed;
    train.model.data.seed = seed;
    if (options.data != "synthetic") train.model.data = text_source(options.data, job, seed);
    return train;
}

Fault parse_fault(const std::string& text, const Plan& plan, Comm comm) {
    const NamedNumber named = parse_named(text);
    if (named.name == "message" || named.name == "task") {
        return {Fault::Kind::message, message_of(plan, named.number)};
    }
    if (named.name == "size") {
        const Giver giver = message_of(plan, named.number);
        if (plan.graph.tasks[static_cast<std::size_t>(giver.task)].kind == TaskKind::send) {
            return {Fault::Kind::size, giver};
        }
        throw InputError("--inject-fault", "",
                         fmt::format("communication {} is not a message between two stages, whose size could be wrong",
                                     named.number));
    }
    if (named.name == "memory") return {Fault::Kind::memory, last_step_of(plan, named.number)};
    if (named.name != "kill" && named.name != "stop") {
        throw InputError("--inject-fault", "",
                         fmt::format("unknown fault '{}'; valid: message, size, memory, kill, stop", named.name));
    }
    if (comm == Comm::threads || comm == Comm::virtual_ranks) {
        throw InputError("--inject-fault", "", named.name + " needs a process for every rank: --comm mpi or tcp");
    }
    return {named.name == "kill" ? Fault::Kind::kill : Fault::Kind::stop, last_step_of(plan, named.number)};
}

}  // namespace foreshard::runtime
