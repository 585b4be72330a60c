#include "sim/search/json_objective.hpp"

#include "sim/spec/json_specs.hpp"

namespace foreshard {

void add_objective(const SearchOutcome& result, OrderedJson& json) {
    json["objective"] = to_string(result.objective);
    if (result.operation != OperatingFigures{}) json["operation"] = to_json(result.operation);
    if (result.train_tokens) json["train_tokens"] = *result.train_tokens;
}

void add_figures(const PlanFigures& figures, OrderedJson& plan) {
    OrderedJson known = OrderedJson::object();
    visit_plan_figures([&](const char* key, auto member) {
        if (figures.*member) known[key] = *(figures.*member);
    });
    if (!known.empty()) plan["figures"] = known;
}

}  // namespace foreshard
