#include "tests/support/schema.hpp"

#include <nlohmann/json.hpp>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

#include "sim/spec/catalogue.hpp"

namespace foreshard::test {

using Adapter = valijson::adapters::NlohmannJsonAdapter;

std::string violations(const std::string& schema_name, const nlohmann::json& document) {
    const nlohmann::json schema_json = nlohmann::json::parse(schema_text(schema_name));
    valijson::Schema schema;
    valijson::SchemaParser parser;
    parser.populateSchema(Adapter(schema_json), schema);
    valijson::Validator validator;
    valijson::ValidationResults results;
    const Adapter target(document);
    if (validator.validate(schema, target, &results)) return "";
    std::string text;
    valijson::ValidationResults::Error error;
    while (results.popError(error)) {
        for (const std::string& step : error.context) text += step;
        text += ": " + error.description + "\n";
    }
    return text;
}

}  // namespace foreshard::test
