#include "sim/search/json_search.hpp"

#include "sim/search/json_objective.hpp"
#include "sim/search/json_plan.hpp"
#include "sim/spec/job_request_fields.hpp"
#include "sim/spec/json_specs.hpp"

namespace foreshard {

namespace {

/// Names of the catalogue stay names; files are written out, since a name would lead elsewhere from another folder.
template <class Spec>
OrderedJson named_json(const std::optional<NameOr<Spec>>& asked, const OrderedJson& spec) {
    const auto* name = asked ? std::get_if<std::string>(&*asked) : nullptr;
    const bool file = name == nullptr || name->find('/') != std::string::npos || name->ends_with(".json");
    return file ? spec : OrderedJson(*name);
}

OrderedJson base_json(const SearchOutcome& result) {
    const JobRequest& loaded = result.loaded;
    OrderedJson json = OrderedJson::object();
    json["model"] = named_json(result.base.model, to_json(std::get<LoadedModel>(*loaded.model).spec));
    json["cluster"] = named_json(result.base.cluster, to_json(std::get<ClusterSpec>(*loaded.cluster)));
    if (loaded.calibration) {
        json["calibration"] =
            named_json(result.base.calibration, to_json(*std::get<SharedCalibration>(*loaded.calibration)));
    }
    json["gpus"] = *loaded.gpus;
    const auto& software = std::get<SoftwareProfile>(*loaded.software);
    json["software"] =
        result.base.software ? named_json(result.base.software, to_json(software)) : OrderedJson(software.id);
    OrderedJson changes = OrderedJson::object();
    visit_model_fields([&](const char* name, auto member) {
        if (loaded.*member) changes[name] = *(loaded.*member);
    });
    if (!changes.empty()) json["model_changes"] = changes;
    json["batch"] = batch_fields_json(loaded);
    const OrderedJson plan = plan_fields_json(loaded);
    if (!plan.empty()) json["plan"] = plan;
    return json;
}

}  // namespace

OrderedJson search_document(const SearchOutcome& result) {
    OrderedJson json = {{"schema", "foreshard.search"}, {"schema_version", "1.0"}};
    json["job"] = base_json(result);
    add_objective(result, json);
    json["space"] = result.space;
    json["evaluated"] = result.evaluated;
    json["pruned"] = result.pruned;
    json["refined"] = result.refined;
    json["simulated"] = result.simulated;
    json["threads"] = result.threads;
    json["estimate_elapsed_s"] = result.estimate_elapsed_s;
    json["elapsed_s"] = result.elapsed_s;
    json["complete"] = result.complete;
    if (result.gap_ratio) json["gap_ratio"] = *result.gap_ratio;
    json["plans"] = OrderedJson::array();
    for (const FoundPlan& found : result.plans) json["plans"].push_back(found_plan_json(found));
    json["infeasible"] = OrderedJson::object();
    for (const auto& [reason, count] : result.infeasible) json["infeasible"][reason] = count;
    if (result.closest) {
        OrderedJson closest = found_plan_json(*result.closest);
        closest["reason"] = "memory";
        json["infeasible_plans"] = OrderedJson::array({closest});
    }
    if (!result.infeasible_cells.empty()) json["infeasible_cells"] = cells_json(result.infeasible_cells);
    if (!result.neighbours.empty()) json["neighbours"] = neighbours_json(result.neighbours);
    if (!result.sensitivity.empty()) json["sensitivity"] = sensitivity_json(result.sensitivity);
    return json;
}

std::string search_json(const SearchOutcome& result) {
    return search_document(result).dump(1) + "\n";
}

std::string improvement_json(const Improvement& improvement) {
    return improvement_document(improvement).dump() + "\n";
}

}  // namespace foreshard
