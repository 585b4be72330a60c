#include "traces/json_figures.hpp"

namespace foreshard {

std::map<std::string, double> figures_of(const Json& object, const std::string& prefix) {
    std::map<std::string, double> figures;
    for (const auto& [key, value] : object.items()) {
        if (value.is_object()) figures.merge(figures_of(value, prefix + key + "."));
        if (value.is_boolean()) figures[prefix + key] = value.get<bool>() ? 1.0 : 0.0;
        if (value.is_number()) figures[prefix + key] = value.get<double>();
    }
    return figures;
}

}  // namespace foreshard
