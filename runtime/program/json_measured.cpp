#include "runtime/program/json_measured.hpp"

#include "runtime/program/json_environment.hpp"
#include "runtime/program/json_op_measure.hpp"
#include "sim/spec/json_specs.hpp"

namespace foreshard::runtime {

namespace {

OrderedJson spread_json(const Spread& spread) {
    return {{"count", spread.count}, {"median", spread.median_ms}, {"p10", spread.p10_ms},
            {"p90", spread.p90_ms},  {"min", spread.min_ms},       {"max", spread.max_ms}};
}

OrderedJson memory_json(const RankMeasure& rank) {
    OrderedJson json = OrderedJson::object();
    for (std::size_t kind = 0; kind < memory_kinds; ++kind) {
        json[std::string(to_string(static_cast<MemoryKind>(kind)))] = rank.high_water.bytes[kind];
    }
    json["total"] = rank.high_water.total();
    return json;
}

OrderedJson ranks_json(const Measurement& measurement) {
    OrderedJson ranks = OrderedJson::array();
    for (const RankMeasure& rank : measurement.ranks) {
        OrderedJson entry = {{"rank", rank.rank},
                             {"pp_rank", rank.position.pp},
                             {"dp_rank", rank.position.dp},
                             {"tp_rank", rank.position.tp},
                             {"busy_ms", rank.busy_ms},
                             {"waiting_ms", rank.waiting_ms},
                             {"transfer_ms", rank.transfer_ms},
                             {"memory_high_water_bytes", memory_json(rank)}};
        entry["arena"] = {
            {"reserved_bytes", rank.pool.reserved}, {"used_bytes", rank.pool.most}, {"ranges", rank.pool.ranges}};
        entry["clock_offset_us"] = static_cast<double>(rank.clock.ahead.count()) / 1e3;
        entry["clock_residual_us"] = static_cast<double>(rank.clock.residual.count()) / 1e3;
        ranks.push_back(std::move(entry));
    }
    return ranks;
}

OrderedJson tasks_json(const Plan& plan, const Measurement& measurement) {
    OrderedJson tasks = OrderedJson::array();
    for (const TaskMeasure& task : measurement.tasks) {
        const Stream& stream = plan.graph.stream_of(task.task);
        OrderedJson entry = {{"pp_rank", plan.graph.places[static_cast<std::size_t>(stream.rank)].pp},
                             {"stream", to_string(stream.lane)},
                             {"task", task_name(plan.graph, task.task)},
                             {"step", plan.graph.tasks[static_cast<std::size_t>(task.task)].step},
                             {"median_ms", task.duration.median_ms},
                             {"p10_ms", task.duration.p10_ms},
                             {"p90_ms", task.duration.p90_ms}};
        if (plan.graph.tasks[static_cast<std::size_t>(task.task)].comm >= 0) entry["waiting_ms"] = task.wait_ms;
        tasks.push_back(std::move(entry));
    }
    return tasks;
}

/// Steps as far as they are known.
OrderedJson steps_json(const RunReport& run) {
    OrderedJson steps = OrderedJson::array();
    const RankRecord& first = run.outcome.ranks.front();
    for (std::size_t i = 0; i < first.runs.size(); ++i) {
        const RunRecord& record = first.runs[i];
        const double own = std::chrono::duration<double, std::milli>(record.end - record.start).count();
        const double time = run.measurement != nullptr ? run.measurement->steps[i].time_ms : own / run.plan.graph.steps;
        for (const double loss : record.losses) {
            steps.push_back({{"loss", loss},
                             {"time_ms", time},
                             {"warmup", record.warmup},
                             {"instrumented", !record.spans.spans.empty()}});
        }
    }
    return steps;
}

OrderedJson run_json(const RunReport& run) {
    return {{"backend", to_string(run.options.backend)},
            {"comm", to_string(run.options.comm)},
            {"dtype", dtype_name(run.options)},
            {"optimizer", run.train.model.optimizer == OptimizerKind::sgd ? "sgd" : "adamw"},
            {"learning_rate", run.train.model.update.learning_rate},
            {"data", run.options.data},
            {"seed", run.train.model.seed},
            {"steps_per_run", run.plan.graph.steps},
            {"steps", steps_json(run)}};
}

OrderedJson measured_json(const RunReport& run) {
    const Measurement& measurement = *run.measurement;
    OrderedJson json = run_json(run);
    json["step_time_ms"] = spread_json(measurement.step);
    if (measurement.plain.count > 0) {
        json["uninstrumented_step_time_ms"] = spread_json(measurement.plain);
        json["instrumented_over_uninstrumented_ratio"] = measurement.step.median_ms / measurement.plain.median_ms;
    }
    json["ranks"] = ranks_json(measurement);
    json["tasks"] = tasks_json(run.plan, measurement);
    add_op_measurement(measure_ops(run.plan, run.outcome), json);
    json["stage_times"] = to_json(stage_times_of(run.plan, run.outcome));
    json["environment"] = environment_json(run.environment);
    return json;
}

OrderedJson check_json(const Comparison& comparison) {
    return {{"passed", comparison.passed()},
            {"tensors", comparison.tensors},
            {"max_relative_error", comparison.worst.relative},
            {"worst_tensor", comparison.worst.tensor},
            {"loss", comparison.loss},
            {"reference_loss", comparison.reference_loss},
            {"loss_relative_error", comparison.loss_error},
            {"tolerance", comparison.tolerance},
            {"uncovered_tensors", comparison.uncovered}};
}

}  // namespace

std::string with_measured(const std::string& report, const RunReport& run) {
    OrderedJson json = OrderedJson::parse(report);
    json["measured"] = measured_json(run);
    if (run.outcome.comparison) json["check"] = check_json(*run.outcome.comparison);
    return json.dump(2) + "\n";
}

std::string failure_json(const RunReport& run) {
    OrderedJson json = {{"schema", "foreshard.failed-run"}, {"schema_version", "1.0"}};
    json["command"] = run.options.command;
    json["failure"] = {{"rank", run.outcome.failure->rank}, {"reason", run.outcome.failure->reason}};
    json["run"] = run_json(run);
    json["environment"] = environment_json(run.environment);
    return json.dump(2) + "\n";
}

std::string stage_times_json(const StageTimes& times) {
    return to_json(times).dump(2) + "\n";
}

}  // namespace foreshard::runtime
