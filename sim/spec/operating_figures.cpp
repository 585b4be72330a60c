#include "sim/spec/operating_figures.hpp"

#include <cctype>
#include <cmath>

#include <fmt/format.h>

namespace foreshard {

OperatingFigures merge(const OperatingFigures& of_cluster, const OperatingFigures& said) {
    OperatingFigures merged = of_cluster;
    if (said.checkpoint_s || said.storage_write_gb_per_s) {
        merged.checkpoint_s.reset();
        merged.storage_write_gb_per_s.reset();
    }
    visit_operating_figures([&](const char*, auto member, const char*) {
        if (said.*member) merged.*member = said.*member;
    });
    return merged;
}

std::optional<OperatingFault> check(const OperatingFigures& figures) {
    std::optional<OperatingFault> fault;
    visit_operating_figures([&](const char* key, auto member, const char*) {
        const std::optional<double>& value = figures.*member;
        if (fault || !value) return;
        if (!std::isfinite(*value) || *value < 0.0) {
            fault = {key, fmt::format("{} must be a number that is not negative", *value)};
        }
    });
    if (fault) return fault;
    if (figures.node_mtbf_h == 0.0) return OperatingFault{"node_mtbf_h", "0 must be positive"};
    if (figures.storage_write_gb_per_s == 0.0) return OperatingFault{"storage_write_GB_per_s", "0 must be positive"};
    if (figures.gpu_idle_w && figures.gpu_busy_w && *figures.gpu_busy_w < *figures.gpu_idle_w) {
        return OperatingFault{"gpu_busy_W",
                              fmt::format("{} is less than gpu_idle_W, {}", *figures.gpu_busy_w, *figures.gpu_idle_w)};
    }
    if (figures.checkpoint_s && figures.storage_write_gb_per_s) {
        return OperatingFault{"checkpoint_s", "and storage_write_GB_per_s say the same: give one of them"};
    }
    return std::nullopt;
}

std::string operating_flag(const std::string& key) {
    std::string flag = "--" + key;
    for (char& c : flag) c = c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return flag;
}

}  // namespace foreshard
