#include <algorithm>
#include <cmath>

#include "sim/spec/json_specs.hpp"
#include "traces/measurement_readers.hpp"

/// A report of foreshard-run: every op and message of a real step.
namespace foreshard {

namespace {

constexpr int enough_samples = 5;  ///< for a median

struct Times {
    int samples = 0;
    double us = 0.0;  ///< what a call adds to a step
};

Times read_times(JsonObject& object, const std::string& key) {
    auto times = object.optional_object(key);
    if (!times) return {};
    const auto mean = times->optional<double>("mean", Range::not_negative);
    return {times->required<int>("samples", Range::not_negative), mean.value_or(times->required<double>("median"))};
}

class MeasuredReportReader {
public:
    MeasuredReportReader(const std::string& file, Measurements& into) : file_(file), into_(into) {}

    void read(JsonObject root);

private:
    void read_machine(JsonObject& root, JsonObject& measured);
    void take_op(JsonObject object, int index);
    void add_op(const OpPoint& point, double elements);
    void take_communication(JsonObject object, int index);
    void take_overheads(JsonObject object);
    void add_zeroing(double elements, double time_us);
    void add_waiting();
    void take_leads(JsonObject object);
    void take_step(JsonObject& root, JsonObject& measured);
    Origin origin(int index) const { return {input_index(into_), index}; }

