#include "runtime/time_axis.hpp"

#include <algorithm>

namespace foreshard::runtime {

Anchor best_anchor(std::span<const Anchor> anchors) {
    return *std::min_element(anchors.begin(), anchors.end(),
                             [](const Anchor& a, const Anchor& b) { return a.width() < b.width(); });
}

std::chrono::steady_clock::time_point TimeAxis::at(double device_ms) const {
    using Milliseconds = std::chrono::duration<double, std::milli>;
    const double device = last_.device_ms - first_.device_ms;
    const double host = Milliseconds(last_.middle() - first_.middle()).count();
    const double rate = device > 0.0 ? host / device : 1.0;
    const Milliseconds since((device_ms - first_.device_ms) * rate);
    return first_.middle() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(since);
}

}  // namespace foreshard::runtime
