#include <array>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>

#include "sim/error.hpp"
#include "sim/spec/catalogue.hpp"
#include "sim/spec/data_parallel.hpp"
#include "sim/spec/job_request_fields.hpp"
#include "sim/spec/json_specs.hpp"

namespace foreshard {

namespace {

struct TimeUnit {
    std::string_view name;
    double picoseconds;
};
constexpr std::array<TimeUnit, 5> time_units = {{{"ms", 1e9}, {"us", 1e6}, {"ns", 1e3}, {"ps", 1.0}, {"s", 1e12}}};

std::vector<std::pair<std::string_view, double>> unit_names() {
    std::vector<std::pair<std::string_view, double>> names;
    names.reserve(time_units.size());
    for (const TimeUnit& unit : time_units) names.emplace_back(unit.name, unit.picoseconds);
    return names;
}

std::optional<Picoseconds> read_time(JsonObject& object, const std::string& key, double unit) {
    // 1e17 ps is more than a day: sums over many micro-batches stay far from the end of the range.
    constexpr double limit = 1e17;
    const auto value = object.optional<double>(key, Range::not_negative);
    if (!value) return std::nullopt;
    if (*value * unit > limit) object.fail(key, fmt::format("{} is more than a day", *value));
    return std::llround(*value * unit);
}

StageTimes::Stage read_stage(JsonObject object, double unit) {
    StageTimes::Stage stage;
    const auto forward = read_time(object, "f", unit);
    const auto input_grad = read_time(object, "i", unit);
    const auto weight_grad = read_time(object, "w", unit);
    const auto backward = read_time(object, "b", unit);
    if (!forward) object.fail("f", "the time of the forward pass is missing");
    if (backward && (input_grad || weight_grad)) object.fail("b", "give b (the whole backward pass), or i and w");
    if (!backward && !input_grad) object.fail("i", "the time of the backward pass is missing: give i and w, or b");
    stage.forward = *forward;
    stage.input_grad = backward ? *backward : *input_grad;
    stage.weight_grad = weight_grad.value_or(0);
    object.finish();
    return stage;
}

/// A file named in a job file lies beside it.
std::string beside(const std::string& name, const std::string& job_file) {
    const std::filesystem::path path(name);
    const std::filesystem::path folder = std::filesystem::path(job_file).parent_path();
    return path.is_absolute() || folder.empty() ? name : (folder / path).string();
}

std::string name_or_file(const std::string& name, const std::string& job_file) {
    return is_file_name(name) ? beside(name, job_file) : name;
}

template <class Spec, class Read>
std::optional<NameOr<Spec>> read_name_or(JsonObject& root, const std::string& key, Read read) {
    if (!root.has(key)) {
        root.ignore(key);
        return std::nullopt;
    }
    if (root.holds_text(key)) return name_or_file(root.required<std::string>(key), root.source());
    return Spec(read(root.at(key), root.source(), root.path_of(key)));
}

LoadedModel read_inline_model(const Json& value, const std::string& source, const std::string& path) {
    return {read_model(value, source, path), {}};
}

SharedCalibration read_inline_calibration(const Json& value, const std::string& source, const std::string& path) {
    return std::make_shared<const Calibration>(read_calibration(value, source, path));
}

ScheduleFile read_inline_schedule(const Json& value, const std::string& source, const std::string& path) {
    JsonObject object(value, source, path);
    ScheduleFile file{.name = object.required<std::string>("name"), .text = object.required<std::string>("text")};
    object.finish();
    return file;
}

void read_files(JsonObject& root, JobRequest& request) {
    if (root.holds_text("stage_times")) {
        request.stage_times = beside(root.required<std::string>("stage_times"), root.source());
    } else {
        request.stage_times = read_name_or<StageTimes>(root, "stage_times", read_stage_times);
    }
    if (root.holds_text("schedule_file")) {
        request.schedule_file = beside(root.required<std::string>("schedule_file"), root.source());
    } else {
        request.schedule_file = read_name_or<ScheduleFile>(root, "schedule_file", read_inline_schedule);
    }
}

/// Reads one optional member of a JobRequest; the member's type says the JSON type.
class FieldReader {
public:
    FieldReader(JsonObject& object, JobRequest& request) : object_(object), request_(request) {}

