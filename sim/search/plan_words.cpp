#include "sim/search/plan_words.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/spec/request_text.hpp"

namespace foreshard {

std::string recompute_words(const JobRequest& plan) {
    if (!plan.recompute_method) return plan.recompute.value_or("none");
    return fmt::format("{} {}", *plan.recompute_method == "block" ? "block" : "groups",
                       plan.recompute_num_layers.value_or(0));
}

std::vector<std::string> varied_axes(const std::vector<const JobRequest*>& plans) {
    std::vector<std::string> varied;
    for (const SearchAxis& axis : search_axes()) {
        if (!axis.kept || plans.empty()) continue;
        const std::string first = request_value(*plans.front(), axis.name);
        const bool same = std::all_of(plans.begin(), plans.end(),
                                      [&](const JobRequest* plan) { return request_value(*plan, axis.name) == first; });
        if (!same) varied.push_back(axis.name);
    }
    return varied;
}

std::string axis_words(const JobRequest& plan, const std::vector<std::string>& axes) {
    std::string words;
    for (const std::string& axis : axes) {
        const std::string value = request_value(plan, axis);
        if (value.empty() || value == "false" || value == "0") continue;
        const std::string word = axis == "offload_activation_layers" ? fmt::format("offload {} layers", value)
                                                                     : (value == "true" ? axis : value);
        words += (words.empty() ? "" : ", ") + word;
    }
    return words;
}

std::vector<std::size_t> thinned_front(const std::vector<std::size_t>& front, std::size_t most) {
    if (front.size() <= most) return front;
    std::vector<std::size_t> some;
    some.reserve(most);
    for (std::size_t i = 0; i < most; ++i) some.push_back(front[i * (front.size() - 1) / (most - 1)]);
    return some;
}

}  // namespace foreshard
