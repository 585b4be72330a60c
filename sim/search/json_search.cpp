#include "sim/search/json_search.hpp"

#include "sim/result/json_summary.hpp"
#include "sim/spec/job_request_fields.hpp"
#include "sim/spec/json_specs.hpp"

namespace foreshard {

namespace {

OrderedJson fields_json(const JobRequest& request, bool batch) {
    OrderedJson json = OrderedJson::object();
    const auto add = [&](const char* name, auto member) {
        if (request.*member) json[name] = *(request.*member);
    };
    if (batch) {
        visit_batch_fields(add);
    } else {
        visit_plan_fields(add);
    }
    return json;
}

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
    json["batch"] = fields_json(loaded, true);
    const OrderedJson plan = fields_json(loaded, false);
    if (!plan.empty()) json["plan"] = plan;
    return json;
}

OrderedJson plan_json(const FoundPlan& found) {
    OrderedJson json = OrderedJson::object();
    json["plan"] = fields_json(found.plan, false);
    json["batch"] = fields_json(found.plan, true);
    json["summary"] = summary_json(found.summary);
    return json;
}

}  // namespace

std::string search_json(const SearchOutcome& result) {
    OrderedJson json = {{"schema", "foreshard.search"}, {"schema_version", "1.0"}};
    json["job"] = base_json(result);
    json["space"] = result.space;
    json["evaluated"] = result.evaluated;
    json["pruned"] = result.pruned;
    json["simulated"] = result.simulated;
    json["threads"] = result.threads;
    json["estimate_elapsed_s"] = result.estimate_elapsed_s;
    json["elapsed_s"] = result.elapsed_s;
    json["plans"] = OrderedJson::array();
    for (const FoundPlan& found : result.plans) json["plans"].push_back(plan_json(found));
    json["infeasible"] = OrderedJson::object();
    for (const auto& [reason, count] : result.infeasible) json["infeasible"][reason] = count;
    if (result.closest) {
        OrderedJson closest = plan_json(*result.closest);
        closest["reason"] = "memory";
        json["infeasible_plans"] = OrderedJson::array({closest});
    }
    return json.dump(1) + "\n";
}

}  // namespace foreshard