    template <class T>
    void operator()(const char* name, std::optional<T> JobRequest::*member) const {
        request_.*member = object_.optional<T>(name);
    }

private:
    JsonObject& object_;
    JobRequest& request_;
};

}  // namespace

StageTimes read_stage_times(const Json& value, const std::string& source, const std::string& path) {
    JsonObject root(value, source, path);
    root.ignore("schema");
    root.ignore("schema_version");
    const double unit = root.one_of("unit", unit_names());
    StageTimes times;
    for (const JsonObject& stage : root.objects("stages")) times.stages.push_back(read_stage(stage, unit));
    if (times.stages.empty()) root.fail("stages", "there must be at least one stage");
    times.hop = read_time(root, "hop", unit).value_or(0);
    times.vocab_forward = read_time(root, "s", unit).value_or(0);
    times.vocab_backward = read_time(root, "t", unit).value_or(0);
    root.finish();
    return times;
}

JobRequest read_job_request(const Json& value, const std::string& source) {
    JsonObject root = open_document(value, "foreshard.job", source);
    JobRequest request;
    root.optional<std::string>("id");
    root.optional<std::string>("name");
    root.ignore("sources");
    request.model = read_name_or<LoadedModel>(root, "model", read_inline_model);
    request.cluster = read_name_or<ClusterSpec>(root, "cluster", read_cluster);
    request.software = read_name_or<SoftwareProfile>(root, "software", read_software);
    request.gpus = root.optional<int>("gpus");
    request.calibration = read_name_or<SharedCalibration>(root, "calibration", read_inline_calibration);
    read_files(root, request);
    if (auto batch = root.optional_object("batch")) {
        visit_batch_fields(FieldReader(*batch, request));
        batch->finish();
    }
    if (auto plan = root.optional_object("plan")) {
        visit_plan_fields(FieldReader(*plan, request));
        plan->finish();
    }
    if (auto changes = root.optional_object("model_changes")) {
        visit_model_fields(FieldReader(*changes, request));
        changes->finish();
    }
    root.finish();
    return request;
}

OrderedJson to_json(const StageTimes& times) {
    OrderedJson stages = OrderedJson::array();
    for (const StageTimes::Stage& stage : times.stages) {
        stages.push_back({{"f", stage.forward}, {"i", stage.input_grad}, {"w", stage.weight_grad}});
    }
    OrderedJson out = {{"unit", "ps"}, {"stages", stages}, {"hop", times.hop}};
    if (times.vocab_forward > 0) out["s"] = times.vocab_forward;
    if (times.vocab_backward > 0) out["t"] = times.vocab_backward;
    return out;
}

/// What is left out changes nothing.
static void add_variability(const ParallelPlan& plan, OrderedJson& out) {
    const Variability& v = plan.variability;
    if (plan.contention != Contention::off) out["contention"] = to_string(plan.contention);
    if (!v.speed.empty()) out["speed_factor"] = to_string(v.speed);
    if (!v.links.empty()) out["link_factor"] = to_string(v.links);
    if (v.jitter_pct > 0.0) out["jitter_pct"] = v.jitter_pct;
    if (v.seed != 0) out["seed"] = v.seed;
    if (v.runs > 1) out["runs"] = v.runs;
    if (plan.no_symmetry) out["no_symmetry"] = true;
    if (plan.tp_comm_overlap) out["tp_comm_overlap"] = true;
}

namespace {

void write_data_parallel(const ParallelPlan& plan, OrderedJson& out) {
    out["data_parallel"] = to_string(plan.data_parallel);
    if (plan.bucket_mb > 0.0) out["bucket_mb"] = plan.bucket_mb;
    if (plan.first_bucket_mb > 0.0) out["first_bucket_mb"] = plan.first_bucket_mb;
    if (shards_parameters(plan) || is_fsdp(plan.data_parallel)) {
        out["reshard_after_forward"] = plan.reshard_after_forward;
        out["prefetch_layers"] = plan.prefetch_layers;
    }
    if (plan.fsdp_shard_size > 0) out["fsdp_shard_size"] = plan.fsdp_shard_size;
    if (plan.zero_shard_size > 0) out["zero_shard_size"] = plan.zero_shard_size;
    out["sync_every_microbatch"] = plan.sync_every_microbatch;
    if (plan.fusion_threshold_mb > 0.0) out["fusion_threshold_mb"] = plan.fusion_threshold_mb;
    if (plan.cycle_time_ms > 0.0) out["cycle_time_ms"] = plan.cycle_time_ms;
    if (plan.data_parallel == DataParallelKind::local_sgd) {
        out["local_steps"] = plan.local_steps;
        out["local_group_size"] = plan.local_group_size;
    }
    if (plan.softsync > 0) out["softsync"] = plan.softsync;
    if (uses_parameter_server(plan)) out["parameter_servers"] = plan.parameter_servers;
    out["offload_optimizer"] = plan.offload_optimizer;
    if (plan.offload_parameters) out["offload_parameters"] = true;
    if (plan.offload_activation_layers > 0) out["offload_activation_layers"] = plan.offload_activation_layers;
}

}  // namespace

OrderedJson to_json(const ParallelPlan& plan) {
    OrderedJson out = OrderedJson::object();
    if (plan.dp > 0) out["dp"] = plan.dp;
    out.update({{"tp", plan.tp}, {"pp", plan.pp}, {"vpp", plan.vpp}, {"cp", plan.cp}, {"ep", plan.ep}});
    if (plan.etp > 0) out["etp"] = plan.etp;
    out["sp"] = plan.sequence_parallel;
    out["schedule"] = to_string(plan.schedule);
    if (plan.placement) out["placement"] = to_string(*plan.placement);
    if (plan.microbatch_group_size > 0) out["microbatch_group_size"] = plan.microbatch_group_size;
    if (!plan.layout.empty()) out["layout"] = plan.layout;
    if (plan.first_stage_layers) out["decoder_first_pipeline_num_layers"] = *plan.first_stage_layers;
    if (plan.last_stage_layers) out["decoder_last_pipeline_num_layers"] = *plan.last_stage_layers;
    out["account_for_embedding_in_pipeline_split"] = plan.embedding_in_split;
    out["account_for_loss_in_pipeline_split"] = plan.loss_in_split;
    if (plan.balance) out["balance"] = true;
    if (plan.overlap_p2p) out["overlap_p2p"] = *plan.overlap_p2p;
    write_data_parallel(plan, out);
    out["overlap_grad_reduce"] = plan.overlap_grad_reduce;
    out["overlap_param_gather"] = plan.overlap_param_gather;
    if (plan.skew_steps > 0) out["skew_steps"] = plan.skew_steps;
    out["recompute"] = to_string(plan.recompute);
    if (plan.recompute == Recompute::full) {
        out["recompute_method"] = plan.recompute_method == RecomputeMethod::uniform ? "uniform" : "block";
        out["recompute_num_layers"] = plan.recompute_num_layers;
    }
    out["zero"] = plan.zero_stage;
    out["use_distributed_optimizer"] = plan.distributed_optimizer;
    out["precision"] = to_string(plan.precision);
    out["order"] = plan.order;
    add_variability(plan, out);
    return out;
}

OrderedJson to_json(const Job& job) {
    OrderedJson out = {{"schema", "foreshard.job"},
                       {"schema_version", "1.0"},
                       {"model", to_json(job.model)},
                       {"cluster", to_json(job.cluster)},
                       {"gpus", job.gpus},
                       {"software", to_json(job.software)},
                       {"batch",
                        {{"global_batch_size", job.global_batch},
                         {"micro_batch_size", job.micro_batch},
                         {"seq_length", job.seq_length}}},
                       {"plan", to_json(job.plan)}};
    if (job.stage_times) out["stage_times"] = to_json(*job.stage_times);
    if (job.schedule_file) {
        out["schedule_file"] = {{"name", job.schedule_file->name}, {"text", job.schedule_file->text}};
    }
    if (job.calibration) out["calibration"] = to_json(*job.calibration);
    return out;
}

}  // namespace foreshard
