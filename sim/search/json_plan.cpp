#include "sim/search/json_plan.hpp"

#include "sim/result/json_summary.hpp"
#include "sim/search/json_objective.hpp"
#include "sim/spec/job_request_fields.hpp"

namespace foreshard {

namespace {

/// Adds the fields that a visitor names and the request says.
auto field_writer(const JobRequest& request, OrderedJson& json) {
    return [&](const char* name, auto member) {
        if (request.*member) json[name] = *(request.*member);
    };
}

OrderedJson change_json(const PlanChange& change) {
    return {{"name", change.name}, {"from", change.from}, {"to", change.to}};
}

OrderedJson terms_json(const Neighbour& neighbour) {
    OrderedJson json = {{"total", to_milliseconds(neighbour.step_difference)}};
    for (int i = 0; i < step_term_count; ++i) {
        const Picoseconds value = neighbour.terms[static_cast<std::size_t>(i)];
        if (value != 0) json[std::string(key_of(static_cast<StepTerm>(i)))] = to_milliseconds(value);
    }
    return json;
}

OrderedJson peak_json(const Neighbour& neighbour) {
    OrderedJson json = {{"total", neighbour.peak_difference}};
    for (int i = 0; i < peak_part_count; ++i) {
        const ByteCount value = neighbour.peak_parts[static_cast<std::size_t>(i)];
        if (value != 0) json[std::string(to_string(static_cast<PeakPart>(i)))] = value;
    }
    return json;
}

OrderedJson neighbour_json(const Neighbour& neighbour) {
    OrderedJson json = {{"axis", neighbour.change.name}, {"from", neighbour.change.from}, {"to", neighbour.change.to}};
    json["follows"] = OrderedJson::array();
    for (const PlanChange& change : neighbour.follows) json["follows"].push_back(change_json(change));
    json["plan"] = plan_fields_json(neighbour.plan);
    json["batch"] = batch_fields_json(neighbour.plan);
    json["runs"] = neighbour.runs();
    if (!neighbour.broken.empty()) json["reason"] = neighbour.broken;
    if (!neighbour.summary) return json;
    if (neighbour.missing_memory > 0) {
        json["reason"] = "memory";
        json["missing_bytes"] = neighbour.missing_memory;
    }
    json["step_difference_ms"] = terms_json(neighbour);
    json["peak_memory_difference_bytes"] = peak_json(neighbour);
    json["summary"] = summary_json(*neighbour.summary);
    return json;
}

}  // namespace

OrderedJson plan_fields_json(const JobRequest& request) {
    OrderedJson json = OrderedJson::object();
    visit_plan_fields(field_writer(request, json));
    return json;
}

OrderedJson batch_fields_json(const JobRequest& request) {
    OrderedJson json = OrderedJson::object();
    visit_batch_fields(field_writer(request, json));
    return json;
}

OrderedJson found_plan_json(const FoundPlan& found) {
    OrderedJson json = {{"plan", plan_fields_json(found.plan)},
                        {"batch", batch_fields_json(found.plan)},
                        {"summary", summary_json(found.summary)}};
    add_figures(found.figures, json);
    return json;
}

OrderedJson improvement_document(const Improvement& improvement) {
    OrderedJson json = {{"evaluated", improvement.evaluated},
                        {"simulated", improvement.simulated},
                        {"best", improvement.best},
                        {"on_front", improvement.on_front}};
    json.update(found_plan_json(improvement.found));
    return json;
}

OrderedJson cells_json(const std::vector<InfeasibleCell>& cells) {
    OrderedJson json = OrderedJson::array();
    for (const InfeasibleCell& cell : cells) {
        json.push_back({{"tp", cell.tp}, {"pp", cell.pp}, {"reasons", cell.reasons}});
    }
    return json;
}

OrderedJson neighbours_json(const std::vector<Neighbour>& neighbours) {
    OrderedJson json = OrderedJson::array();
    for (const Neighbour& neighbour : neighbours) json.push_back(neighbour_json(neighbour));
    return json;
}

OrderedJson sensitivity_json(const std::vector<Sensitivity>& all) {
    OrderedJson json = OrderedJson::array();
    for (const Sensitivity& one : all) {
        OrderedJson entry = {
            {"figure", key_of(one.figure)}, {"scale_ratio", one.scale}, {"feasible", one.plan.has_value()}};
        if (one.plan) {
            entry["step_time_ms"] = one.step_time_ms;
            entry["other_plan"] = one.other_plan;
            entry["plan"] = plan_fields_json(*one.plan);
            entry["batch"] = batch_fields_json(*one.plan);
        }
        if (one.kept_step_time_ms) entry["kept_step_time_ms"] = *one.kept_step_time_ms;
        json.push_back(std::move(entry));
    }
    return json;
}

}  // namespace foreshard
