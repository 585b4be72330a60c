#include "sim/spec/json_specs.hpp"

/// What a machine costs to run, as clusters and results of searches have it.
namespace foreshard {

OperatingFigures read_operation(JsonObject object) {
    OperatingFigures figures;
    visit_operating_figures([&](const char* key, auto member, const char*) {
        figures.*member = object.optional<double>(key, Range::not_negative);
    });
    if (const auto fault = check(figures)) object.fail(fault->key, fault->reason);
    object.finish();
    return figures;
}

OrderedJson to_json(const OperatingFigures& figures) {
    OrderedJson json = OrderedJson::object();
    visit_operating_figures([&](const char* key, auto member, const char*) {
        if (figures.*member) json[key] = *(figures.*member);
    });
    return json;
}

}  // namespace foreshard
