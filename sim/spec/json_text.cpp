#include "sim/spec/json_text.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/spec/json_specs.hpp"

namespace foreshard {

namespace {

/// Whole numbers without ".0", the others in shortest form.
std::string number_text(double value) {
    return fmt::format("{}", in_unit(value, 1.0));
}

std::string numbers_text(const OrderedJson& array, const std::string& indent) {
    constexpr std::size_t line_limit = 110;
    std::string text = "[";
    std::size_t line_start = 0;
    for (std::size_t i = 0; i < array.size(); ++i) {
        const std::string number = number_text(array[i].get<double>());
        if (text.size() - line_start + number.size() > line_limit) {
            text += "\n" + indent;
            line_start = text.size();
        }
        text += number + (i + 1 < array.size() ? ", " : "");
    }
    return text + "]";
}

std::string elements_text(const OrderedJson& array, const std::string& indent) {
    std::string text = "[";
    for (const OrderedJson& element : array) {
        text += fmt::format("{}\n{}  {}", text.size() > 1 ? "," : "", indent, element.dump());
    }
    return text + "\n" + indent + "]";
}

std::string wrapped(const OrderedJson& value, const std::string& indent) {
    if (value.is_array()) {
        const bool numbers = std::all_of(value.begin(), value.end(), [](const auto& each) { return each.is_number(); });
        return numbers ? numbers_text(value, indent + "  ") : elements_text(value, indent);
    }
    if (!value.is_object() || value.empty()) return value.dump();
    std::string text = "{";
    for (const auto& item : value.items()) {
        text += text.size() > 1 ? ",\n" : "\n";
        text += fmt::format("{}  {}: {}", indent, OrderedJson(item.key()).dump(), wrapped(item.value(), indent + "  "));
    }
    return text + "\n" + indent + "}";
}

}  // namespace

std::string wrapped_text(const OrderedJson& value) {
    return wrapped(value, "") + "\n";
}

}  // namespace foreshard
