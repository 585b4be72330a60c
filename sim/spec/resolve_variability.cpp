#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "sim/error.hpp"
#include "sim/spec/resolve_options.hpp"

namespace foreshard {

JobRequest with_mesh(const JobRequest& request) {
    if (!request.mesh) return request;
    if (request.order) throw InputError("--order", "", "cannot be combined with --mesh, which says the order");
    JobRequest changed = request;
    const std::vector<MeshAxis> mesh = parse_mesh(*request.mesh);
    const std::pair<const char*, std::optional<int> JobRequest::*> degrees[] = {{"tp", &JobRequest::tp},
                                                                                {"cp", &JobRequest::cp},
                                                                                {"ep", &JobRequest::ep},
                                                                                {"dp", &JobRequest::dp},
                                                                                {"pp", &JobRequest::pp}};
    for (const MeshAxis& axis : mesh) {
        for (const auto& [name, member] : degrees) {
            if (axis.name != name) continue;
            if (request.*member && *(request.*member) != axis.degree) {
                throw InputError(std::string("--") + name, "",
                                 fmt::format("{} contradicts --mesh {}", *(request.*member), *request.mesh));
            }
            changed.*member = axis.degree;
        }
    }
    changed.order = order_of(mesh);
    return changed;
}

Variability parse_variability(const JobRequest& request) {
    Variability v;
    if (request.speed_factor) v.speed = parse_speed_factors(*request.speed_factor);
    if (request.link_factor) v.links = parse_link_factors(*request.link_factor);
    // Factors of 1 change nothing and are not told.
    std::erase_if(v.speed, [](const SpeedFactor& f) { return f.everywhere() && f.factor == 1.0; });
    std::erase_if(v.links, [](const LinkFactor& f) { return f.everywhere() && f.factor == 1.0; });
    v.jitter_pct = request.jitter_pct.value_or(0.0);
    if (!std::isfinite(v.jitter_pct) || v.jitter_pct < 0.0 || v.jitter_pct > 100.0) {
        throw InputError("--jitter-pct", "", fmt::format("{} must be 0 to 100", v.jitter_pct));
    }
    v.runs = request.runs.value_or(1);
    if (v.runs < 1 || v.runs > 100'000) {
        throw InputError("--runs", "", fmt::format("{} must be 1 to 100000", v.runs));
    }
    v.seed = static_cast<std::uint64_t>(request.seed.value_or(0));
    return v;
}

}  // namespace foreshard
