#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace foreshard::test {

/// What a document breaks of a shipped JSON Schema; empty: nothing.
std::string violations(const std::string& schema_name, const nlohmann::json& document);

}  // namespace foreshard::test
