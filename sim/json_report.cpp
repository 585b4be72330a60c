#include "sim/json_report.hpp"

#include <cmath>

#include "sim/result/json_summary.hpp"
#include "sim/sim.hpp"
#include "sim/spec/json_specs.hpp"

namespace foreshard {

namespace {

OrderedJson provenance_json(const Evaluation& e, const Provenance& provenance) {
    OrderedJson inputs = OrderedJson::array();
    for (const InputFile& input : provenance.inputs) inputs.push_back({{"file", input.file}, {"sha256", input.sha256}});
    OrderedJson json = {
        {"tool", "foreshard"}, {"tool_version", version()}, {"command", provenance.command}, {"inputs", inputs}};
    if (e.job.calibration) json["calibration"] = e.job.calibration->id;
    json["assumptions"] = e.report.assumptions;
    json["warnings"] = e.report.warnings;
    return json;
}

OrderedJson account_json(const RankAccount& account) {
    OrderedJson json = OrderedJson::object();
    for (int i = 0; i < account_count; ++i) {
        json[std::string(to_string(static_cast<Account>(i)))] = to_milliseconds(account[static_cast<std::size_t>(i)]);
    }
    return json;
}

OrderedJson parts_json(const std::vector<NamedBytes>& parts) {
    OrderedJson json = OrderedJson::array();
    for (const NamedBytes& part : parts) json.push_back({{"name", part.name}, {"bytes", part.bytes}});
    return json;
}

OrderedJson memory_json(const Evaluation& e, const RankMemory& m) {
    OrderedJson live = OrderedJson::array();
    for (const LiveSet& set : m.live) {
        live.push_back({{"stage", set.stage}, {"microbatches", set.microbatches}, {"bytes", set.bytes}});
    }
    OrderedJson json = {{"weights", m.states.weights},
                        {"gradients", m.states.gradients},
                        {"optimizer", m.states.optimizer},
                        {"moments", m.states.moments},
                        {"activations", m.activations},
                        {"buffers", m.buffers},
                        {"gathered", m.gathered},
                        {"runtime", m.runtime},
                        {"peak", m.peak},
                        {"reserved", m.reserved},
                        {"device", m.device}};
    if (m.offloaded > 0) json["offloaded"] = m.offloaded;
    json["peak_time_ms"] = to_milliseconds(m.peak_time);
    if (m.peak_task >= 0) json["peak_task"] = task_name(e.graph, m.peak_task);
    json["live_at_peak"] = live;
    return json;
}

OrderedJson ranks_json(const Evaluation& e) {
    OrderedJson ranks = OrderedJson::array();
    for (const RankReport& rank : e.report.ranks) {
        OrderedJson memory = memory_json(e, rank.memory);
        OrderedJson peak = {{"time_ms", memory["peak_time_ms"]}, {"live", memory["live_at_peak"]}};
        if (memory.contains("peak_task")) peak["task"] = memory["peak_task"];
        for (const char* key : {"peak_time_ms", "peak_task", "live_at_peak"}) memory.erase(key);
        OrderedJson entry = {{"pp_rank", rank.pp_rank}};
        if (rank.replica >= 0) entry["dp_rank"] = rank.replica;
        entry.update({{"ranks_represented", rank.ranks_represented},
                      {"stages", rank.stages},
                      {"layers", rank.layers},
                      {"time_ms", account_json(rank.account)},
                      {"memory_bytes", memory},
                      {"memory_peak", peak}});
        ranks.push_back(std::move(entry));
    }
    return ranks;
}

std::string segment_kind(const PathSegment& s) {
    static constexpr const char* passes[] = {"forward",     "backward",      "input_grad",
                                             "weight_grad", "vocab_forward", "vocab_backward"};
    switch (s.kind) {
        case TaskKind::pass:
            return passes[static_cast<int>(s.pass)];
        case TaskKind::send:
        case TaskKind::recv:
            return s.pass == Pass::forward ? "send_activation" : "send_gradient";
        case TaskKind::grad_reduce:
            return "grad_reduce";
        case TaskKind::embedding_reduce:
            return "embedding_reduce";
        case TaskKind::optimizer:
            return "optimizer";
        case TaskKind::param_gather:
            return "param_gather";
        case TaskKind::vocabulary:
            return "vocabulary_collective";
        case TaskKind::offload:
            return "offload";
        case TaskKind::reload:
            return "reload";
        case TaskKind::step_end:
            return "step_end";
    }
    return "";
}

OrderedJson path_json(const TaskGraph& graph, const std::vector<PathSegment>& path) {
    OrderedJson json = OrderedJson::array();
    for (const PathSegment& s : path) {
        const RankPlace& place = graph.places[static_cast<std::size_t>(s.rank)];
        OrderedJson entry = {{"pp_rank", place.pp}};
        if (place.replica >= 0) entry["dp_rank"] = place.replica;
        entry["kind"] = segment_kind(s);
        if (s.stage >= 0) entry["stage"] = s.stage;
        if (s.first_microbatch >= 0) {
            entry["first_microbatch"] = s.first_microbatch;
            entry["last_microbatch"] = s.last_microbatch;
        }
        entry["tasks"] = s.tasks;
        entry["start_ms"] = to_milliseconds(s.start);
        entry["end_ms"] = to_milliseconds(s.end);
        json.push_back(entry);
    }
    return json;
}

OrderedJson communication_json(const std::vector<CommReport>& all) {
    OrderedJson json = OrderedJson::array();
    for (const CommReport& c : all) {
        OrderedJson entry = {{"axis", c.axis}, {"collective", c.collective}};
        if (c.from_rank >= 0) {
            entry["from_pp_rank"] = c.from_rank;
            entry["to_pp_rank"] = c.to_rank;
        }
        entry["group_size"] = c.group_size;
        entry["domains"] = c.domains;
        entry["message_bytes"] = std::llround(c.message_bytes);
        entry["time_us"] = c.time_us;
        entry["limit"] = c.limit;
        json.push_back(entry);
    }
    return json;
}

OrderedJson balance_json(const Balance& balance) {
    return {{"layers_per_stage", balance.layers},
            {"even_layers_per_stage", balance.even_layers},
            {"even_step_time_ms", balance.even_step_time_ms},
            {"gain_ms", balance.gain_ms}};
}

OrderedJson estimate_json(const EstimateReport& estimate) {
    return {{"step_time_ms", estimate.step_time_ms},
            {"exact", estimate.exact},
            {"form", estimate.form},
            {"gap_ratio", estimate.gap_ratio}};
}

}  // namespace

std::string report_json(const Evaluation& e, const Provenance& provenance) {
    OrderedJson json = {{"schema", "foreshard.report"}, {"schema_version", "1.0"}};
    json["provenance"] = provenance_json(e, provenance);
    json["job"] = to_json(e.job);
    json["summary"] = summary_json(e.report.summary);
    json["ranks"] = ranks_json(e);
    json["critical_path"] = path_json(e.graph, e.report.critical_path);
    json["communication"] = communication_json(e.report.communication);
    if (e.report.estimate) json["estimate"] = estimate_json(*e.report.estimate);
    if (e.report.balance) json["balance"] = balance_json(*e.report.balance);
    json["runtime_memory_parts"] = parts_json(e.report.runtime);
    json["workspace_memory_parts"] = parts_json(e.report.workspaces);
    return json.dump(2) + "\n";
}

}  // namespace foreshard