    const std::string& file_;
    Measurements& into_;
    double computing_us_ = 0.0;  ///< of all calls of ops in passes
    double waiting_us_ = 0.0;    ///< of all communication inside passes
};

void MeasuredReportReader::read_machine(JsonObject& root, JsonObject& measured) {
    MeasuredMachine& machine = into_.machine;
    agree_on(file_, "measured.dtype", machine.dtype, measured.required<std::string>("dtype"));
    agree_on(file_, "measured.backend", machine.backend, measured.required<std::string>("backend"));
    agree_on(file_, "measured.comm", machine.comm, measured.required<std::string>("comm"));
    JsonObject job = root.object("job");
    agree_on(file_, "job.software.id", machine.software, job.object("software").required<std::string>("id"));
    if (!into_.cluster) into_.cluster = read_cluster(job.at("cluster"), file_, job.path_of("cluster"));
    if (auto environment = measured.optional_object("environment")) {
        if (machine.processor.empty()) {
            machine.processor = environment->optional<std::string>("processor").value_or("");
            machine.cores = environment->optional<int>("cores").value_or(0);
        }
        if (auto gpu = environment->optional_object("gpu")) {
            agree_on(file_, "measured.environment.gpu", machine.gpu, gpu->optional<std::string>("name").value_or(""));
        }
    }
}

void MeasuredReportReader::add_op(const OpPoint& point, double elements) {
    if (const std::string reason = reason_against_time(point.time_us); !reason.empty()) {
        reject_value(into_, point.origin.row, point.op, point.time_us, reason);
    } else if (point.op == "optimizer") {
        into_.optimizer.push_back({elements, point.time_us, point.computing_ranks, point.origin});
    } else {
        into_.ops.push_back(point);
    }
}

/// Gradients are set to zero once for each update.
void MeasuredReportReader::add_zeroing(double elements, double time_us) {
    for (OptimizerPoint& update : into_.optimizer) {
        if (update.origin.input == input_index(into_) && update.parameters == elements) update.time_us += time_us;
    }
}

void MeasuredReportReader::add_waiting() {
    if (waiting_us_ > 0.0 && computing_us_ > 0.0) into_.rank_wait_ratio.push_back(waiting_us_ / computing_us_);
}

/// Calls that ran alone and calls beside other ranks are points of their own, where there are enough of them.
void MeasuredReportReader::take_op(JsonObject object, int index) {
    OpPoint point;
    point.op = object.required<std::string>("op");
    point.flops = object.optional<double>("flops", Range::not_negative).value_or(0.0);
    point.bytes = object.optional<double>("bytes", Range::not_negative).value_or(0.0);
    point.origin = origin(index);
    const double elements = object.optional<double>("elements", Range::not_negative).value_or(0.0);
    if (!(point.flops > 0.0) && !(point.bytes > 0.0) && !(elements > 0.0)) return;  // computes nothing itself
    const double others = object.optional<double>("others_computing", Range::not_negative).value_or(0.0);
    const Times all = read_times(object, "time_us");
    if (point.op == "zero_gradients") return add_zeroing(elements, all.us);
    if (point.op != "optimizer") computing_us_ += all.us * all.samples;
    const Times alone = read_times(object, "alone_time_us");
    const Times beside = read_times(object, "beside_time_us");
    point.calls = all.samples;
    if (alone.samples < enough_samples && beside.samples < enough_samples) {
        point.time_us = all.us;
        point.computing_ranks = 1.0 + others;
        return add_op(point, elements);
    }
    if (alone.samples >= enough_samples) {
        point.time_us = alone.us;
        point.calls = alone.samples;
        add_op(point, elements);
    }
    if (beside.samples >= enough_samples) {
        point.time_us = beside.us;
        point.calls = beside.samples;
        point.computing_ranks = std::max(2.0, 1.0 + std::round(others));
        add_op(point, elements);
    }
}

void MeasuredReportReader::take_communication(JsonObject object, int index) {
    static const std::vector<std::pair<std::string_view, CollectiveKind>> collective_kinds = {
        {to_string(CollectiveKind::all_reduce), CollectiveKind::all_reduce},
        {to_string(CollectiveKind::all_gather), CollectiveKind::all_gather},
        {to_string(CollectiveKind::reduce_scatter), CollectiveKind::reduce_scatter},
        {to_string(CollectiveKind::all_to_all), CollectiveKind::all_to_all},
        {to_string(CollectiveKind::send_recv), CollectiveKind::send_recv},
        {to_string(CollectiveKind::broadcast), CollectiveKind::broadcast},
        {to_string(CollectiveKind::reduce), CollectiveKind::reduce}};
    CommPoint point;
    point.kind = object.one_of("kind", collective_kinds);
    point.ranks = object.required<int>("ranks", Range::positive);
    point.bytes = object.required<double>("message_bytes", Range::not_negative);
    point.time_us = read_times(object, "transfer_us").us;
    point.origin = origin(index);
    point.in_step = true;
    if (object.optional<bool>("in_pass").value_or(false)) {
        const Times waiting = read_times(object, "waiting_us");
        waiting_us_ += waiting.us * waiting.samples;
    }
    std::string reason = reason_against_time(point.time_us);
    if (!(point.bytes > 0.0) || point.ranks < 2) reason = "no bytes, or one rank";
    if (reason.empty()) return into_.communication.push_back(point);
    reject_value(into_, index, std::string(to_string(point.kind)), point.time_us, reason);
}

void MeasuredReportReader::take_overheads(JsonObject object) {
    const auto us = [&](const char* key) { return read_times(object, key); };
    const Times pass = us("pass_us");
    if (pass.samples > 0) into_.pass_overhead_us.push_back(pass.us + us("task_us").us);
    const Times wakeup = us("wakeup_us");
    if (wakeup.samples > 0) into_.wakeup_us.push_back(wakeup.us);
    const Times start = us("start_us");
    if (start.samples > 0) into_.step_overhead_us.push_back(start.us + us("end_us").us);
}

void MeasuredReportReader::take_leads(JsonObject object) {
    for (const char* key : {"pass", "step"}) {
        auto lead = object.optional_object(key);
        if (!lead) continue;
        into_.rank_leads.push_back({lead->required<double>("after_us", Range::positive),
                                    lead->required<double>("ratio", Range::not_negative), key == std::string("step")});
    }
}

/// The plan by itself, as a job file: what it was predicted with does not belong to it.
void MeasuredReportReader::take_step(JsonObject& root, JsonObject& measured) {
    auto times = measured.optional_object("step_time_ms");
    Json job = root.at("job");
    if (!times || !job.contains("schema") || !job.contains("model")) return;
    job.erase("calibration");
    MeasuredStep point;
    point.plan = read_job_request(job, file_);
    job.erase("cluster");  // its nominal peak follows the clock
    point.id = job.dump();
    point.comm = measured.required<std::string>("comm");
    point.step_ms = times->required<double>("median", Range::positive);
    into_.steps.push_back(std::move(point));
}

void MeasuredReportReader::read(JsonObject root) {
    if (!root.has("measured")) root.fail("measured", "is missing: a simulated report holds no measured times");
    JsonObject measured = root.object("measured");
    if (!measured.has("ops")) measured.fail("ops", "is missing: the run did not time its ops");
    read_machine(root, measured);
    int index = 0;
    for (const JsonObject& entry : measured.objects("ops")) take_op(entry, index++);
    into_.inputs.back().rows = index;
    if (measured.has("communication")) {
        index = 0;
        for (const JsonObject& entry : measured.objects("communication")) take_communication(entry, index++);
        into_.inputs.back().rows += index;
    }
    add_waiting();
    if (auto overheads = measured.optional_object("overheads")) take_overheads(*overheads);
    if (auto leads = measured.optional_object("rank_lead")) take_leads(*leads);
    take_step(root, measured);
}

}  // namespace

void read_measured_report(const Json& document, const std::string& file, Measurements& into) {
    MeasuredReportReader(file, into).read(JsonObject(document, file));
}

}  // namespace foreshard
