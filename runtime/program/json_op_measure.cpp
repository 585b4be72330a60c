#include "runtime/program/json_op_measure.hpp"

namespace foreshard::runtime {

namespace {

OrderedJson time_json(const Spread& spread) {
    return {{"samples", spread.count},    {"median", spread.median_ms * 1e3}, {"mean", spread.mean_ms * 1e3},
            {"min", spread.min_ms * 1e3}, {"p10", spread.p10_ms * 1e3},       {"p90", spread.p90_ms * 1e3}};
}

void add_time(const char* key, const Spread& spread, OrderedJson& json) {
    if (spread.count > 0) json[key] = time_json(spread);
}

OrderedJson op_json(const OpMeasure& op) {
    OrderedJson json = {{"op", op.op}, {"pass", op.pass}};
    if (op.m > 0) {
        json["m"] = op.m;
        json["n"] = op.n;
        json["k"] = op.k;
        json["batch"] = op.batch;
    }
    if (op.flops > 0.0) json["flops"] = op.flops;
    if (op.bytes > 0.0) json["bytes"] = op.bytes;
    if (op.elements > 0) json["elements"] = op.elements;
    if (op.communicates) json["beside_call"] = true;
    json["calls"] = op.time.count;
    json["others_computing"] = op.others_computing;
    json["time_us"] = time_json(op.time);
    add_time("alone_time_us", op.alone, json);
    add_time("beside_time_us", op.beside, json);
    return json;
}

OrderedJson comm_json(const CommMeasure& comm) {
    return {{"axis", to_string(comm.axis)},
            {"kind", to_string(comm.kind)},
            {"ranks", comm.ranks},
            {"message_bytes", comm.message_bytes},
            {"in_pass", comm.in_pass},
            {"calls", comm.transfer.count},
            {"transfer_us", time_json(comm.transfer)},
            {"waiting_us", time_json(comm.waiting)}};
}

void add_lead(const char* key, const std::optional<RankLead>& lead, OrderedJson& json) {
    if (lead) json[key] = {{"after_us", lead->after_ms * 1e3}, {"ratio", lead->ratio}};
}

}  // namespace

void add_op_measurement(const OpMeasurement& measurement, OrderedJson& measured) {
    measured["op_steps"] = measurement.steps;
    OrderedJson ops = OrderedJson::array();
    for (const OpMeasure& op : measurement.ops) ops.push_back(op_json(op));
    OrderedJson comms = OrderedJson::array();
    for (const CommMeasure& comm : measurement.communication) comms.push_back(comm_json(comm));
    measured["ops"] = std::move(ops);
    measured["communication"] = std::move(comms);
    OrderedJson overheads = OrderedJson::object();
    add_time("pass_us", measurement.overheads.pass, overheads);
    add_time("task_us", measurement.overheads.task, overheads);
    add_time("wakeup_us", measurement.overheads.wakeup, overheads);
    add_time("start_us", measurement.overheads.start, overheads);
    add_time("end_us", measurement.overheads.end, overheads);
    measured["overheads"] = std::move(overheads);
    OrderedJson leads = OrderedJson::object();
    add_lead("pass", measurement.leads.pass, leads);
    add_lead("step", measurement.leads.step, leads);
    if (!leads.empty()) measured["rank_lead"] = std::move(leads);
}

}  // namespace foreshard::runtime
